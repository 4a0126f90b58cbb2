"""How the benchmarks measure: the best of several rounds, in new interpreters if need be."""

from __future__ import annotations

import os
import platform
import subprocess
import sys
import time
from collections.abc import Callable

__all__ = ["best", "machine", "started"]


def best(function: Callable[[], object], *, rounds: int = 7, seconds: float = 0.05) -> float:
    """Return the seconds that one call takes, in the best of several rounds.

    Args:
        function: What to measure; called once before.
        rounds: How many rounds.
        seconds: About how long a round takes.
    """
    function()
    began = time.perf_counter()
    function()
    calls = max(1, int(seconds / (time.perf_counter() - began + 1e-9)))
    return min(_round(function, calls) for _ in range(rounds))


def _round(function: Callable[[], object], calls: int) -> float:
    began = time.perf_counter()
    for _ in range(calls):
        function()
    return (time.perf_counter() - began) / calls


def started(code: str, *, rounds: int = 7) -> float:
    """Return the seconds that a new interpreter takes to run some code, at best."""

    def once() -> float:
        began = time.perf_counter()
        subprocess.run([sys.executable, "-c", code], check=True)
        return time.perf_counter() - began

    return min(once() for _ in range(rounds))


def machine() -> dict[str, object]:
    """Return what the figures depend on."""
    return {
        "python": platform.python_version(),
        "system": f"{platform.system()} {platform.machine()}",
        "cores": os.cpu_count(),
        "load": round(os.getloadavg()[0], 1),
    }
