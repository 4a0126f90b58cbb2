"""The buffer between a run, which must never wait, and whoever reads its events.

The run publishes from its own threads. One consumer reads, from a thread or
from an event loop. A consumer that is too slow loses content deltas only, and
is told how many; everything else waits for it. Where that becomes more than can
be meant to be read, the stream says that it is overrun, and the run ends. A
stream that paces leaves nothing out: the run is told of each read, and the
provider waits.
"""

from __future__ import annotations

import threading
from collections import deque
from collections.abc import Callable, Iterable, Sequence
from contextlib import suppress
from datetime import UTC, datetime
from typing import cast

from ..errors import ApprovalError, AskTimeout, ToolcribError
from ..messages.base import Address
from ..messages.events import ApprovalRequest, Dropped, Event, RunFinished
from ..messages.results import Result
from ..messages.run import EventsConsumed
from .content import is_content, size_of
from .signals import Signal, bounded, new_signal
from .stamps import STAMPS
from .twin import twin

__all__ = ["EventStream"]

_BURST = 256
"""Reads after which a loop gets its turn, or a run is told of them; each wakes other threads."""
_MOST = 100_000
_LARGEST = 256 * 1024 * 1024


class EventStream:
    """One run's events and its outcome.

    Calls nothing of the consumer's; every method may be called in any thread.

    Args:
        run_id: The run's id, for every event.
        thread_key: The key of the run's thread, ``None`` outside a thread.
        capacity: How many events may wait before content deltas are left out.
        paces: Whether nothing is left out, and the run told what was read.
        answers: Whether its reader is who decides approvals. A request that
            nobody will read any more is then denied.
        most: How many events may wait before the stream is `overrun`; eight
            times the capacity at least.
        largest: How many characters may be in those beyond the capacity.
    """

    def __init__(
        self,
        run_id: str,
        thread_key: str | None,
        capacity: int = 1024,
        *,
        paces: bool = False,
        answers: bool = True,
        most: int = _MOST,
        largest: int = _LARGEST,
    ) -> None:
        self._run_id = run_id
        self._thread_key = thread_key
        self._capacity = capacity
        self._paces = paces
        self._answers = answers
        self._most = max(most, 8 * capacity)
        self._largest = largest
        self._run: Address | None = None
        self._unreported = 0
        # Reentrant, since an abandoned coroutine may be collected, and so leave
        # `aget`, in a thread that is just publishing.
        self._lock = threading.RLock()
        self._events: deque[Event] = deque()
        self._sequence = 0
        self._size = 0
        self._left_out = 0
        self._ended = False
        self._reading = False
        self._wake: Callable[[], None] | None = None
        self._reads = 0
        self._done = threading.Event()
        self._result: Result | None = None
        self._error: BaseException | None = None
        self._waiters: set[Signal] = set()

    @property
    def finished(self) -> bool:
        """Whether the run has its result or its error."""
        return self._done.is_set()

    @property
    def listening(self) -> bool:
        """Whether anybody may still read what is published."""
        return not self._ended

    @property
    def paces(self) -> bool:
        """Whether nothing is left out, and the run told what was read."""
        return self._paces

    @property
    def overrun(self) -> int:
        """How many events wait, where that is more than a run may keep; else 0."""
        waiting = len(self._events)
        too_much = waiting > self._most or self._size > self._largest
        return waiting if too_much and not self._paces else 0

    def report_reads(self, to: Address) -> None:
        """Have a stream that paces tell a run what needs no more room.

        Gets `EventsConsumed`, now and then, until `finish`: each published
        event is counted once, when it is read or when nobody will read it.

        Args:
            to: The run.
        """
        with self._lock:
            self._run = to
        self._count(0)

    def publish(self, event: Event) -> None:
        """Take one event, stamped with run, thread, sequence and time. Never blocks.

        See `publish_all`.
        """
        self.publish_all((event,))

    def publish_all(self, events: Sequence[Event]) -> None:
        """Take some events, in order, which costs less than one by one. Never blocks.

        Past the capacity, a content delta is left out and counted; a `Dropped`
        event says so before the next event that is kept. Whatever comes after
        `RunFinished`, `finish` or `discard` is ignored.

        Args:
            events: The events, as their makers left them.
        """
        now = datetime.now(UTC)
        taken = 0
        with self._lock:
            for event in events:
                if self._ended:
                    break
                taken += 1
                if self._left_out or len(self._events) >= self._capacity:
                    self._squeeze(event, now)
                else:
                    self._append(event, now)
            wake = self._take_wake() if taken else None
        if wake is not None:
            wake()
        if taken < len(events):
            self._unread(events[taken:])

    def finish(self, result: Result | None, error: BaseException | None) -> None:
        """End the stream. Never blocks; the first call decides, later ones do nothing.

        Args:
            result: The result of a run that succeeded.
            error: What waiting for the result raises instead; it wins.

        Raises:
            ValueError: Neither is given.
        """
        if result is None and error is None:
            msg = f"run {self._run_id} can't finish without a result or an error; give one."
            raise ValueError(msg)
        with self._lock:
            if self._done.is_set():
                return
            self._result, self._error = result, error
            self._report_left_out(datetime.now(UTC))
            self._ended = True
            self._done.set()
            wake = self._take_wake()
            waiters, self._waiters = self._waiters, set()
        if wake is not None:
            wake()
        for waiter in waiters:
            waiter.set()

    def discard(self) -> None:
        """Forget the events that wait and those to come; the result stays to be had.

        For a consumer that wants no events, or no more of them. A reader that
        waits in another thread sees the end.
        """
        with self._lock:
            unread = tuple(self._events)
            self._events.clear()
            self._left_out = self._size = 0
            self._ended = True
            wake = self._take_wake()
        if wake is not None:
            wake()
        self._unread(unread)

    def get(self, timeout: float | None = None) -> Event | None:
        """Return the next event, ``None`` at the end; waits in this thread.

        Args:
            timeout: The longest to wait, in seconds; ``None`` for no limit.

        Raises:
            AskTimeout: No event came in time; none is lost.
            ToolcribError: Another reader waits for this stream's next event.
        """
        event = self._poll()
        if event is None:
            event = self._wait(timeout)
            self._count(0 if event is None else 1)
        return event

    async def aget(self) -> Event | None:
        """Return the next event, ``None`` at the end; waits in the running loop.

        A cancelled call loses no event. Now and then a call that need not wait
        gives way once, so that a flood can't starve the loop.

        Raises:
            ToolcribError: Another reader waits for this stream's next event.
        """
        self._reads += 1
        event = self._poll() if self._reads % _BURST else None
        if event is None:
            event = await self._await()
            self._count(0 if event is None else 1)
        return event

    def wait_result(self, timeout: float | None = None) -> Result:
        """Return the run's result, whether or not its events were read.

        Waits in this thread; any number of callers may wait.

        Args:
            timeout: The longest to wait, in seconds; ``None`` for no limit.

        Raises:
            AskTimeout: The run has not finished in time; it goes on.
            BaseException: The error that the run finished with.
        """
        if not self._done.wait(None if timeout is None else bounded(timeout)):
            raise self._late(timeout)
        return self._outcome()

    async def await_result(self, timeout: float | None = None) -> Result:
        """Return the run's result as `wait_result` does, waiting in the running loop.

        Any number of coroutines, in any loops, may wait.

        Raises:
            AskTimeout: The run has not finished in time; it goes on.
            BaseException: The error that the run finished with.
        """
        limit = None if timeout is None else bounded(timeout)
        signal = new_signal()
        with self._lock:
            done = self._done.is_set()
            if not done:
                self._waiters.add(signal)
        if not done:
            try:
                done = await signal.wait(limit)
            finally:
                with self._lock:
                    self._waiters.discard(signal)
        if not done:
            raise self._late(timeout)
        return self._outcome()

    def _late(self, timeout: float | None) -> AskTimeout:
        msg = f"run {self._run_id} is still going after {timeout:g} s; wait on or cancel it."
        return AskTimeout(msg)

    def _outcome(self) -> Result:
        if self._error is not None:
            # Else each waiter would add its frames to those of the others.
            raise twin(self._error)
        return cast("Result", self._result)

    def _poll(self) -> Event | None:
        """Take the next event where one waits, and count it."""
        # All that a reader who is behind needs for an event, so it is kept short.
        with self._lock:
            if self._reading:
                raise self._second_reader()
            if not self._events:
                return None
            event = self._events.popleft()
            if not self._paces:
                if self._size:
                    self._lighten(event)
                return event
            self._unreported += 1
            if self._events and self._unreported < _BURST:
                return event
        self._count(0)
        return event

    def _wait(self, timeout: float | None) -> Event | None:
        with self._lock:
            if self._reading:
                raise self._second_reader()
            if self._is_ready():
                return self._take()
            ready = threading.Event()
            self._start_waiting(ready.set)
        try:
            ready.wait(timeout)
        except BaseException:
            with self._lock:
                self._stop_waiting()
            raise
        with self._lock:
            self._stop_waiting()
            if self._is_ready():
                return self._take()
        msg = f"run {self._run_id} had no event within {timeout:g} s; ask again or cancel it."
        raise AskTimeout(msg)

    async def _await(self) -> Event | None:
        with self._lock:
            if self._reading:
                raise self._second_reader()
            ready = self._is_ready()
            signal = new_signal()
            self._start_waiting(signal.set)
        if ready:
            signal.set()
        try:
            await signal.wait()
        except BaseException:
            with self._lock:
                self._stop_waiting()
            raise
        with self._lock:
            self._stop_waiting()
            return self._take()

    def _unread(self, events: Iterable[Event]) -> None:
        """Take care of events that nobody will read: not with the lock held."""
        unread = tuple(events)
        self._count(len(unread))
        if not self._answers:
            return
        for event in unread:
            if isinstance(event, ApprovalRequest):
                with suppress(ApprovalError):  # it is settled, and so all is well
                    event.deny("nobody reads the events of this run")

    def _count(self, read: int) -> None:
        """Count what needs no more room, and tell the run of it in batches."""
        if not self._paces:
            return
        with self._lock:
            self._unreported += read
            run, due = self._run, self._unreported
            enough = not self._events or due >= _BURST
            if run is None or not due or not enough or self._done.is_set():
                return
            self._unreported = 0
        run.deliver(EventsConsumed(due), "host")

    # What follows is called with the lock held.

    def _squeeze(self, event: Event, now: datetime) -> None:
        """Put an event where the reader finds it, unless there is no room for it."""
        if self._is_full() and is_content(event):
            self._sequence += 1
            self._left_out += 1
            return
        if not self._paces:
            self._size += size_of(event)
        self._report_left_out(now)
        self._append(event, now)

    def _is_full(self) -> bool:
        # The report of what was left out takes a place as well.
        return not self._paces and len(self._events) + bool(self._left_out) >= self._capacity

    def _is_ready(self) -> bool:
        return bool(self._events) or self._ended

    def _append(self, event: Event, now: datetime) -> None:
        self._sequence += 1
        stamped = STAMPS[type(event)]
        self._events.append(stamped(event, self._run_id, self._thread_key, self._sequence, now))
        self._ended = type(event) is RunFinished

    def _report_left_out(self, now: datetime) -> None:
        if not self._left_out:
            return
        report = Dropped(
            count=self._left_out,
            # Nothing was kept in between, so the numbers are consecutive.
            first_sequence=self._sequence - self._left_out + 1,
            last_sequence=self._sequence,
            source="toolcrib",
        )
        self._left_out = 0
        self._append(report, now)

    def _take(self) -> Event | None:
        if not self._events:
            return None
        event = self._events.popleft()
        if self._size:
            self._lighten(event)
        return event

    def _lighten(self, event: Event) -> None:
        # Those up to the capacity were never weighed, since that takes time.
        self._size = max(0, self._size - size_of(event))

    def _take_wake(self) -> Callable[[], None] | None:
        wake, self._wake = self._wake, None
        return wake

    def _start_waiting(self, wake: Callable[[], None]) -> None:
        self._reading, self._wake = True, wake

    def _stop_waiting(self) -> None:
        self._reading, self._wake = False, None

    def _second_reader(self) -> ToolcribError:
        return ToolcribError(
            f"run {self._run_id}: another reader waits for the next event; "
            "read a stream from one place at a time."
        )
