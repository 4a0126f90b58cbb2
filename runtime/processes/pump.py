"""The life of one provider process, from its spawn to the verdict."""

from __future__ import annotations

import logging
import secrets
import signal
import time
import traceback
from collections.abc import Callable
from dataclasses import replace
from typing import ParamSpec

from ...messages.approvals import Ask, Decision
from ...messages.events import Event, Notice
from ...messages.results import RunReason
from ...messages.turn import Launch, ProcessExit, TurnOutcome
from ..drivers.interface import (
    CloseInput,
    Dialect,
    Emit,
    Finished,
    Step,
    Stop,
    Withdraw,
    Write,
)
from .child import Child, Stream
from .credit import Credit
from .guard import Guard
from .interface import ProcessLimits, ProcessListener, SpawnError
from .lines import LastLines, LineBuffer, LineTooLongError, Masks, Tail
from .orders import Orders
from .tree import Tree
from .veil import Veil

__all__ = ["MARKER", "Pump"]

MARKER = "TOOLCRIB_PROCESS"
"""The variable in the environment of a provider process and of its children."""

_STDERR_KEPT = 64 * 1024
_STDOUT_KEPT = 4 * 1024 * 1024
_LAST_READS = 1024
_ERROR_KEPT = 300
_log = logging.getLogger("toolcrib.processes")
P = ParamSpec("P")


