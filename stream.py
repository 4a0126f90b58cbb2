"""The handle of one run: its events and its result."""

from __future__ import annotations

import weakref
from collections.abc import Iterator
from contextlib import contextmanager
from types import TracebackType
from typing import TYPE_CHECKING, Self

from .errors import ToolcribError
from .messages.agent import CancelRun
from .messages.base import Address
from .messages.events import Event
from .messages.results import Result, RunReason
from .runtime.signals import shielded
from .runtime.streams import EventStream

if TYPE_CHECKING:
    from .actors.system import System

__all__ = ["Stream"]

_CLOSE_TIMEOUT = 30.0


class Stream:
    """The events of one run and its result; for one consumer.

    Iterate it with ``for`` or ``async for``, in a loop of asyncio or trio. As a
    context manager, in either world, it cancels the run at the end if it still
    goes on. Dropping it cancels the run too, and so does leaving an iteration
    early, where nothing else holds it.

    Whoever reads too slowly loses pieces of text and thinking, and is told so
    by `Dropped`; an Agent with ``blocking_events`` lets the provider wait
    instead. Where more than 100,000 other events wait, nobody seems to read, and
    the run ends with the reason ``UNREAD``. An `ApprovalRequest` is never lost: it
    waits to be read, and is denied where it is clear that nobody will read it.
    """

    def __init__(
        self, owner: object, system: System, address: Address, run_id: str, events: EventStream
    ) -> None:
        self._owner = owner  # keeps the Agent from being dropped before its stream
        self._address = address
        self._run_id = run_id
        self._events = events
        self._finalizer = weakref.finalize(self, _abandon, system, address, run_id, events)
        self._finalizer.atexit = False

    @property
    def run_id(self) -> str:
        """The run's id."""
        return self._run_id

    def __iter__(self) -> Stream:
        return self

    def __next__(self) -> Event:
        event = self._events.get()
        if event is None:
            raise StopIteration
        return event

    def __aiter__(self) -> Stream:
        return self

    async def __anext__(self) -> Event:
        event = await self._events.aget()
        if event is None:
            raise StopAsyncIteration
        return event

    def result(self, timeout: float | None = None) -> Result:
        """Wait for the run's end, whether events were read or not.

        Args:
            timeout: How long to wait, in seconds; ``None`` waits for the end.

        Raises:
            RunError: The run failed; and what `Agent.run` raises.
            AskTimeout: The time is up; the run goes on.
            TypeError: The timeout is no number; a bool is none.
            ValueError: It is negative, or not a number (NaN).
        """
        return self._events.wait_result(timeout)

    async def aresult(self, timeout: float | None = None) -> Result:
        """Do as `result`, without blocking the running event loop."""
        return await self._events.await_result(timeout)

    def discard(self) -> None:
        """Forget the events that wait and those to come; the result stays to be had.

        Denies the requests for approval among them, unless a callback decides.
        """
        self._events.discard()

    def cancel(self) -> None:
        """Ask the run to end; returns at once. `result` then raises `RunError`."""
        why = "the run was cancelled by the application"
        cancel = CancelRun(self._run_id, RunReason.CANCELLED, why)
        self._address.deliver(cancel, "host")

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        self.cancel()
        with self._leaving():
            self.result(_CLOSE_TIMEOUT)

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        self.cancel()
        with shielded(), self._leaving():
            await self.aresult(_CLOSE_TIMEOUT)

    @contextmanager
    def _leaving(self) -> Iterator[None]:
        """Leave the run's own error aside, but not that it does not end."""
        try:
            yield
        except ToolcribError:
            # Whoever wants the outcome asks for it inside the block.
            if not self._events.finished:
                raise


def _abandon(system: System, address: Address, run_id: str, events: EventStream) -> None:
    if events.finished:
        return
    why = "its stream was dropped by the application"
    cancel = CancelRun(run_id, RunReason.CANCELLED, why)
    system.finalizers.later(events.discard)
    system.finalizers.later(lambda: address.deliver(cancel, "host"))
