"""One provider process, as its owner handles it."""

from __future__ import annotations

import itertools
import threading

from ...messages.approvals import Decision
from ...messages.turn import Launch
from ..drivers.interface import Dialect
from .credit import Credit
from .guard import Guard
from .interface import ProcessLimits, ProcessListener, SpawnError
from .orders import Orders
from .pump import MARKER, Pump

__all__ = ["MARKER", "ProcessLimits", "ProcessListener", "ProviderProcess", "SpawnError"]

_numbers = itertools.count(1)


class ProviderProcess:
    """A child process that a dialect talks with, on a daemon thread of its own.

    The child leads a session of its own and carries one more variable,
    `MARKER`, so that everything it starts can be found and ended with it. All
    methods are thread-safe and return at once; what happens is told to the
    listener, on the process's thread.

    Output is read no further while too much of it is unacknowledged; once the
    process is gone the little that its pipes still hold is passed on anyway.

    It ends by itself, or by `close`, or after its terminal record or the end
    of its standard output when it has lingered; then its whole tree is ended,
    its last output read, and the dialect's verdict told. The verdict is the
    dialect's, which sees in `ProcessExit.forced` whether the end was ours;
    where the dialect raised or a line was too long, it becomes a failure.

    Args:
        launch: What to start.
        dialect: Reads its output; its methods run on the process's thread.
        listener: Told what happens, on the process's thread.
        linger: Seconds that the process may stay after its terminal record or
            after the end of its standard output.
        limits: What bounds its output.
        guard: Started before the process and told of its group.
    """

    def __init__(
        self,
        launch: Launch,
        dialect: Dialect,
        listener: ProcessListener,
        *,
        linger: float = 5.0,
        limits: ProcessLimits | None = None,
        guard: Guard | None = None,
    ) -> None:
        self._grace = launch.grace
        self._listener = listener
        self._orders = Orders()
        limits = limits or ProcessLimits()
        self._credit = Credit(limits.events, limits.held)
        self._pump = Pump(
            launch,
            dialect,
            listener,
            limits=limits,
            linger=linger,
            guard=guard,
            orders=self._orders,
            credit=self._credit,
        )
        self._lock = threading.Lock()
        self._started = False

    def start(self) -> None:
        """Start it; a second call does nothing.

        Where not even a thread can be had, the listener's `failed` is called in
        the caller's thread.
        """
        with self._lock:
            if self._started:
                return
            self._started = True
        name = f"toolcrib-process-{next(_numbers)}"
        try:
            threading.Thread(target=self._pump.run, name=name, daemon=True).start()
        except RuntimeError as error:
            msg = f"No thread for the process ({error}). Close what is not needed and try again."
            self._listener.failed(SpawnError(msg))

    def acknowledge(self, count: int) -> None:
        """Say that so many events and standard error lines are handled."""
        if not self._credit.left:
            self._pump.heard()  # it was not read, so it has not been silent
        if self._credit.give(count):
            self._orders.ring()

    def answer(self, ask_id: str, decision: Decision) -> None:
        """Tell the dialect what was decided about something that it asked.

        Does nothing where that was withdrawn, or the process has ended.
        """
        self._orders.answer(ask_id, decision)

    def silence(self) -> float:
        """Return for how many seconds the process has printed nothing.

        Time in which nobody reads, since its listener is behind, does not count.
        """
        return self._pump.silence()

    def close(self, grace: float | None = None) -> None:
        """End the process and everything that it started.

        Its input is closed and its group gets `SIGTERM`; what is left after the
        grace is killed. Called again, it can shorten the grace. Before `start`
        it makes that fail.

        Args:
            grace: Seconds; that of the launch where not given.
        """
        self._orders.end(self._grace if grace is None else grace)
