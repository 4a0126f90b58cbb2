"""Which thread is the front: one that runs quick work itself, and a second that relieves it."""

from __future__ import annotations

import contextlib
import logging
import threading
import time
from collections.abc import Callable
from itertools import count
from typing import Final

from .workers import Job

__all__ = ["Relay"]

_log = logging.getLogger("toolcrib.gateway")

# As long as the interpreter lets a thread keep its lock while others wait.
_PATIENCE: Final = 0.005
# Where one job was not quick, others may have turned slow for the same reason.
_CALM_SECONDS: Final = 0.05
# Where the system has no more threads, asking for each request would fill the log.
_NO_THREAD_SECONDS: Final = 1.0


class Relay:
    """Keeps a thread at the front, and a second one that takes over when it is held up.

    To wake another thread for a call costs more than most calls take. So the front
    runs itself what should be quick. Where that takes long all the same, the second
    thread goes on in its place within milliseconds, and a new second one stands by;
    the first ends when its job does.

    Args:
        serve: The front's work, on its thread. Returns whether all of it is done;
            ``False`` at once after `run` has said that another thread took over.
    """

    def __init__(self, serve: Callable[[], bool]) -> None:
        self._serve = serve
        self._numbers = count(1)
        self._threads: list[threading.Thread] = []
        self._leader: int | None = None
        self._has_second = False
        self._ready_from = 0.0
        self._over = False
        # Of the job that ran last: whoever takes it first is the front from then on.
        self._turn: threading.Lock | None = None
        self._began = 0.0
        self._dozing = False
        self._alarm = threading.Event()

    def start(self) -> None:
        """Start the front.

        Raises:
            RuntimeError: The system has no more threads.
        """
        self._start(self._lead)

    def leads(self) -> bool:
        """Return whether this thread is the front's."""
        return threading.get_ident() == self._leader

    def ready(self) -> bool:
        """Return whether `run` may be called: whether a second thread stands by.

        On the front thread only. For a moment after each takeover it says no.
        """
        if time.monotonic() < self._ready_from:
            return False
        if not self._has_second:
            self._add_second()
        return self._has_second

    def run(self, job: Job) -> bool:
        """Run a job on this thread, which is the front's.

        Returns:
            Whether this thread is still the front. If not, it must leave everything
            of the front's alone and return from ``serve``.
        """
        self._began = time.monotonic()
        turn = self._turn = threading.Lock()
        if self._dozing:
            self._dozing = False
            self._alarm.set()
        try:
            job()
        except BaseException:
            # One job may fail; the front may not, and the host's logging may fail too.
            with contextlib.suppress(BaseException):
                _log.exception("A gateway exchange failed.")
        return turn.acquire(blocking=False)

    def join(self, deadline: float) -> bool:
        """Wait for every thread, until a moment as `time.monotonic` counts.

        Returns:
            Whether all of them have ended. One whose job goes on has not, nor has the
            one that asks.
        """
        while True:
            alive = [each for each in self._threads if each.is_alive()]
            others = [each for each in alive if each is not threading.current_thread()]
            if not others:
                return not alive
            others[0].join(max(0.0, deadline - time.monotonic()))
            if others[0].is_alive():
                return False

    def _start(self, work: Callable[[], None]) -> None:
        name = f"toolcrib-gateway-front-{next(self._numbers)}"
        thread = threading.Thread(target=work, name=name, daemon=True)
        thread.start()
        self._threads = [*(each for each in self._threads if each.is_alive()), thread]

    def _add_second(self) -> None:
        try:
            self._start(self._stand_by)
        except RuntimeError:
            self._ready_from = time.monotonic() + _NO_THREAD_SECONDS
            with contextlib.suppress(BaseException):
                _log.exception("The gateway's front has no second thread.")
        else:
            self._has_second = True

    def _lead(self) -> None:
        self._leader = threading.get_ident()
        over = True
        try:
            over = self._serve()
        finally:
            if over:
                self._leader = None
                self._over = True
                self._alarm.set()

    def _stand_by(self) -> None:
        seen: threading.Lock | None = None
        while not self._over:
            if self._turn is not seen:
                seen = self._turn
            elif seen is None or seen.locked():
                self._doze(seen)
                continue
            # From its begin, since it may be long until this thread gets to look.
            left = self._began + _PATIENCE - time.monotonic()
            if left > 0:
                self._alarm.wait(left)
            elif seen is not None and seen.acquire(blocking=False):
                # The next second thread starts when there is something to watch.
                self._has_second = False
                self._ready_from = time.monotonic() + _CALM_SECONDS
                self._lead()
                return

    def _doze(self, seen: threading.Lock | None) -> None:
        """Wait for the next job, without a clock."""
        self._alarm.clear()
        self._dozing = True
        # One that came just before has not seen that there is somebody to wake.
        if self._turn is seen and not self._over:
            self._alarm.wait()
        self._dozing = False
        self._alarm.clear()
