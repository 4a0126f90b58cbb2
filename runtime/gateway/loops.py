"""Event loops for threads that have none."""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Coroutine
from typing import Any, TypeVar

__all__ = ["LoopPool"]

Value = TypeVar("Value")


class LoopPool:
    """Private event loops for threads that need one for a moment.

    Waking a shared loop from another thread would cost more than the exchange.
    """

    def __init__(self) -> None:
        self._idle: deque[asyncio.AbstractEventLoop] = deque()
        self._closed = False

    def run(self, coroutine: Coroutine[Any, Any, Value]) -> Value:
        """Run a coroutine in this thread and return its result."""
        try:
            loop = self._idle.pop()
        except IndexError:
            loop = asyncio.new_event_loop()
        try:
            return loop.run_until_complete(coroutine)
        finally:
            self._idle.append(loop)
            if self._closed:
                self.close()

    def close(self) -> None:
        """Release the loops; one in use closes when it comes back."""
        self._closed = True
        while self._idle:
            try:
                loop = self._idle.pop()
            except IndexError:
                return
            loop.close()
