"""The benchmark of runs: that it measures what is right, and judges what it finds."""

from __future__ import annotations

import importlib
import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

ROOT = Path(__file__).parents[2]


@pytest.fixture
def bench(monkeypatch: pytest.MonkeyPatch) -> Any:
    """Import a module of the benchmarks, which are no package that is installed."""
    monkeypatch.syspath_prepend(str(ROOT))
    return lambda name: importlib.import_module(f"bench.{name}")


@pytest.mark.slow
@pytest.mark.timeout(120)
def test_every_run_and_stream_of_the_benchmark_is_right() -> None:
    done = subprocess.run(
        [sys.executable, "-m", "bench.runs", "--check"],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=False,
    )
    assert (done.returncode, done.stdout) == (0, "Every run and every stream is right.\n"), (
        done.stderr
    )


def test_a_stream_that_lost_something_ends_the_benchmark(bench: Any, tmp_path: Path) -> None:
    prepared = bench("runs_records").prepare(tmp_path, 10)
    reading = bench("runs_stream").Reading(pieces=9, seconds=1.0, worked=1.0)

    with pytest.raises(RuntimeError, match="9 of 10"):
        bench("runs").checked("ours", reading, prepared)


def test_the_command_greets_either_reader_and_prints_the_records(
    bench: Any, tmp_path: Path
) -> None:
    prepared = bench("runs_records").prepare(tmp_path, 3)
    initialize = {"type": "control_request", "request_id": "r1", "request": {}}
    prompt = {"type": "user", "message": {"role": "user", "content": "go"}}

    done = subprocess.run(
        [prepared.command, "-p"],
        input="".join(f"{json.dumps(frame)}\n" for frame in (initialize, prompt)),
        env=prepared.environment,
        capture_output=True,
        text=True,
        check=True,
    )

    records = [json.loads(line) for line in done.stdout.splitlines()]
    assert records[0]["response"]["request_id"] == "r1"
    events = [record["event"]["type"] for record in records if record["type"] == "stream_event"]
    assert events.count("content_block_delta") == 3
    assert records[-1]["result"] == prepared.text


def test_ratios_of_streams_are_taken_round_by_round(bench: Any) -> None:
    figures, reading = bench("runs_figures").Figures(), bench("runs_stream").Reading
    # The machine is ten times slower in the second round.
    for load in (1, 10, 1):
        figures.note("for", reading(1000, seconds=0.5 * load, worked=0.02))
        figures.note("claude-agent-sdk", reading(1000, seconds=load, worked=0.01))

    assert figures.ratio("for", lambda one: one.rate) == 2
    assert figures.ratio("for", lambda one: one.cost) == 2
    figures.readings["claude-agent-sdk"].clear()
    assert figures.ratio("for", lambda one: one.rate) is None


def test_what_was_measured_is_kept_as_text_and_for_programs(
    bench: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    runs, reading = bench("runs"), bench("runs_stream").Reading
    figures, pair = bench("runs_figures").Figures(), bench("runs_overhead").Pair
    figures.pairs.append(pair(run=0.125, by_hand=0.109375, worked=0.01))
    for rates in (figures.one, figures.eight, figures.eight_by_hand):
        rates.append(7.0)
    figures.note("for", reading(1000, seconds=0.5, worked=0.02))
    figures.note("claude-agent-sdk", reading(1000, seconds=0.25, worked=0.01))
    monkeypatch.setattr(runs, "RESULTS", tmp_path / "results")

    runs.keep({"cores": 2}, figures, "1.2.3")

    text = (tmp_path / "results" / "runs.txt").read_text()
    kept = json.loads((tmp_path / "results" / "runs.json").read_text())
    assert "cores 2" in text
    assert "claude-agent-sdk is 1.2.3" in text
    assert kept["readings"]["for"] == [{"pieces": 1000, "seconds": 0.5, "worked": 0.02}]
    assert [(one["found"], one["met"]) for one in kept["targets"]] == [
        (15.625, True),
        (2000, False),
    ]


def test_targets_of_runs_tell_met_from_missed(bench: Any) -> None:
    figures, pair = bench("runs_figures").Figures(), bench("runs_overhead").Pair
    reading = bench("runs_stream").Reading
    figures.pairs.extend(pair(run=run, by_hand=0.1, worked=0.01) for run in (0.11, 0.12, 0.9))
    figures.note("for", reading(60_000, seconds=1.0, worked=1.0))
    figures.note("async for", reading(40_000, seconds=1.0, worked=1.0))
    figures.note("claude-agent-sdk", reading(1, seconds=1.0, worked=1.0))

    judged = {one.what: one.met for one in bench("runs_figures").targets(figures)}

    assert judged == {
        "overhead of a run, median, ms": True,
        "events per second, for": True,
        "events per second, async for": False,
    }
    figures.pairs[:2] = [pair(run=0.2, by_hand=0.1, worked=0.01)] * 2
    assert not bench("runs_figures").targets(figures)[0].met
