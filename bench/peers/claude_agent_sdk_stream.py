"""Reads a stream with claude-agent-sdk, each time that a line comes; see `bench.runs`.

Started with the command to read from. Prints its version, then for each line a
JSON object: how many pieces of text came, the seconds between the first and the
last, and the processor time of these.
"""

from __future__ import annotations

import asyncio
import json
import sys
import time
from importlib.metadata import version
from typing import Any

import claude_agent_sdk  # type: ignore[import-not-found]  # in an environment of its own


async def read(command: str) -> dict[str, Any]:
    """Read one stream, and measure it."""
    options = claude_agent_sdk.ClaudeAgentOptions(cli_path=command, include_partial_messages=True)
    pieces, text, began, worked = 0, "", 0.0, 0.0
    ended, done = 0.0, 0.0
    async for message in claude_agent_sdk.query(prompt="go", options=options):
        if isinstance(message, claude_agent_sdk.types.StreamEvent):
            if message.event["type"] != "content_block_delta":
                continue
            if not pieces:
                began, worked = time.perf_counter(), time.process_time()
            pieces += 1
        elif isinstance(message, claude_agent_sdk.AssistantMessage):
            # What follows the last piece, as soon as everything before is read.
            ended, done = time.perf_counter(), time.process_time()
        elif isinstance(message, claude_agent_sdk.ResultMessage):
            text = message.result or ""
    return {
        "pieces": pieces,
        "seconds": ended - began,
        "worked": done - worked,
        "characters": len(text),
    }


def main() -> None:
    """Measure once for each line of the standard input."""
    print(json.dumps({"version": version("claude-agent-sdk")}), flush=True)
    for _ in sys.stdin:
        print(json.dumps(asyncio.run(read(sys.argv[1]))), flush=True)


if __name__ == "__main__":
    main()
