"""Waiting in whatever event loop the caller runs: asyncio's, or trio's.

Neither library is imported here: asyncio is, by whoever has a loop of it, and
so is trio. A caller under anyio runs one of the two.
"""

from __future__ import annotations

import asyncio
import sys
import threading
from collections.abc import Callable
from contextlib import AbstractContextManager, nullcontext, suppress
from typing import Any, Protocol, TypeVar, cast

from ..messages.numbers import checked_wait

__all__ = ["Signal", "bounded", "in_thread", "new_signal", "shielded"]

T = TypeVar("T")


class Signal(Protocol):
    """Wakes one coroutine, from any thread, once."""

    def set(self) -> None:
        """Wake it, or have it not wait at all. Safe in any thread; never blocks."""
        ...

    async def wait(self, timeout: float | None = None) -> bool:
        """Wait for `set`; tell whether it came in time.

        Args:
            timeout: The longest to wait, in seconds; ``None`` for no limit.
        """
        ...


def new_signal() -> Signal:
    """Return a signal for the coroutine that calls this, in its own loop.

    Raises:
        RuntimeError: No event loop runs in this thread.
    """
    trio = _trio()
    return _LoopSignal() if trio is None else _TrioSignal(trio)


def bounded(seconds: float) -> float:
    """Return how long to wait at most, so that any lock can wait that long.

    Args:
        seconds: The ``timeout`` that the application passed; infinity is for ever.

    Raises:
        TypeError: It is no number; a bool is none.
        ValueError: It is negative, or not a number (NaN).
    """
    # Half, since a little may be added to it.
    return min(checked_wait("timeout", seconds), threading.TIMEOUT_MAX / 2)


async def in_thread(function: Callable[[], T]) -> T:
    """Return what a function returns that may block, without blocking the loop."""
    trio = _trio()
    if trio is None:
        return await asyncio.to_thread(function)
    return cast("T", await trio.to_thread.run_sync(function))


def shielded() -> AbstractContextManager[object]:
    """Return a context in which a cancelled scope around it does not cancel.

    A scope of trio or anyio cancels every ``await`` until it is left, so that
    nothing could be closed in it. A task of asyncio alone is cancelled once.
    """
    # Whoever is in a scope of anyio has loaded it; it shields from trio's too.
    library: Any = sys.modules.get("anyio") or _trio()
    if library is None:
        return nullcontext()
    return cast("AbstractContextManager[object]", library.CancelScope(shield=True))


def _trio() -> Any:
    """Return trio where the caller is one of its tasks."""
    trio: Any = sys.modules.get("trio")
    return trio if trio is not None and trio.lowlevel.in_trio_task() else None


class _LoopSignal:
    def __init__(self) -> None:
        self._loop = asyncio.get_running_loop()
        self._future: asyncio.Future[None] = self._loop.create_future()

    def set(self) -> None:
        # Raised by a closed loop only, in which nobody is left to be woken.
        with suppress(RuntimeError):
            self._loop.call_soon_threadsafe(self._resolve)

    async def wait(self, timeout: float | None = None) -> bool:
        if timeout is None:
            await self._future
            return True
        done, _ = await asyncio.wait((self._future,), timeout=timeout)
        return bool(done)

    def _resolve(self) -> None:
        if not self._future.done():
            self._future.set_result(None)


class _TrioSignal:
    def __init__(self, trio: Any) -> None:
        self._trio = trio
        self._token = trio.lowlevel.current_trio_token()
        self._event = trio.Event()

    def set(self) -> None:
        # The loop has ended, and nobody is left to be woken.
        with suppress(self._trio.RunFinishedError):
            self._token.run_sync_soon(self._event.set)

    async def wait(self, timeout: float | None = None) -> bool:
        limit = float("inf") if timeout is None else timeout
        with self._trio.move_on_after(limit):
            await self._event.wait()
        return bool(self._event.is_set())
