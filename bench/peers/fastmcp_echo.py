"""Time FastMCP's in-process call of an echo tool; prints seconds a call as JSON."""

from __future__ import annotations

import asyncio
import importlib
import json
import sys
import time
from typing import Any

fastmcp: Any = importlib.import_module("fastmcp")
server = fastmcp.FastMCP("bench")


def sync_echo(text: str, count: int) -> dict[str, str]:
    """Echo."""
    return {"text": text * count}


async def async_echo(text: str, count: int) -> dict[str, str]:
    """Echo."""
    return {"text": text * count}


async def seconds(tool: Any, arguments: dict[str, object], calls: int) -> float:
    began = time.perf_counter()
    for _ in range(calls):
        await tool.run(arguments)
    return (time.perf_counter() - began) / calls


async def main() -> None:
    rounds, calls = map(int, sys.argv[1:])
    results = {}
    for function in (sync_echo, async_echo):
        server.tool(function)
        tool = await server.get_tool(function.__name__)
        arguments = {"text": "hi", "count": 3}
        results[function.__name__] = min(
            [await seconds(tool, arguments, calls) for _ in range(rounds)]
        )
    print(json.dumps({"version": fastmcp.__version__, **results}))


asyncio.run(main())
