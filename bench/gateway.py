"""Benchmark of the gateway beside other MCP servers; ratios in one run.

    .venv/bin/python -m bench.gateway            prints tables, and keeps them in bench/results/
    .venv/bin/python -m bench.gateway --check    only asks our server and the floor once

All servers run at once, each in a process of its own, and are asked in turn by
the same client, in short rounds. The figures are of one machine under whatever
else it does. What counts is how rows of one run compare, and the processor time
of a request.
"""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Iterator, Sequence
from contextlib import ExitStack
from dataclasses import asdict, dataclass
from pathlib import Path

from .gateway_figures import QUANTITIES, Case, Cell, Figures, Target, targets
from .gateway_requests import ERAS, checked, request
from .gateway_servers import FASTMCP, FLOOR, NAMES, OURS, SDK, TYPESCRIPT, Server, running
from .gateway_start import Start, start
from .gateway_wrk import loaded, wrk
from .measuring import machine

RESULTS = Path(__file__).parent / "results"
_CATALOGS = 1_000
_TOOLS = 500


@dataclass(frozen=True, slots=True)
class Plan:
    """A request, the servers that are asked, and what those are given."""

    case: Case
    """Its name."""
    servers: tuple[str, ...]
    """Who answers."""
    connections: tuple[int, ...] = (1,)
    """How many requests are under way at a time."""
    method: str = "tools/call"
    """What is asked."""
    tools: int = 1
    """How many tools a catalog has."""
    catalogs: int = 1
    """How many catalogs there are."""
    kind: str = "sync"
    """What the handler is."""
    beside: Case | None = None
    """The name of the same request to our plain server, asked just before ours."""


PLANS = (
    Plan("echo", NAMES, (1, 8, 32)),
    Plan(
        "echo among 500",
        (OURS, SDK, FASTMCP, TYPESCRIPT),
        (1, 8),
        tools=_TOOLS,
        beside="echo beside 500",
    ),
    Plan(
        "echo, 1000 catalogs", (OURS, SDK), (1, 8), catalogs=_CATALOGS, beside="echo beside 1000"
    ),
    Plan("list of 500", (OURS, SDK, FASTMCP, TYPESCRIPT), method="tools/list", tools=_TOOLS),
    Plan("async echo", (OURS, SDK, FASTMCP), (1, 8), kind="async"),
)

_Running = dict[tuple[str, int, int, str], Server]


def servers(stack: ExitStack, names: Sequence[str]) -> _Running:
    """Start every server that the plans need and that can be had."""
    found: _Running = {}
    wanted = {
        (name, plan.tools, plan.catalogs, plan.kind)
        for plan in PLANS
        for name in plan.servers
        if name in names
    }
    for key in sorted(wanted):
        name, tools, catalogs, kind = key
        server = stack.enter_context(running(name, tools=tools, catalogs=catalogs, kind=kind))
        if server is not None:
            found[key] = server
    return found


def cells(found: _Running) -> Iterator[tuple[Plan, Cell, Server]]:
    """Yield what to measure, the servers in turn."""
    for plan in PLANS:
        for era in ERAS:
            for connections in plan.connections:
                for name in plan.servers:
                    key = (name, plan.tools, plan.catalogs, plan.kind)
                    plain = (name, 1, 1, plan.kind)
                    if plan.beside and name == OURS and plain in found:
                        yield plan, Cell(plan.beside, era, name, connections), found[plain]
                    if key in found:
                        yield plan, Cell(plan.case, era, name, connections), found[key]


def check(found: _Running) -> None:
    """Ask every server once, which warms it too.

    Raises:
        RuntimeError: An answer is not right.
    """
    for plan, cell, server in cells(found):
        result = checked(server.port, request(plan.method, cell.era))
        if plan.method == "tools/list" and len(result["tools"]) != plan.tools:
            msg = f"{cell.server} listed {len(result['tools'])} tools, not {plan.tools}"
            raise RuntimeError(msg)


def measure(found: _Running, rounds: int, seconds: int) -> Figures:
    """Measure every cell once in each round."""
    figures = Figures()
    for number in range(rounds + 1):
        print(f"round {number} of {rounds}", file=sys.stderr)
        for plan, cell, server in cells(found):
            sample = loaded(server, request(plan.method, cell.era), cell.connections, seconds)
            if number:  # the first round is for caches and pools of threads
                figures.samples[cell].append(sample)
    return figures


