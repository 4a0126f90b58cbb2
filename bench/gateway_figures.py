"""The figures of one run of the benchmark of the gateway, and what is asked of them."""

from __future__ import annotations

import statistics
from collections import defaultdict
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Final, Literal, NamedTuple

from .gateway_requests import ERAS
from .gateway_servers import FASTMCP, FLOOR, OURS, SDK, TYPESCRIPT
from .gateway_start import Start
from .gateway_wrk import Sample

__all__ = ["QUANTITIES", "Case", "Cell", "Figures", "Target", "targets"]

Quantity = Literal["rate", "p50", "p99", "cpu"]
QUANTITIES: Final[tuple[Quantity, ...]] = ("rate", "p50", "p99", "cpu")
"""What is measured: the names of the fields of a `Sample`."""

Case = Literal[
    "echo",
    "list of 500",
    "echo among 500",
    "echo beside 500",
    "echo, 1000 catalogs",
    "echo beside 1000",
    "async echo",
]


class Cell(NamedTuple):
    """What was measured."""

    case: Case
    """The request and its server's options."""
    era: str
    """The revision of the protocol."""
    server: str
    """Who answers."""
    connections: int
    """How many requests are under way at a time."""


@dataclass(frozen=True, slots=True)
class Figures:
    """Every cell's samples, one for each round."""

    samples: dict[Cell, list[Sample]] = field(default_factory=lambda: defaultdict(list))
    """The samples; the rounds are in the same order everywhere."""

    def median(self, cell: Cell, quantity: Quantity) -> float:
        """Return the median of the rounds."""
        return statistics.median(self._rounds(cell, quantity))

    def ratio(self, cell: Cell, other: Cell, quantity: Quantity) -> float | None:
        """Return a cell's figure over another's, the median of the rounds.

        Both were measured in each round close to each other, so that other load
        on the machine mostly cancels out. ``None`` where one was not measured.
        """
        if not (self.samples.get(cell) and self.samples.get(other)):
            return None
        pairs = zip(self._rounds(cell, quantity), self._rounds(other, quantity), strict=True)
        return statistics.median(ours / theirs for ours, theirs in pairs)

    def spread(self, cell: Cell) -> float:
        """Return p99 over p50 in the round where other load disturbed it least."""
        return min(sample.p99 / sample.p50 for sample in self.samples[cell])

    def _rounds(self, cell: Cell, quantity: Quantity) -> list[float]:
        return [float(getattr(sample, quantity)) for sample in self.samples[cell]]


@dataclass(frozen=True, slots=True)
class Target:
    """A figure that is asked for, and what was found."""

    what: str
    """The figure."""
    least: float | None
    """The least that will do; else ``most`` says the most."""
    most: float | None
    """The most that will do."""
    found: float | None
    """What was found; ``None`` where nothing could be compared."""

    @property
    def met(self) -> bool | None:
        """Whether it will do; ``None`` where nothing was found."""
        if self.found is None:
            return None
        if self.least is not None:
            return self.found >= self.least
        return self.most is None or self.found <= self.most


def targets(figures: Figures, start: Start) -> list[Target]:
    """Compare the figures with what is asked of the gateway."""
    handshake, modern = ERAS
    return [
        *_echo(figures, handshake, (8, 4, 2, 0.40), 0.3),
        *_echo(figures, modern, (4, 2, 1.3, 0.30), 0.4),
        *(target for era in ERAS for target in _scale(figures, era)),
        Target("import toolcrib over an empty interpreter, ms", None, 150, start.imports * 1e3),
        Target("first need to listening socket, ms", None, 100, start.listening * 1e3),
        Target("socket to first answer, of import mcp", None, 1.1, start.answered / start.mcp),
        Target("memory over import mcp, MiB", None, 15, start.memory - start.mcp_memory),
    ]


def _echo(
    figures: Figures, era: str, wanted: tuple[float, float, float, float], p50: float
) -> Iterator[Target]:
    def cell(server: str, connections: int) -> Cell:
        return Cell("echo", era, server, connections)

    for server, least in zip((FASTMCP, SDK, TYPESCRIPT, FLOOR), wanted, strict=True):
        found = figures.ratio(cell(OURS, 8), cell(server, 8), "rate")
        yield Target(f"{era}: throughput at 8, of {server}", least, None, found)
    found = figures.ratio(cell(OURS, 1), cell(FASTMCP, 1), "p50")
    yield Target(f"{era}: p50 at 1, of {FASTMCP}", None, p50, found)
    for connections, most in ((8, 6), (32, 4)):
        spread = figures.spread(cell(OURS, connections))
        yield Target(f"{era}: p99 over p50 at {connections}", None, most, spread)


def _scale(figures: Figures, era: str) -> Iterator[Target]:
    listed = Cell("list of 500", era, OURS, 1)
    found = figures.ratio(listed, listed._replace(server=SDK), "rate")
    yield Target(f"{era}: tools/list of 500, rate, of {SDK}", 20, None, found)
    # At 8, where what a processor does between two requests counts for least.
    among, many = Cell("echo among 500", era, OURS, 8), Cell("echo, 1000 catalogs", era, OURS, 8)
    pairs: tuple[tuple[str, Cell, Case], ...] = (
        ("500 tools in the catalog", among, "echo beside 500"),
        ("1,000 catalogs", many, "echo beside 1000"),
    )
    for what, cell, without in pairs:
        found = figures.ratio(cell, cell._replace(case=without), "cpu")
        yield Target(f"{era}: CPU of a call with {what}, of one without", None, 1.1, found)
    waits = Cell("async echo", era, OURS, 1)
    found = figures.ratio(waits, waits._replace(server=FASTMCP), "cpu")
    yield Target(f"{era}: CPU of an async handler's call, of {FASTMCP}", None, 1, found)