class Pump:
    """Runs one process and one dialect; everything happens in `run`'s thread.

    Args:
        launch: What to start.
        dialect: Reads its lines.
        listener: Told what happens.
        limits: What bounds its output.
        linger: Seconds that it may stay after its terminal record.
        guard: Told of its group, where there is one.
        orders: What other threads want of it.
        credit: How much may wait for the listener.
    """

    def __init__(
        self,
        launch: Launch,
        dialect: Dialect,
        listener: ProcessListener,
        *,
        limits: ProcessLimits,
        linger: float,
        guard: Guard | None,
        orders: Orders,
        credit: Credit,
    ) -> None:
        self._launch = launch
        self._dialect = dialect
        self._listener = listener
        self._limits = limits
        self._linger = linger
        self._guard = guard
        self._orders = orders
        self._credit = credit
        self._masks = Masks(launch.secrets)
        self._veil = Veil(self._masks)
        self._stdout = LineBuffer(limits.line, self._masks)
        self._stderr = LineBuffer(limits.stderr_line, self._masks, cut=True)
        self._stderr_end = Tail(_STDERR_KEPT)
        self._stdout_end = LastLines(_STDOUT_KEPT)
        self._asks: dict[str, Ask] = {}
        self._heard_at = time.monotonic()
        self._events: list[Event] = []
        self._unaccounted = 0
        self._fault: TurnOutcome | None = None
        self._forced = False
        self._leave_at: float | None = None
        self._kill_at: float | None = None
        self._drain_until: float | None = None

    def run(self) -> None:
        """Start the process and stay until it, and all that it started, is gone."""
        marker = (MARKER, secrets.token_hex(16))
        try:
            if self._orders.grace is not None:
                msg = "The process was closed before it started; nothing is left of it."
                raise SpawnError(msg)  # noqa: TRY301
            if self._guard is not None:
                # Before there is anything to guard: the host may die any moment.
                self._guard.start()
            self._child = Child(self._launch, marker, self._orders)
        except BaseException as error:
            self._tell(self._listener.failed, _as_spawn_error(error))
            return
        self.heard()
        self._tree = Tree(self._child.pid, marker)
        if self._guard is not None:
            self._guard.record_group(self._child.pid)
        self._tell(self._listener.started, self._child.pid)
        self._ask("opening", self._dialect.opening)
        try:
            self._converse()
        except BaseException as error:
            self._blame_host(error)
        try:
            exit = self._wind_up()
        except BaseException as error:
            self._blame_host(error)
            self._forced = True
            exit = self._exit(None)
        self._tell(self._listener.ended, exit, self._judge(exit))

    def heard(self) -> None:
        """Begin to count its silence anew. Thread-safe."""
        self._heard_at = time.monotonic()

    def silence(self) -> float:
        """Return the seconds since it last printed, or was last not read. Thread-safe."""
        return time.monotonic() - self._heard_at if self._credit.left else 0.0

    def _converse(self) -> None:
        while not self._is_over():
            self._keep_deadlines()
            reading = self._credit.left
            chunks = self._child.wait(self._time_left(), reading=reading)
            if chunks or not reading:
                self.heard()
            self._pass_on(chunks)
            self._pass_answers()
            self._deliver()

    def _is_over(self) -> bool:
        now = time.monotonic()
        if self._child.exited:
            # A grandchild may hold the pipes for as long as it lives.
            if self._drain_until is None:
                self._drain_until = now + self._limits.drain
            return self._child.drained or now >= self._drain_until
        return self._kill_at is not None and now >= self._kill_at

    def _time_left(self) -> float | None:
        for end in (self._drain_until, self._kill_at, self._leave_at):
            if end is not None:
                return max(0.0, end - time.monotonic())
        return None

    def _keep_deadlines(self) -> None:
        now = time.monotonic()
        if (grace := self._orders.grace) is not None:
            self._ask_to_end(now + grace)
        elif self._leave_at is not None and now >= self._leave_at:
            self._ask_to_end(now + self._launch.grace)

    def _ask_to_end(self, kill_at: float) -> None:
        if self._kill_at is not None:
            self._kill_at = min(self._kill_at, kill_at)
            return
        self._kill_at = kill_at
        # Whoever detached and cleared its environment is found through its
        # parent only, which may be gone in a moment.
        self._tree.look()
        self._child.close_input(discard=True)
        self._forced = not self._child.exited
        self._child.signal_group(signal.SIGTERM)

    def _expect_end(self, within: float) -> None:
        at = time.monotonic() + within
        self._leave_at = at if self._leave_at is None else min(self._leave_at, at)

    def _wind_up(self) -> ProcessExit:
        self._flush()
        self._forced = self._forced or not self._child.exited
        try:
            if left := self._tree.end():
                _log.error("processes %s can't be ended; look at them by hand", left)
            self._read_rest()
            if self._guard is not None:
                self._guard.forget_group(self._child.pid)
            code = self._child.reap()
        finally:
            self._child.close()
        return self._exit(code)

    def _exit(self, code: int | None) -> ProcessExit:
        return ProcessExit(
            code=-signal.SIGKILL if code is None else code,
            stderr=self._stderr_end.text(),
            forced=self._forced,
            stdout=self._stdout_end.text(),
            known=self._child.code_known,
        )

    def _read_rest(self) -> None:
        # Nobody writes any more, so there is no more than the pipes hold: it
        # needs no credit, and a listener that never gives any holds up nothing.
        for _ in range(_LAST_READS):
            chunks = self._child.wait(0, reading=True)
            self._pass_on(chunks)
            self._deliver(last=True)
            if not chunks:
                break
        if (line := self._next_line(self._stdout.rest)) is not None:
            self._take_line(line)
        self._emit(self._veil.rest())
        self._flush()
        if (line := self._stderr.rest()) is not None:
            self._take_stderr(line)

    def _pass_on(self, chunks: list[tuple[Stream, bytes]]) -> None:
        for stream, chunk in chunks:
            if stream == "stderr":
                self._stderr.feed(chunk)
            elif not chunk:
                # It may still be at work, but nobody will hear of it.
                self._expect_end(self._linger)
            else:
                self._stdout.feed(chunk)

    def _deliver(self, *, last: bool = False) -> None:
        while (last or self._credit.left) and (
            line := self._next_line(self._stdout.next)
        ) is not None:
            self._take_line(line)
        self._flush()
        while (last or self._credit.left) and (line := self._stderr.next()) is not None:
            self._take_stderr(line)

    def _next_line(self, source: Callable[[], str | None]) -> str | None:
        if self._fault is not None:
            self._stdout.clear()
            return None
        try:
            return source()
        except LineTooLongError as error:
            self._blame(
                RunReason.PROTOCOL_ERROR,
                f"The provider broke its protocol: {error}. Its process was ended.",
            )
            return None

    def _take_line(self, line: str) -> None:
        self._unaccounted = len(line)
        self._stdout_end.add(line)
        try:
            for step in self._dialect.line(line):
                self._do(step)
        except BaseException as error:
            self._blame_dialect("line", error)

    def _take_stderr(self, line: str) -> None:
        self._stderr_end.add(line)
        self._credit.take(len(line))
        self._tell(self._listener.stderr, line)

    def _ask(self, what: str, call: Callable[[], tuple[Step, ...]]) -> None:
        try:
            for step in call():
                self._do(step)
        except BaseException as error:
            self._blame_dialect(what, error)

    def _do(self, step: Step) -> None:
        if isinstance(step, Emit):  # nearly all are, and a match takes much longer
            self._emit(self._veil.pass_on(step.event))
            return
        match step:
            case Ask():
                self._take_ask(step)
            case Withdraw(ask_id):
                if self._asks.pop(ask_id, None) is not None:
                    self._flush()
                    self._tell(self._listener.withdrawn, ask_id)
            case Write(data):
                self._child.write(data)
            case CloseInput():
                self._child.close_input()
            case Finished():
                self._child.close_input()
                self._expect_end(self._linger)
            case Stop():
                self._expect_end(0)
            case _:
                msg = f"{step!r} is not a step; see toolcrib.runtime.drivers.interface."
                raise TypeError(msg)

    def _emit(self, events: list[Event]) -> None:
        for event in events:
            self._credit.take(self._unaccounted)
            self._unaccounted = 0
            self._events.append(event)
            if len(self._events) >= self._limits.batch:
                self._flush()

    def _take_ask(self, ask: Ask) -> None:
        if ask.id not in self._asks:
            self._asks[ask.id] = ask
            self._emit(self._veil.rest())
            self._flush()
            self._tell(self._listener.asked, ask)
            return
        # Two that can't be told apart: the answer to one would be taken for both.
        why = f"The provider asks for {ask.title!r} with the id of something still open."
        self._do(Emit(Notice(kind="approval.refused", message=why, source="toolcrib")))
        self._decide(ask, Decision(approved=False, reason=why))

    def _pass_answers(self) -> None:
        for ask_id, decision in self._orders.take_answers():
            if (ask := self._asks.pop(ask_id, None)) is not None and not self._child.exited:
                self._decide(ask, decision)

    def _decide(self, ask: Ask, decision: Decision) -> None:
        self._unaccounted = 0
        self._ask("decided", lambda: self._dialect.decided(ask, decision))

    def _flush(self) -> None:
        if self._events:
            events, self._events = tuple(self._events), []
            self._tell(self._listener.steps, events)

    def _judge(self, exit: ProcessExit) -> TurnOutcome:
        try:
            outcome = self._veiled(self._dialect.ended(exit))
            if self._fault is None:
                return outcome
            return replace(
                outcome, ok=False, reason=self._fault.reason, message=self._fault.message
            )
        except BaseException as error:
            return self._blame_dialect("ended", error)

    def _veiled(self, outcome: TurnOutcome) -> TurnOutcome:
        # A dialect puts pieces together that were masked one by one.
        output = None if outcome.output is None else self._masks.apply(outcome.output)
        return replace(outcome, text=self._masks.apply(outcome.text), output=output)

    def _blame_dialect(self, what: str, error: BaseException) -> TurnOutcome:
        name = f"{type(self._dialect).__qualname__}.{what}"
        _log.error("%s raised", name, exc_info=error)
        return self._blame(
            RunReason.INFRASTRUCTURE,
            f"{name} of the driver raised {_describe(error)}. Its process was ended; "
            "the traceback is in the log.",
        )

    def _blame_host(self, error: BaseException) -> None:
        _log.error("the pump of process %d failed", self._child.pid, exc_info=error)
        self._blame(
            RunReason.INFRASTRUCTURE,
            f"Reading the provider's output failed: {_describe(error)}. Its process was "
            "ended; the traceback is in the log.",
        )

    def _blame(self, reason: RunReason, message: str) -> TurnOutcome:
        if self._fault is None:
            message = self._masks.apply(message)
            self._fault = TurnOutcome(ok=False, reason=reason, message=message)
            self._expect_end(0)
        return self._fault

    def _tell(self, call: Callable[P, None], *args: P.args, **kwargs: P.kwargs) -> None:
        try:
            call(*args, **kwargs)
        except BaseException:
            _log.exception("a process listener raised; what it was told is lost")


def _as_spawn_error(error: BaseException) -> SpawnError:
    if isinstance(error, SpawnError):
        return error
    return SpawnError(
        f"The process can't be started ({_describe(error)}). Check the limits of this host."
    )


def _describe(error: BaseException) -> str:
    return traceback.format_exception_only(error)[-1].strip()[:_ERROR_KEPT]
