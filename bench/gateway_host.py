"""A host process with an open gateway, for the benchmark of its answers under load.

Prints its port and token as JSON, and ends when its input does.
"""

from __future__ import annotations

import contextvars
import functools
import json
import sys
from dataclasses import dataclass

from toolcrib import tool
from toolcrib.runtime.gateway.front import Listener
from toolcrib.runtime.gateway.registration import Registration
from toolcrib.runtime.gateway.tokens import digest, new_token
from toolcrib.runtime.tools.catalog import Catalog


@dataclass
class Row:
    id: int
    name: str
    open: bool


@functools.cache
def rows() -> list[Row]:
    return [Row(number, f"row {number}", open=True) for number in range(80_000)]


@tool.define
def count_rows(rows: list[Row]) -> int:
    """Count rows."""
    return len(rows)


@tool.define
def give_rows(count: int) -> list[Row]:
    """Give rows."""
    return rows()[:count]


@tool.define
def compute(rounds: int) -> int:
    """Compute in Python, as a handler of a host may."""
    total = 0
    for number in range(rounds):
        total += number * number % 7
    return total


def main() -> None:
    listener = Listener()
    token = new_token()
    catalog = Catalog([count_rows, give_rows, compute])
    registration = Registration("bench", catalog, contextvars.copy_context())
    port = listener.open().port
    listener.publish({digest(token): registration})
    print(json.dumps({"port": port, "token": token}), flush=True)
    sys.stdin.read()
    listener.close(10)


main()
