"""The loop that async handlers of hosted calls run on."""

from __future__ import annotations

import asyncio
import contextvars
import functools
import inspect
import logging
import threading
from collections.abc import Awaitable, Callable
from concurrent.futures import CancelledError, Future
from concurrent.futures import wait as wait_for_any
from typing import Any

from .context import Context, when_cancelled

__all__ = ["AsyncRunner", "run_here", "run_in_thread", "shared_runner"]

_log = logging.getLogger("toolcrib.tools")


class AsyncRunner:
    """An asyncio loop on a daemon thread of its own, started by its first use.

    All handlers share it. One that blocks instead of awaiting holds up those
    that run already, and no others: once a call has waited in vain for so long
    as it may, another loop takes the place of the blocked one.

    Args:
        thread_name: The name of the thread.
        patience: How long a call waits to be taken up, in seconds.
    """

    def __init__(
        self, thread_name: str = "toolcrib-async-tools", *, patience: float = 2.0
    ) -> None:
        self._thread_name = thread_name
        self._patience = patience
        self._lock = threading.Lock()
        self._homes: list[_Home] = []

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
        job = _Job(awaitable, context, within)
        home = self._home()
        while not (home.submit(job) and job.taken_within(self._patience)):
            home = self._home(instead_of=home)
        return job.done.result()

    def close(self, timeout: float = 5.0) -> None:
        """Cancel what runs and end the threads; the next `run` starts another.

        Args:
            timeout: The longest to wait, in seconds, for each thread to end.
        """
        with self._lock:
            homes, self._homes = self._homes, []
        for home in homes:
            home.stop(cancel=True)
        for home in homes:
            home.thread.join(timeout)

    def _home(self, instead_of: _Home | None = None) -> _Home:
        with self._lock:
            # Not alive in the child of a fork, which has the object but no thread.
            self._homes = [home for home in self._homes if home.thread.is_alive()]
            blocked = self._homes[-1:] == [instead_of]
            if blocked or not self._homes:
                self._homes.append(_Home(self._thread_name))
            chosen = self._homes[-1]
        if blocked and instead_of is not None:
            _log.warning(
                "%s blocks the loop of all async tools; await there, or make it a sync "
                "handler. Other calls go on on another loop.",
                instead_of.busy_with(),
            )
            instead_of.stop(cancel=False)
        return chosen


class _Job:
    """An awaitable on its way to whichever loop takes it first."""

    def __init__(
        self, awaitable: Awaitable[Any], context: Context, within: contextvars.Context
    ) -> None:
        self.awaitable = awaitable
        self.context = context
        self.within = within
        self.done: Future[Any] = Future()
        self._taken = threading.Lock()

    def take(self) -> bool:
        return self._taken.acquire(blocking=False)

    def taken_within(self, seconds: float) -> bool:
        # Nearly all are done by then, and need no event of their own for the beginning.
        wait_for_any([self.done], seconds)
        return self._taken.locked()


class _Home:
    """A running loop, its thread and its tasks."""

    def __init__(self, thread_name: str) -> None:
        self._loop = asyncio.new_event_loop()
        # The loop itself holds its tasks weakly.
        self._tasks: set[asyncio.Task[Any]] = set()
        self._stopping: asyncio.Task[None] | None = None
        self._ended = False
        self.thread = threading.Thread(
            target=_serve, args=(self._loop,), name=thread_name, daemon=True
        )
        self.thread.start()

    def submit(self, job: _Job) -> bool:
        """Have a job begun; ``False`` when the loop is closed."""
        return self._call(functools.partial(self._begin, job))

    def stop(self, *, cancel: bool) -> None:
        """End the thread when the last task has ended."""
        self._call(functools.partial(self._stop, cancel=cancel))

    def busy_with(self) -> str:
        """Return the name of the task that runs, from any thread."""
        task = asyncio.current_task(self._loop)
        return task.get_name() if task is not None else "A callback"

    def _call(self, function: Callable[[], object]) -> bool:
        try:
            self._loop.call_soon_threadsafe(function)
        except RuntimeError:  # closed
            return False
        return True

    def _begin(self, job: _Job) -> None:
        if self._ended or not job.take():
            return
        name = f"The async tool {job.context.tool_name}"
        task = self._loop.create_task(_captured(job.awaitable), name=name, context=job.within)
        self._tasks.add(task)
        forget = when_cancelled(job.context, lambda: self._call(task.cancel))
        left = job.context.deadline
        timer = None
        if left is not None:
            timer = self._loop.call_later(left, job.context.cancel, "deadline_exceeded")

        def finish(_: object) -> None:
            self._tasks.discard(task)
            forget()
            if timer is not None:
                timer.cancel()
            _hand_over(task, job)

        task.add_done_callback(finish)

    def _stop(self, *, cancel: bool) -> None:
        if cancel:
            for task in self._tasks:
                task.cancel()
        self._stopping = self._stopping or self._loop.create_task(self._stop_when_done())

    async def _stop_when_done(self) -> None:
        while self._tasks:
            await asyncio.wait(list(self._tasks))
        # What comes in the loop's last round would never get its turn.
        self._ended = True
        self._loop.stop()


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


def _hand_over(task: asyncio.Task[Any], job: _Job) -> None:
    if task.cancelled():  # before its first step
        if inspect.iscoroutine(job.awaitable):
            job.awaitable.close()
        job.done.set_exception(CancelledError())
        return
    value, error = task.result()
    if error is None:
        job.done.set_result(value)
    else:
        job.done.set_exception(error)


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
