"""Lets an object's finalizer do something, without doing it in the finalizer.

A finalizer may run inside any allocation, in any thread, while that thread
holds any lock. So it may only put its wish on a queue that is made for it; a
thread of its own does the rest.
"""

from __future__ import annotations

import logging
import queue
import threading
from collections.abc import Callable

__all__ = ["Finalizers"]

_log = logging.getLogger("toolcrib.actors")


class Finalizers:
    """One daemon thread that does what finalizers asked for.

    Args:
        name: The thread's name.
    """

    def __init__(self, name: str) -> None:
        # SimpleQueue.put is reentrant, which queue.Queue.put is not.
        self._wishes: queue.SimpleQueue[Callable[[], None] | None] = queue.SimpleQueue()
        self._thread = threading.Thread(target=self._work, name=name, daemon=True)
        self._thread.start()

    def later(self, wish: Callable[[], None]) -> None:
        """Have this called soon, on the thread. Safe in a finalizer."""
        self._wishes.put(wish)

    def close(self) -> None:
        """End the thread after what was asked so far."""
        self._wishes.put(None)

    def _work(self) -> None:
        while (wish := self._wishes.get()) is not None:
            try:
                wish()
            except Exception:
                _log.exception("what a finalizer asked for failed")
