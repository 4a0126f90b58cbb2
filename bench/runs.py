"""Benchmark of runs: how many, what one costs, and how fast its events come.

    .venv/bin/python -m bench.runs            prints tables, and keeps them in bench/results/
    .venv/bin/python -m bench.runs --check    only runs everything of ours once

A run is compared with its child's own command line by hand, a stream with that
of claude-agent-sdk on the same records, each in turn, round after round. The
figures are of one machine under whatever else it does.
"""

from __future__ import annotations

import argparse
import json
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import asdict
from pathlib import Path

from .measuring import machine
from .runs_figures import PEER, Figures, Target, median, targets
from .runs_overhead import Command, by_hand, compared, measured_agent, runs_at_once
from .runs_records import Prepared, prepare
from .runs_stream import Reading, peer, readers

RESULTS = Path(__file__).parent / "results"
_PARALLEL = 8
_EACH_ROUND = 16
_PAIRS = 6
_PIECES = 50_000


def measure_runs(figures: Figures, folder: Path, rounds: int) -> None:
    """Measure whole runs, beside their command by hand."""
    with measured_agent(folder) as (agent, command):
        for number in range(rounds):
            print(f"runs, round {number + 1} of {rounds}", file=sys.stderr)
            for pair in range(_PAIRS):
                figures.pairs.append(compared(agent, command, hand_first=pair % 2 == 0))
            figures.one.append(runs_at_once(agent, _EACH_ROUND // 2, 1))
            figures.eight.append(runs_at_once(agent, _EACH_ROUND, _PARALLEL))
            figures.eight_by_hand.append(_at_once_by_hand(command))


def _at_once_by_hand(command: Command) -> float:
    def once(_: int) -> float:
        return by_hand(command)

    with ThreadPoolExecutor(_PARALLEL) as pool:
        began = time.perf_counter()
        list(pool.map(once, range(_EACH_ROUND)))
        return _EACH_ROUND / (time.perf_counter() - began)


def measure_streams(figures: Figures, prepared: Prepared, folder: Path, rounds: int) -> str:
    """Measure streams, the readers in turn; return the peer's version."""
    with readers(prepared, folder) as ours, peer(prepared) as theirs:
        every = dict(ours) if theirs is None else {**ours, PEER: theirs.read}
        for number in range(rounds + 1):
            print(f"streams, round {number} of {rounds}", file=sys.stderr)
            for name, read in every.items():
                reading = checked(name, read(), prepared)
                if number:  # the first round is for imports
                    figures.note(name, reading)
        return "" if theirs is None else theirs.version


def checked(name: str, reading: Reading, prepared: Prepared) -> Reading:
    """Return a reading that lost nothing.

    Raises:
        RuntimeError: It lost something.
    """
    if reading.pieces != prepared.pieces:
        msg = f"{name}: {reading.pieces} of {prepared.pieces} pieces came"
        raise RuntimeError(msg)
    return reading


def check(folder: Path) -> None:
    """Run everything of ours once.

    Raises:
        RuntimeError: Something went wrong.
    """
    with measured_agent(folder) as (agent, command):
        compared(agent, command, hand_first=True)
        runs_at_once(agent, 2, 2)
    prepared = prepare(folder, 3_000)
    with readers(prepared, folder) as ours:
        for name, read in ours.items():
            checked(name, read(), prepared)


def tables(figures: Figures, version: str) -> Iterator[str]:
    """Write the medians."""
    yield "\nruns of the scripted provider, medians"
    overheads = sorted(pair.overhead * 1e3 for pair in figures.pairs)
    rows = (
        ("one run, ms", median(pair.run for pair in figures.pairs) * 1e3),
        ("its child's command by hand, ms", median(p.by_hand for p in figures.pairs) * 1e3),
        ("overhead, ms", median(overheads)),
        ("overhead, lower quartile, ms", overheads[len(overheads) // 4]),
        (
            "processor time of this process for a run, ms",
            median(p.worked for p in figures.pairs) * 1e3,
        ),
        ("runs per second, one after the other", median(figures.one)),
        (f"runs per second, {_PARALLEL} at a time", median(figures.eight)),
        (f"by hand, {_PARALLEL} at a time", median(figures.eight_by_hand)),
    )
    yield from (f"{what:50} {value:12.1f}" for what, value in rows)
    yield f"\nevents of a stream of {_PIECES}, medians; {PEER} is {version or 'not installed'}"
    yield f"{'':30}{'events/s':>10}{'of SDK':>8}{'CPU us':>8}{'of SDK':>8}"
    for name, readings in figures.readings.items():
        rate, cost = (median(map(quantity, readings)) for quantity in (_rate, _cost))
        ratios = (figures.ratio(name, quantity) for quantity in (_rate, _cost))
        of_rate, of_cost = ("-" if one is None else f"{one:.2f}" for one in ratios)
        yield f"{name:30}{rate:10.0f}{of_rate:>8}{cost:8.1f}{of_cost:>8}"


def _rate(reading: Reading) -> float:
    return reading.rate


def _cost(reading: Reading) -> float:
    return reading.cost


def verdicts(judged: Sequence[Target]) -> Iterator[str]:
    """Write each target, what was found, and whether that will do."""
    yield "\ntargets"
    for one in judged:
        verdict = "yes" if one.met else "NO"
        yield f"{one.what:50} {one.wanted:>10} {one.found:12.1f} {verdict}"


def keep(facts: dict[str, object], figures: Figures, version: str) -> None:
    """Print the tables and keep them, and the figures for programs."""
    judged = targets(figures)
    first = ", ".join(f"{name} {value}" for name, value in facts.items())
    text = "\n".join([first, *tables(figures, version), *verdicts(judged)])
    kept = {
        "machine": facts,
        "peer": version,
        **asdict(figures),
        "targets": [asdict(one) for one in judged],
    }
    RESULTS.mkdir(exist_ok=True)
    (RESULTS / "runs.txt").write_text(text + "\n")
    (RESULTS / "runs.json").write_text(json.dumps(kept, indent=1) + "\n")
    print(text)


def main() -> None:
    """Measure everything, print the tables and keep them."""
    parser = argparse.ArgumentParser(description="Benchmark runs and streams.")
    parser.add_argument("--check", action="store_true", help="run ours once, measure nothing")
    parser.add_argument("--rounds", type=int, default=5)
    options = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="bench-runs-") as name:
        folder = Path(name)
        if options.check:
            check(folder)
            print("Every run and every stream is right.")
            return
        facts, figures = machine(), Figures()
        measure_runs(figures, folder, options.rounds)
        version = measure_streams(figures, prepare(folder, _PIECES), folder, options.rounds)
    keep(facts, figures, version)


if __name__ == "__main__":
    main()
