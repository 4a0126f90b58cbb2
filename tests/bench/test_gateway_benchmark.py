"""The benchmark of the gateway: that it asks rightly, and judges what it finds."""

from __future__ import annotations

import importlib
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

ROOT = Path(__file__).parents[2]


def _benchmark(*arguments: str, **variables: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-m", "bench.gateway", *arguments],
        cwd=ROOT,
        env=os.environ | variables,
        capture_output=True,
        text=True,
        check=False,
    )


@pytest.fixture
def figures(monkeypatch: pytest.MonkeyPatch) -> Any:
    """The module that judges; the benchmarks are no package that is installed."""
    monkeypatch.syspath_prepend(str(ROOT))
    return importlib.import_module("bench.gateway_figures")


@pytest.fixture
def sample(figures: Any) -> Any:
    return importlib.import_module("bench.gateway_wrk").Sample


@pytest.fixture
def start(figures: Any) -> Any:
    kind = importlib.import_module("bench.gateway_start").Start
    return kind(
        empty=0.05,
        imports=0.1,
        listening=0.2,
        listening_since_import=0.3,
        answered=1.0,
        answered_since_import=1.3,
        mcp=1.0,
        memory=80.0,
        mcp_memory=60.0,
    )


@pytest.mark.slow
@pytest.mark.timeout(240)
def test_every_request_of_the_benchmark_is_answered_rightly() -> None:
    done = _benchmark("--check")

    assert (done.returncode, done.stdout) == (0, "Every answer is right.\n"), done.stderr


def test_without_its_client_the_benchmark_says_how_to_get_it() -> None:
    done = _benchmark(PATH="")

    assert done.returncode == 1
    assert "apt-get install wrk" in done.stderr


def test_ratios_are_taken_round_by_round(figures: Any, sample: Any) -> None:
    found = figures.Figures()
    ours, theirs = (
        figures.Cell("echo", "2025-11-25", name, 8) for name in ("toolcrib", "FastMCP")
    )
    # The machine is ten times slower in the second round.
    for load in (1, 10, 1):
        found.samples[ours].append(sample(rate=800 / load, p50=1, p99=2, cpu=3))
        found.samples[theirs].append(sample(rate=100 / load, p50=1, p99=2, cpu=3))

    assert found.ratio(ours, theirs, "rate") == 8
    assert found.median(ours, "rate") == 800
    assert found.ratio(ours, ours._replace(server="absent"), "rate") is None


def test_targets_tell_met_from_missed_and_from_not_measured(
    figures: Any, sample: Any, start: Any
) -> None:
    found = figures.Figures()
    for era in ("2025-11-25", "2026-07-28"):
        for connections in (1, 8, 32):
            ours = figures.Cell("echo", era, "toolcrib", connections)
            theirs = ours._replace(server="FastMCP")
            found.samples[ours].append(sample(rate=700, p50=10, p99=50, cpu=3))
            found.samples[theirs].append(sample(rate=100, p50=100, p99=500, cpu=30))

    judged = {one.what: one.met for one in figures.targets(found, start)}

    assert judged["2025-11-25: throughput at 8, of FastMCP"] is False  # 7, and 8 are asked for
    assert judged["2026-07-28: throughput at 8, of FastMCP"] is True
    assert judged["2026-07-28: throughput at 8, of TypeScript SDK v2"] is None
    assert judged["2025-11-25: p50 at 1, of FastMCP"] is True
    assert judged["2025-11-25: p99 over p50 at 8"] is True
    assert judged["2025-11-25: p99 over p50 at 32"] is False
    assert judged["import toolcrib over an empty interpreter, ms"] is True
    assert judged["first need to listening socket, ms"] is False
    assert judged["memory over import mcp, MiB"] is False
