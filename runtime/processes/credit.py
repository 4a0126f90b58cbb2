"""How much output may wait for a slow listener."""

from __future__ import annotations

import threading
from collections import deque

__all__ = ["Credit"]


class Credit:
    """Counts what was handed out and not yet acknowledged. Thread-safe.

    Args:
        items: How many items may be out.
        size: How many bytes they may stem from, together.
    """

    def __init__(self, items: int, size: int) -> None:
        self._items = items
        self._size = size
        self._lock = threading.Lock()
        self._out: deque[int] = deque()
        self._held = 0

    @property
    def left(self) -> bool:
        """Whether more may be handed out."""
        with self._lock:
            return self._has_left()

    def take(self, size: int) -> None:
        """Note one item that goes out, and the bytes that it stems from."""
        with self._lock:
            self._out.append(size)
            self._held += size

    def give(self, count: int) -> bool:
        """Take items back, oldest first; return whether that made room."""
        with self._lock:
            before = self._has_left()
            for _ in range(min(count, len(self._out))):
                self._held -= self._out.popleft()
            return self._has_left() and not before

    def _has_left(self) -> bool:
        return len(self._out) < self._items and self._held < self._size
