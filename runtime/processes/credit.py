"""How much output may wait for a slow listener."""

from __future__ import annotations

import threading
from collections import deque

__all__ = ["Credit"]


class Credit:
    """Counts what was handed out and not yet acknowledged.

    One thread takes, without a lock, since it does so for every event; any
    threads give back.

    Args:
        items: How many items may be out.
        size: How many bytes they may stem from, together.
    """

    def __init__(self, items: int, size: int) -> None:
        self._items = items
        self._size = size
        self._giving = threading.Lock()
        self._out: deque[int] = deque()
        # Two sums, so that each has but one who changes it.
        self._taken = 0
        self._given = 0
        self._missed = False

    @property
    def left(self) -> bool:
        """Whether more may be handed out; where not, `give` will tell of room."""
        if self._has_left():
            return True
        self._missed = True
        # Whoever made room just now may not have seen that it was missed.
        return self._has_left()

    def take(self, size: int) -> None:
        """Note one item that goes out, and the bytes that it stems from."""
        self._out.append(size)
        self._taken += size

    def give(self, count: int) -> bool:
        """Take items back, oldest first; return whether that made room that was missed."""
        with self._giving:
            for _ in range(min(count, len(self._out))):
                self._given += self._out.popleft()
            made = self._missed and self._has_left()
            if made:
                self._missed = False
        return made

    def _has_left(self) -> bool:
        return len(self._out) < self._items and self._taken - self._given < self._size
