"""The loop that async handlers of hosted calls run on."""

from __future__ import annotations

import asyncio
import contextlib
import contextvars
import functools
import inspect
import logging
import threading
from collections.abc import Awaitable, Callable
from concurrent.futures import CancelledError, Future
from typing import Any

from .context import Context, when_cancelled

__all__ = ["AsyncRunner", "run_here", "run_in_thread", "shared_runner"]

_log = logging.getLogger("toolcrib.tools")


class AsyncRunner:
    """An asyncio loop on a daemon thread of its own, started by its first use.

    All handlers share it: one that blocks instead of awaiting holds up the
    others, but no sync handler and nobody else in the process.

    Args:
        thread_name: The name of the thread.
    """

    def __init__(self, thread_name: str = "toolcrib-async-tools") -> None:
        self._thread_name = thread_name
        self._lock = threading.Lock()
        self._loop: asyncio.AbstractEventLoop | None = None
        self._thread: threading.Thread | None = None
        # The loop itself holds its tasks weakly.
        self._tasks: set[asyncio.Task[Any]] = set()

    def run(self, awaitable: Awaitable[Any], context: Context, within: contextvars.Context) -> Any:
        """Await something on the loop; wait for its end and return its value.

        Args:
            awaitable: What to await. Cancelled when ``context`` is cancelled or
                its deadline passes; waited for even then.
            context: The call's context.
            within: The context variables to run in.

        Raises:
            BaseException: Whatever the awaitable raised; nothing of it gets
                into the loop.
        """
        done: Future[Any] = Future()
        loop = self._running_loop()
        loop.call_soon_threadsafe(self._begin, loop, awaitable, context, within, done)
        return done.result()

    def close(self, timeout: float = 5.0) -> None:
        """Cancel what runs and end the thread; the next `run` starts another.

        Args:
            timeout: The longest to wait, in seconds, for the thread to end.
        """
        with self._lock:
            loop, thread = self._loop, self._thread
            self._loop = self._thread = None
        if loop is not None and thread is not None and thread.is_alive():
            loop.call_soon_threadsafe(self._stop, loop)
            thread.join(timeout)

    def _running_loop(self) -> asyncio.AbstractEventLoop:
        with self._lock:
            # Not alive in the child of a fork, which has the object but no thread.
            if self._loop is None or self._thread is None or not self._thread.is_alive():
                self._loop = asyncio.new_event_loop()
                self._thread = threading.Thread(
                    target=_serve, args=(self._loop,), name=self._thread_name, daemon=True
                )
                self._thread.start()
            return self._loop

    def _begin(
        self,
        loop: asyncio.AbstractEventLoop,
        awaitable: Awaitable[Any],
        context: Context,
        within: contextvars.Context,
        done: Future[Any],
    ) -> None:
        task = loop.create_task(_captured(awaitable), context=within)
        self._tasks.add(task)
        forget = when_cancelled(context, lambda: _cancel_from_outside(loop, task))
        left = context.deadline
        timer = None
        if left is not None:
            timer = loop.call_later(left, context.cancel, "deadline_exceeded")

        def finish(_: object) -> None:
            self._tasks.discard(task)
            forget()
            if timer is not None:
                timer.cancel()
            _hand_over(task, awaitable, done)

        task.add_done_callback(finish)

    def _stop(self, loop: asyncio.AbstractEventLoop) -> None:
        for task in self._tasks:
            task.cancel()
        loop.create_task(self._stop_when_done(loop))

    async def _stop_when_done(self, loop: asyncio.AbstractEventLoop) -> None:
        if self._tasks:
            await asyncio.wait(list(self._tasks))
        loop.stop()


def _serve(loop: asyncio.AbstractEventLoop) -> None:
    asyncio.set_event_loop(loop)
    stopped = False
    while not stopped:
        try:
            loop.run_forever()
            stopped = True
        except BaseException:
            # SystemExit in a task that a handler left behind; the others go on.
            _log.exception("a background task of an async handler tried to end the loop")
    loop.close()


async def _captured(awaitable: Awaitable[Any]) -> tuple[Any, BaseException | None]:
    """Await, and never raise: asyncio would let SystemExit end the whole loop."""
    try:
        return await awaitable, None
    except BaseException as error:
        return None, error


def _cancel_from_outside(loop: asyncio.AbstractEventLoop, task: asyncio.Task[Any]) -> None:
    with contextlib.suppress(RuntimeError):  # the loop is closed, so the task has ended
        loop.call_soon_threadsafe(task.cancel)


def _hand_over(task: asyncio.Task[Any], awaitable: Awaitable[Any], done: Future[Any]) -> None:
    if task.cancelled():  # before its first step
        if inspect.iscoroutine(awaitable):
            awaitable.close()
        done.set_exception(CancelledError())
        return
    value, error = task.result()
    if error is None:
        done.set_result(value)
    else:
        done.set_exception(error)


@functools.cache
def shared_runner() -> AsyncRunner:
    """Return the runner of this process; it lives as long as the interpreter."""
    return AsyncRunner("toolcrib-system-async-tools")


def run_here(awaitable: Awaitable[Any], tool: str) -> Any:
    """Await something on a new loop in this thread.

    Raises:
        RuntimeError: This thread runs a loop already.
    """
    if _loop_runs_here():
        if inspect.iscoroutine(awaitable):
            awaitable.close()
        msg = f"tool {tool} is async and this thread runs a loop; use `await ainvoke(...)`"
        raise RuntimeError(msg)

    async def wait() -> Any:
        return await awaitable

    return asyncio.run(wait())


def _loop_runs_here() -> bool:
    try:
        asyncio.get_running_loop()
    except RuntimeError:
        return False
    return True


async def run_in_thread(function: Callable[[], Any], context: Context) -> Any:
    """Call a function on a worker thread with a copy of this task's context.

    When this task is cancelled, so is ``context``; the thread goes on until
    the function returns.
    """

    def work() -> tuple[Any, BaseException | None]:
        # Captured, since a future can't hold StopIteration.
        try:
            return function(), None
        except BaseException as error:
            return None, error

    try:
        value, error = await asyncio.to_thread(work)
    except asyncio.CancelledError:
        context.cancel()
        raise
    if error is not None:
        raise error
    return value
