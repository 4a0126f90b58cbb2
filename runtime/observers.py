"""Tells observers of a run's events, each on a worker and at its own pace."""

from __future__ import annotations

import logging
import threading
from collections import deque
from collections.abc import Callable, Iterable
from datetime import UTC, datetime

from ..messages.events import Dropped, Event, RunFinished
from ..messages.services import RunInfo
from .content import is_content
from .stamps import STAMPS
from .workers import Workers

__all__ = ["Observers"]

_log = logging.getLogger("toolcrib.services")
# Far more than of a stream, since nobody reads on behalf of an observer again.
_CAPACITY = 8 * 1024
_MOST = 2 * _CAPACITY
_DRAIN = 5.0


class Observers:
    """Tells observers of a run's events, each on a worker, in order. Thread-safe.

    Nothing waits for an observer that is slow, and what waits for it is
    bounded: it misses events, and is told how many by `Dropped`.

    Args:
        observers: What to call.
        info: The run, for the events.
        workers: Where to call it.
        capacity: How many events may wait for one of them before pieces of
            content are left out.
        most: How many may wait before all others are left out too, but the end.
    """

    def __init__(
        self,
        observers: Iterable[Callable[[Event], None]],
        info: RunInfo,
        workers: Workers,
        *,
        capacity: int = _CAPACITY,
        most: int = _MOST,
    ) -> None:
        self._lines = tuple(_Line(observe, info, workers, capacity, most) for observe in observers)
        self._info = info

    def tell(self, event: Event) -> None:
        """Pass an event on; returns at once. Call it from one thread at a time."""
        now = datetime.now(UTC)
        for line in self._lines:
            line.add(event, now)

    def drain(self) -> None:
        """Wait until all was told, for five seconds at most for each observer."""
        for line in self._lines:
            if not line.drain(_DRAIN):
                _log.warning("an observer of run %s is behind; it is left so", self._info.run_id)


class _Line:
    """The events that wait for one observer."""

    def __init__(
        self,
        observe: Callable[[Event], None],
        info: RunInfo,
        workers: Workers,
        capacity: int,
        most: int,
    ) -> None:
        self._observe = observe
        self._info = info
        self._workers = workers
        self._capacity = capacity
        self._most = most
        self._changed = threading.Condition()
        self._events: deque[Event] = deque()
        self._sequence = 0
        self._left_out = 0
        self._busy = False
        self._complained = False
        self._warned = False

    def add(self, event: Event, now: datetime) -> None:
        with self._changed:
            self._keep(event, now)
            if self._busy or not self._events:
                return
            self._busy = True
        self._workers.submit(self._work, lambda _: None, lambda _: None)

    def drain(self, timeout: float) -> bool:
        with self._changed:
            return self._changed.wait_for(lambda: not self._busy, timeout)

    def _work(self) -> None:
        while (event := self._next()) is not None:
            if isinstance(event, Dropped) and not self._warned:
                self._warned = True
                _log.warning("an observer of run %s is slow; it misses events", event.run_id)
            try:
                self._observe(event)
            except BaseException:
                if not self._complained:
                    self._complained = True
                    _log.exception("an observer of run %s raised; it goes on", event.run_id)

    def _next(self) -> Event | None:
        with self._changed:
            if self._events:
                return self._events.popleft()
            self._busy = False
            self._changed.notify_all()
            return None

    # What follows is called with the lock held.

    def _keep(self, event: Event, now: datetime) -> None:
        if not self._has_room(event):
            self._sequence += 1
            self._left_out += 1
            return
        if self._left_out:
            self._append(self._report(), now)
            self._left_out = 0
        self._append(event, now)

    def _has_room(self, event: Event) -> bool:
        # The report of what was left out takes a place as well.
        taken = len(self._events) + bool(self._left_out)
        if taken < self._capacity or isinstance(event, RunFinished):
            return True
        return taken < self._most and not is_content(event)

    def _report(self) -> Dropped:
        # Nothing was kept in between, so the numbers are consecutive.
        first = self._sequence - self._left_out + 1
        return Dropped(
            count=self._left_out,
            first_sequence=first,
            last_sequence=self._sequence,
            source="toolcrib",
        )

    def _append(self, event: Event, now: datetime) -> None:
        self._sequence += 1
        stamped = STAMPS[type(event)]
        info = self._info
        self._events.append(stamped(event, info.run_id, info.thread_key, self._sequence, now))
