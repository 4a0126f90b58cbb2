"""How many calls run and wait at a time, and how Agents share the places."""

from __future__ import annotations

import threading
from collections import deque
from collections.abc import Hashable
from dataclasses import dataclass, field
from typing import Generic, TypeVar

__all__ = ["Places", "Slots"]

Item = TypeVar("Item")


@dataclass(slots=True)
class Places:
    """A bounded number of places that several owners share.

    A sole owner may take all of them. Where there are several, each may hold at
    most twice of what is still free: whatever the others do, a newcomer finds
    a place, and nobody needs a quota that idle owners would waste. The reserve is
    for those that come after a sole owner has taken all, shared by the same rule.

    Safe to use from any thread.
    """

    limit: int
    """How many places there are."""
    owners: int = 1
    """How many owners could ask; 0 and 1 mean a sole owner."""
    reserve: int = 0
    """How many places more there are, for owners with less than their share."""
    _held: dict[Hashable, int] = field(default_factory=dict, init=False)
    _taken: int = field(default=0, init=False)
    _lock: threading.Lock = field(default_factory=threading.Lock, init=False)

    def take(self, owner: Hashable) -> bool:
        """Take a place; ``False`` when there is none for this owner."""
        with self._lock:
            return self._take(owner)

    def give(self, owner: Hashable) -> None:
        """Give a place back."""
        with self._lock:
            self._give(owner)

    def _take(self, owner: Hashable) -> bool:
        held = self._held.get(owner, 0)
        free = self.limit - self._taken
        if not self._may(held, free):
            return False
        self._held[owner] = held + 1
        self._taken += 1
        return True

    def _may(self, held: int, free: int) -> bool:
        if self.owners <= 1:
            return free > 0
        if held < 2 * free:
            return True
        spare = self.reserve + min(free, 0)
        return held * self.owners < self.limit and held < 2 * spare

    def _give(self, owner: Hashable) -> None:
        self._taken -= 1
        self._held[owner] -= 1
        if not self._held[owner]:
            del self._held[owner]


class Slots(Generic[Item]):
    """Places to run in, and who waits for one, in order of arrival.

    Args:
        limit: How many may run at a time.
        reserve: How many more, for owners that come late.
    """

    def __init__(self, limit: int, reserve: int = 0) -> None:
        self._places = Places(limit, reserve=reserve)
        self._waiting: deque[tuple[Hashable, Item]] = deque()
        self._lock = threading.Lock()

    def share(self, owners: int) -> list[Item]:
        """Set how many owners share the slots; return who may run now."""
        with self._lock:
            self._places.owners = owners
            return self._promote()

    def enter(self, owner: Hashable, item: Item) -> bool:
        """Take a slot; ``False`` when ``item`` waits now until it is promoted."""
        with self._lock:
            if self._places.take(owner):
                return True
            self._waiting.append((owner, item))
            return False

    def leave(self, owner: Hashable) -> list[Item]:
        """Give a slot back; return those that waited and have one now."""
        with self._lock:
            self._places.give(owner)
            return self._promote()

    def forget(self, item: Item) -> bool:
        """Take an item out of the queue; ``False`` when it does not wait."""
        with self._lock:
            kept = deque(entry for entry in self._waiting if entry[1] is not item)
            found = len(kept) < len(self._waiting)
            self._waiting = kept
            return found

    def _promote(self) -> list[Item]:
        if not self._waiting:
            return []
        promoted: list[Item] = []
        kept: deque[tuple[Hashable, Item]] = deque()
        for owner, item in self._waiting:
            if self._places.take(owner):
                promoted.append(item)
            else:
                kept.append((owner, item))
        self._waiting = kept
        return promoted
