"""Time pydantic-ai's in-process call of an echo tool; prints seconds a call as JSON."""

from __future__ import annotations

import asyncio
import importlib
import json
import sys
import time
from typing import Any

pydantic_ai: Any = importlib.import_module("pydantic_ai")
models: Any = importlib.import_module("pydantic_ai.models.test")
usage: Any = importlib.import_module("pydantic_ai.usage")
toolset = pydantic_ai.FunctionToolset()


def sync_echo(text: str, count: int) -> dict[str, str]:
    """Echo."""
    return {"text": text * count}


async def async_echo(text: str, count: int) -> dict[str, str]:
    """Echo."""
    return {"text": text * count}


toolset.tool_plain(sync_echo)
toolset.tool_plain(async_echo)


async def seconds(name: str, tool: Any, context: Any, calls: int) -> float:
    arguments = {"text": "hi", "count": 3}
    began = time.perf_counter()
    for _ in range(calls):
        valid = tool.args_validator.validate_python(arguments)
        await toolset.call_tool(name, valid, context, tool)
    return (time.perf_counter() - began) / calls


async def main() -> None:
    rounds, calls = map(int, sys.argv[1:])
    context = pydantic_ai.RunContext(deps=None, model=models.TestModel(), usage=usage.RunUsage())
    results = {
        name: min([await seconds(name, tool, context, calls) for _ in range(rounds)])
        for name, tool in (await toolset.get_tools(context)).items()
    }
    print(json.dumps({"version": pydantic_ai.__version__, **results}))


asyncio.run(main())
