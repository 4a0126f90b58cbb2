"""Callbacks at a later time, from one thread."""

from __future__ import annotations

import heapq
import itertools
import logging
import threading
import time
from collections.abc import Callable

__all__ = ["Timer", "Timers"]

_log = logging.getLogger("toolcrib.timers")
# Below this it is cheaper to wait for cancelled timers than to look for them.
_SWEEP_FROM = 64


class Timer:
    """A callback that is to come. Made by `Timers.after`."""

    __slots__ = ("_callback", "_timers")

    def __init__(self, timers: Timers, callback: Callable[[], object]) -> None:
        self._timers = timers
        self._callback: Callable[[], object] | None = callback

    def cancel(self) -> bool:
        """Prevent the callback; return whether that was in time. Thread-safe."""
        return self._timers.cancel(self)

    def take(self) -> Callable[[], object] | None:
        """Return the callback, once. For `Timers`, which holds its lock."""
        callback, self._callback = self._callback, None
        return callback

    @property
    def pending(self) -> bool:
        """Whether the callback is still to come."""
        return self._callback is not None


class Timers:
    """Calls back after a while, on the monotonic clock. Thread-safe.

    All callbacks run on one daemon thread, so they must be short, such as
    sending a message. What one raises is logged.

    Args:
        name: The thread's name.
    """

    def __init__(self, name: str = "toolcrib-timers") -> None:
        self._name = name
        self._changed = threading.Condition()
        self._heap: list[tuple[float, int, Timer]] = []
        self._numbers = itertools.count()
        self._cancelled = 0
        self._thread: threading.Thread | None = None

    def start(self) -> None:
        """Start the thread now: at the interpreter's exit some Pythons refuse one."""
        with self._changed:
            if self._thread is None:
                self._start()

    def after(self, seconds: float, callback: Callable[[], object]) -> Timer:
        """Call back once, so many seconds from now, unless cancelled or closed before.

        Equal times keep their order.
        """
        timer = Timer(self, callback)
        entry = (time.monotonic() + seconds, next(self._numbers), timer)
        with self._changed:
            if self._thread is None:
                self._start()
            heapq.heappush(self._heap, entry)
            if self._heap[0] is entry:
                self._changed.notify()
        return timer

    def cancel(self, timer: Timer) -> bool:
        """Prevent a timer's callback; return whether that was in time."""
        with self._changed:
            if timer.take() is None:
                return False
            self._cancelled += 1
            if self._cancelled > max(_SWEEP_FROM, len(self._heap) // 2):
                self._heap = [entry for entry in self._heap if entry[2].pending]
                heapq.heapify(self._heap)
                self._cancelled = 0
        return True

    def close(self) -> None:
        """Drop all callbacks that are still to come, and end the thread.

        A later `after` starts anew.
        """
        with self._changed:
            for _, _, timer in self._heap:
                timer.take()
            self._heap.clear()
            self._cancelled = 0
            self._thread = None
            self._changed.notify_all()

    def _start(self) -> None:
        thread = threading.Thread(target=self._run, name=self._name, daemon=True)
        thread.start()
        self._thread = thread

    def _run(self) -> None:
        while (callback := self._next()) is not None:
            try:
                callback()
            except BaseException:
                _log.exception("a timer's callback raised")
            # Else the thread would keep it alive until the next one is due.
            del callback

    def _next(self) -> Callable[[], object] | None:
        with self._changed:
            while self._thread is threading.current_thread():
                if not self._heap:
                    self._changed.wait()
                    continue
                left = self._heap[0][0] - time.monotonic()
                if left > 0:
                    self._changed.wait(min(left, threading.TIMEOUT_MAX))
                    continue
                callback = heapq.heappop(self._heap)[2].take()
                if callback is not None:
                    return callback
                self._cancelled = max(0, self._cancelled - 1)
        return None
