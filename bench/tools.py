"""Benchmark of tools: definition, import, calls, large payloads; ratios in one run.

    .venv/bin/python -m bench.tools      prints a table, and keeps it in bench/results/

The figures are of one machine under whatever else it does. What counts is how
rows of one run compare; each row says with what.
"""

from __future__ import annotations

import asyncio
import json
from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import jsonschema
import jsonschema_rs
import pydantic

from toolcrib import tool
from toolcrib.runtime.tools.tool import plan_of

from .gateway_load import ping_times
from .measuring import best, machine, started
from .peers.environments import PEERS, measured_peer

RESULTS = Path(__file__).parent / "results"
FIRST_DEFINITION = """
from toolcrib import tool

@tool.define
def echo(text: str, count: int) -> dict[str, str]:
    "Echo."
    return {"text": text * count}
"""


@dataclass(frozen=True)
class Line:
    """One row of the table."""

    what: str
    seconds: float
    compared_with: str = ""
    ratio: float | None = None


@dataclass
class Row:
    """A small object of a large payload."""

    id: int
    name: str
    open: bool
    score: float


def sync_echo(text: str, count: int) -> dict[str, str]:
    """Echo."""
    return {"text": text * count}


async def async_echo(text: str, count: int) -> dict[str, str]:
    """Echo."""
    return {"text": text * count}


@tool.define
def exchange_rows(rows: list[Row]) -> list[Row]:
    """Take rows and give them back."""
    return rows


def definitions() -> list[Line]:
    """Measure what happens before the first call."""

    def define_many() -> None:
        for number in range(500):
            made = tool.define(f"tool_{number}", "Echo.", sync_echo)
            assert made.input_schema

    empty = started("pass")
    against = "an empty interpreter"
    imported, first = started("import toolcrib"), started(FIRST_DEFINITION)
    return [
        Line("define 500 tools", best(define_many, rounds=3)),
        Line("empty interpreter", empty),
        Line("import toolcrib: more than that", imported - empty, against, imported / empty),
        Line("import and first definition: more than that", first - empty, against, first / empty),
    ]


def small_calls() -> list[Line]:
    """Measure a call of an echo tool against the same by hand and by peers."""
    arguments: dict[str, Any] = {"text": "hi", "count": 3}
    echo = tool.define("sync_echo", "Echo.", sync_echo)
    waiting = tool.define("async_echo", "Echo.", async_echo)
    ours = best(lambda: echo.invoke(arguments))

    async def awaited(calls: int) -> None:
        for _ in range(calls):
            await waiting.ainvoke(arguments)

    ours_async = best(lambda: asyncio.run(awaited(1_000)), rounds=5) / 1_000
    lines = [
        Line("invoke, sync echo", ours),
        Line("ainvoke, async echo", ours_async),
        *_by_hand(echo, arguments, ours),
    ]
    for peer in PEERS:
        figures = measured_peer(peer)
        if figures is None:
            lines.append(Line(f"{peer}: not installed here, not compared", 0.0))
            continue
        for name, own in (("sync_echo", ours), ("async_echo", ours_async)):
            seconds = figures[name]
            what = f"{peer} {figures['version']}, {name.replace('_', ' ')}"
            lines.append(Line(what, seconds, f"ours, {name.replace('_', ' ')}", seconds / own))
    return lines


def _by_hand(echo: tool.Tool, arguments: Mapping[str, Any], ours: float) -> list[Line]:
    lines = []
    judges: dict[str, Callable[[dict[str, Any]], Any]] = {
        "jsonschema": jsonschema.Draft202012Validator,
        "jsonschema-rs": jsonschema_rs.Draft202012Validator,
    }
    for name, make in judges.items():
        takes, gives = make(echo.input_schema), make(echo.output_schema)

        def by_hand(takes: Any = takes, gives: Any = gives) -> str:
            takes.validate(arguments)
            result = sync_echo(**arguments)
            gives.validate(result)
            return json.dumps(result, sort_keys=True)

        seconds = best(by_hand)
        lines.append(
            Line(f"{name} and handler by hand", seconds, "ours, sync echo", seconds / ours)
        )
    return lines


def large_calls() -> list[Line]:
    """Measure large payloads against pydantic's time for the same typed value."""
    plan = plan_of(exchange_rows)
    adapter = pydantic.TypeAdapter(list[Row])

    def rows(count: int) -> list[dict[str, Any]]:
        return [
            {"id": number, "name": f"row {number}", "open": True, "score": number / 8}
            for number in range(count)
        ]

    given = {"rows": rows(20_000)}
    typed = [Row(**row) for row in rows(60_000)]
    takes = best(lambda: plan.arguments(given), rounds=5)
    theirs_in = best(lambda: adapter.validate_python(given["rows"]), rounds=5)
    gives = best(lambda: plan.answer(typed), rounds=5)
    theirs_out = best(lambda: adapter.dump_json(typed), rounds=5)
    size_in, size_out = len(json.dumps(given)) / 2**20, len(plan.answer(typed).text) / 2**20
    return [
        Line(f"{size_in:.1f} MiB of arguments, 20,000 objects", takes),
        Line("pydantic, validate the same", theirs_in, "ours over theirs", takes / theirs_in),
        Line(f"{size_out:.1f} MiB of result, 60,000 objects", gives),
        Line("pydantic, dump the same", theirs_out, "ours over theirs", gives / theirs_out),
        Line(
            "pydantic, both",
            theirs_in + theirs_out,
            "ours over theirs",
            (takes + gives) / (theirs_in + theirs_out),
        ),
    ]


def pings() -> list[Line]:
    """Measure pings of the gateway while it works on large calls."""
    results = ping_times()
    quiet, lines = results["nothing"]["p99"], []
    for load, figures in results.items():
        for cut in ("p50", "p99"):
            ratio = figures[cut] / quiet if cut == "p99" else None
            lines.append(Line(f"ping, {cut}, beside {load}", figures[cut], "p99 alone", ratio))
    return lines


def _written(line: Line) -> str:
    ratio = "" if line.ratio is None else f"{line.ratio:8.2f} x  ({line.compared_with})"
    return f"{line.what:50s} {line.seconds * 1000:12.4f} ms {ratio}".rstrip()


def main() -> None:
    """Measure everything, print the table and keep it."""
    facts = machine()
    parts = {part.__name__: part() for part in (definitions, small_calls, large_calls, pings)}
    text = [", ".join(f"{name} {value}" for name, value in facts.items())]
    for name, lines in parts.items():
        text += ["", name.replace("_", " "), *map(_written, lines)]
    RESULTS.mkdir(exist_ok=True)
    (RESULTS / "tools.txt").write_text("\n".join(text) + "\n")
    kept = {name: [asdict(line) for line in lines] for name, lines in parts.items()}
    (RESULTS / "tools.json").write_text(json.dumps({"machine": facts, **kept}, indent=1) + "\n")
    print("\n".join(text))


if __name__ == "__main__":
    main()
