"""The gateway with an echo tool, as the benchmark of the gateway starts it.

    python bench/gateway_ours.py TOKEN TOOLS CATALOGS sync|async

Prints its port as JSON, and ends when its input does. The servers in `peers`
take the same arguments.
"""

from __future__ import annotations

import contextvars
import json
import sys
from dataclasses import dataclass

from toolcrib import tool
from toolcrib.runtime.gateway.front import Listener
from toolcrib.runtime.gateway.registration import Registration
from toolcrib.runtime.gateway.tokens import digest, new_token
from toolcrib.runtime.tools.catalog import Catalog


@dataclass
class Echoed:
    """What came in."""

    text: str


def echo(text: str) -> Echoed:
    """Echo the text."""
    return Echoed(text)


async def echo_async(text: str) -> Echoed:
    """Echo the text."""
    return Echoed(text)


def other(
    subject: str, body: str = "", place: str = "", start: str = "", end: str = "", note: str = ""
) -> Echoed:
    """Take what a tool of an application may take."""
    return Echoed(subject + body + place + start + end + note)


def catalog(tools: int, kind: str) -> Catalog:
    """Return the echo tool among so many tools."""
    handler = echo_async if kind == "async" else echo
    others = [
        tool.define(f"tool_{number:04}", f"Synthetic tool number {number} of a catalog.", other)
        for number in range(tools - 1)
    ]
    return Catalog([tool.define("echo", "Echo the text.", handler), *others])


def main() -> None:
    token, tools, catalogs, kind = sys.argv[1:]
    tokens = [token, *(new_token() for _ in range(int(catalogs) - 1))]
    table = {
        digest(each): Registration(
            f"bench-{number}", catalog(int(tools), kind), contextvars.copy_context()
        )
        for number, each in enumerate(tokens)
    }
    listener = Listener()
    port = listener.open().port
    listener.publish(table)
    print(json.dumps({"port": port}), flush=True)
    sys.stdin.read()
    listener.close(10)


if __name__ == "__main__":
    main()
