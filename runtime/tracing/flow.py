"""The order of a recorded exchange, made the same for runs that differ by chance."""

from __future__ import annotations

import heapq
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import groupby
from typing import Any

__all__ = ["Arrow", "Loop", "fold", "settle"]

_LONGEST_LOOP = 4


@dataclass(frozen=True, slots=True)
class Arrow:
    """One message between two participants."""

    sender: str
    """Who sent it."""
    receiver: str
    """Who got it."""
    text: str
    """What it says."""
    varies: bool = False
    """Whether the number of its repeats differs from run to run."""


@dataclass(frozen=True, slots=True)
class Loop:
    """Arrows that came several times in a row."""

    arrows: tuple[Arrow, ...]
    """The arrows of one round."""
    rounds: int | None
    """How many rounds; ``None`` where it differs from run to run."""


def settle(arrows: Sequence[Arrow], rank: Callable[[Arrow], Any]) -> list[Arrow]:
    """Order arrows by rank as far as cause and effect leave a choice.

    Two messages that have no participant in common may have been recorded in
    either order, and so may two of one sender to different receivers. All
    others stay in the order in which they were recorded.

    Args:
        arrows: The arrows as recorded.
        rank: The sort key of an arrow; equal for equal arrows only.
    """
    followers: list[list[int]] = [[] for _ in arrows]
    waits = [0] * len(arrows)
    received: dict[str, int] = {}
    sent: dict[str, list[int]] = {}
    for index, arrow in enumerate(arrows):
        before = set(sent.pop(arrow.receiver, ()))
        before |= {received[who] for who in (arrow.sender, arrow.receiver) if who in received}
        for earlier in before:
            followers[earlier].append(index)
        waits[index] = len(before)
        received[arrow.receiver] = index
        sent.setdefault(arrow.sender, []).append(index)
    return [arrows[index] for index in _ranked(arrows, rank, followers, waits)]


def _ranked(
    arrows: Sequence[Arrow],
    rank: Callable[[Arrow], Any],
    followers: list[list[int]],
    waits: list[int],
) -> list[int]:
    ready = [(rank(arrows[index]), index) for index, left in enumerate(waits) if not left]
    heapq.heapify(ready)
    order: list[int] = []
    while ready:
        _, index = heapq.heappop(ready)
        order.append(index)
        for follower in followers[index]:
            waits[follower] -= 1
            if not waits[follower]:
                heapq.heappush(ready, (rank(arrows[follower]), follower))
    return order


def fold(arrows: Iterable[Arrow]) -> list[Arrow | Loop]:
    """Put arrows that repeat, alone or as a short series, into loops.

    A stretch of arrows that vary becomes one loop of those that occur in it,
    even where each came once.

    Args:
        arrows: The arrows in order.
    """
    folded: list[Arrow | Loop] = []
    for varies, stretch in groupby(arrows, lambda arrow: arrow.varies):
        if varies:
            folded.append(Loop(tuple(dict.fromkeys(stretch)), None))
        else:
            folded += _counted(tuple(stretch))
    return folded


def _counted(arrows: tuple[Arrow, ...]) -> Iterator[Arrow | Loop]:
    start = 0
    while start < len(arrows):
        length, rounds = _repeat(arrows, start)
        body = arrows[start : start + length]
        yield body[0] if rounds == 1 else Loop(body, rounds)
        start += length * rounds


def _repeat(arrows: tuple[Arrow, ...], start: int) -> tuple[int, int]:
    for length in range(1, _LONGEST_LOOP + 1):
        body = arrows[start : start + length]
        rounds, at = 1, start + length
        while arrows[at : at + length] == body:
            rounds, at = rounds + 1, at + length
        if rounds > 1:
            return length, rounds
    return 1, 1