def tables(figures: Figures, memory: dict[str, float]) -> Iterator[str]:
    """Write the medians, a table for each case and era."""
    for plan in PLANS:
        for era in ERAS:
            yield f"\n{plan.case}, {era}"
            yield (
                f"{'':22}"
                + "".join(
                    f" | at {connections:2}:  req/s   p50 us   p99 us   CPU us"
                    for connections in plan.connections
                )
                + (" |    MiB" if plan.case == "echo" else "")
            )
            rows: list[tuple[str, Case, str]] = [(name, plan.case, name) for name in plan.servers]
            if plan.beside:
                rows.insert(0, (f"{OURS}, without", plan.beside, OURS))
            for label, case, name in rows:
                row = [Cell(case, era, name, number) for number in plan.connections]
                if row[0] in figures.samples:
                    size = f" | {memory[name]:6.0f}" if plan.case == "echo" else ""
                    yield f"{label:22}" + "".join(_written(figures, cell) for cell in row) + size


def _written(figures: Figures, cell: Cell) -> str:
    rate, p50, p99, cpu = (figures.median(cell, quantity) for quantity in QUANTITIES)
    return f" | {rate:13.0f} {p50:8.0f} {p99:8.0f} {cpu:8.0f}"


def beginnings(begun: Start) -> Iterator[str]:
    """Write what comes before the first answer."""
    yield "\nstart, the best of the rounds"
    seconds = {
        "import toolcrib, over an empty interpreter": begun.imports,
        "import toolcrib to listening socket": begun.listening_since_import,
        "import toolcrib to first answer": begun.answered_since_import,
        "import mcp alone": begun.mcp,
    }
    sizes = {"memory after the first answer": begun.memory, "after import mcp": begun.mcp_memory}
    yield from (f"{what:45} {value * 1e3:8.0f} ms" for what, value in seconds.items())
    yield from (f"{what:45} {value:8.1f} MiB" for what, value in sizes.items())


def verdicts(judged: Sequence[Target]) -> Iterator[str]:
    """Write each target, what was found, and whether that will do."""
    yield "\ntargets: ratios are the rounds' median, p99 over p50 is the quietest round's"
    for one in judged:
        wanted = f">= {one.least:g}" if one.least is not None else f"<= {one.most:g}"
        found = "not measured" if one.found is None else f"{one.found:.2f}"
        verdict = {True: "yes", False: "NO", None: "-"}[one.met]
        yield f"{one.what:70} {wanted:>8} {found:>10} {verdict}"


def main() -> None:
    """Measure everything, print the tables and keep them."""
    parser = argparse.ArgumentParser(description="Benchmark the gateway beside other servers.")
    parser.add_argument("--check", action="store_true", help="ask our own once, measure nothing")
    parser.add_argument("--rounds", type=int, default=7)
    parser.add_argument("--seconds", type=int, default=1, help="of each cell in each round")
    options = parser.parse_args()
    if options.check:
        with ExitStack() as stack:
            check(servers(stack, (OURS, FLOOR)))
        print("Every answer is right.")
        return
    wrk()
    facts = machine()
    begun = start(options.rounds)
    with ExitStack() as stack:
        found = servers(stack, NAMES)
        check(found)
        figures = measure(found, options.rounds, options.seconds)
        memory = {key[0]: one.memory() for key, one in found.items() if key[1:] == (1, 1, "sync")}
    keep(facts, figures, memory, begun)


def keep(
    facts: dict[str, object], figures: Figures, memory: dict[str, float], begun: Start
) -> None:
    """Print the tables and keep them, and the figures for programs."""
    judged = targets(figures, begun)
    first = ", ".join(f"{name} {value}" for name, value in facts.items())
    parts = (tables(figures, memory), beginnings(begun), verdicts(judged))
    text = "\n".join([first, *(line for part in parts for line in part)])
    measured = [
        {
            **cell._asdict(),
            **{name: round(figures.median(cell, name), 1) for name in QUANTITIES},
        }
        for cell in figures.samples
    ]
    kept = {
        "machine": facts,
        "medians": measured,
        "memory": memory,
        "start": asdict(begun),
        "targets": [{**asdict(one), "met": one.met} for one in judged],
    }
    RESULTS.mkdir(exist_ok=True)
    (RESULTS / "gateway.txt").write_text(text + "\n")
    (RESULTS / "gateway.json").write_text(json.dumps(kept, indent=1) + "\n")
    print(text)


if __name__ == "__main__":
    main()
