"""The figures of one run of the benchmark of runs, and what is asked of them."""

from __future__ import annotations

import statistics
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field

from .runs_overhead import Pair
from .runs_stream import Reading

__all__ = ["PEER", "Figures", "Target", "median", "targets"]

PEER = "claude-agent-sdk"
"""Whose stream is read too."""

_OVERHEAD = 30.0
_RATE = 50_000.0


@dataclass(frozen=True, slots=True)
class Figures:
    """Everything that was measured, in the order of the rounds."""

    pairs: list[Pair] = field(default_factory=list)
    """Runs beside their commands by hand."""
    one: list[float] = field(default_factory=list)
    """Runs per second, one after the other."""
    eight: list[float] = field(default_factory=list)
    """Runs per second, eight at a time."""
    eight_by_hand: list[float] = field(default_factory=list)
    """Commands per second, eight at a time by hand."""
    readings: dict[str, list[Reading]] = field(default_factory=dict)
    """Streams that were read, by the reader's name."""

    def note(self, name: str, reading: Reading) -> None:
        """Add one reading of a reader."""
        self.readings.setdefault(name, []).append(reading)

    def ratio(self, name: str, quantity: Callable[[Reading], float]) -> float | None:
        """Return a reader's figure over the peer's, the median of the rounds.

        ``None`` where the peer was not measured.
        """
        if not self.readings.get(PEER):
            return None
        pairs = zip(self.readings[name], self.readings[PEER], strict=True)
        return median(quantity(ours) / quantity(theirs) for ours, theirs in pairs)


@dataclass(frozen=True, slots=True)
class Target:
    """A figure that is asked for, and what was found."""

    what: str
    """The figure."""
    wanted: str
    """What will do, in words."""
    found: float
    """What was found."""
    met: bool
    """Whether it will do."""


def median(values: Iterable[float]) -> float:
    """Return the median."""
    return statistics.median(values)


def targets(figures: Figures) -> list[Target]:
    """Compare the figures with what is asked of runs."""
    overhead = median(pair.overhead for pair in figures.pairs) * 1e3
    found = [
        Target("overhead of a run, median, ms", f"< {_OVERHEAD:g}", overhead, overhead < _OVERHEAD)
    ]
    for name, readings in figures.readings.items():
        if name != PEER:
            rate = median(one.rate for one in readings)
            what = f"events per second, {name}"
            found.append(Target(what, f">= {_RATE:g}", rate, rate >= _RATE))
    return found
