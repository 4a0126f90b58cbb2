"""The Run actor: one invocation, step by step, and its event stream."""

from __future__ import annotations

import logging
from collections.abc import Callable
from dataclasses import dataclass, field
from enum import StrEnum

from ..errors import ToolcribError
from ..messages.agent import (
    CancelRun,
    ProviderStarting,
    RunEnded,
    RunStopping,
    StartRun,
    ToolsWanted,
)
from ..messages.base import Address, Message, RequestFailed, Undelivered
from ..messages.cleaner import MakeClone
from ..messages.driver import CloseProcess, EventsTaken, StartProcess
from ..messages.events import Notice, ProcessInfo, RunStarted
from ..messages.results import RunReason
from ..messages.run import (
    CloneFailed,
    CloneReady,
    EventsRead,
    ProcessStarted,
    RunDeadlinePassed,
    SpawnFailed,
    ToolsFailed,
    ToolsReady,
    TurnEnded,
)
from ..messages.turn import HostedServer, Launch
from ..runtime.drivers.interface import Dialect
from ..runtime.profiles.clone import Clone
from ..runtime.threads.interface import Lease, ThreadRecord
from ..runtime.timers import Timer
from ..runtime.verdict import Verdict
from ..runtime.work import TurnWork
from .base import Actor, Services

__all__ = ["RunActor", "StartDriver"]

_log = logging.getLogger("toolcrib.actors")

StartDriver = Callable[[Launch, Dialect, Address, Address], Address]
"""Starts the actor of a process, given launch, dialect, run and Agent."""


class _Step(StrEnum):
    """What the run waits for."""

    CHECKING = "checking the configuration"
    OPENING_THREAD = "opening the thread"
    AWAITING_TOOLS = "waiting for the tools' gateway"
    AWAITING_CLONE = "waiting for the profile's clone"
    PREPARING = "preparing the provider"
    RUNNING = "running the provider"
    KEEPING = "keeping the conversation"
    RELEASING = "releasing the thread"
    ENDED = "ended"


@dataclass(frozen=True, slots=True)
class _Checked(Message):
    """A worker has checked what can be checked without creating anything."""


@dataclass(frozen=True, slots=True)
class _ThreadOpened(Message):
    """A worker has taken the thread's lease and read its record."""

    lease: Lease
    """The lease, to be released in any case."""
    record: ThreadRecord | None
    """The record to resume; ``None`` starts a new conversation."""
    notice: str
    """What the application should know about that; may be empty."""


@dataclass(frozen=True, slots=True)
class _Prepared(Message):
    """A worker has written the turn's configuration into the clone."""

    launch: Launch = field(repr=False)
    """How to start the process."""
    dialect: Dialect = field(repr=False)
    """How to talk with it."""


@dataclass(frozen=True, slots=True)
class _Kept(Message):
    """A worker has stored the conversation with its checkpoint."""


@dataclass(frozen=True, slots=True)
class _Released(Message):
    """A worker has given the thread back."""

    error: Exception | None
    """What went wrong with that, if anything."""


@dataclass(frozen=True, slots=True)
class _StepFailed(Message):
    """What a worker did for the run failed."""

    error: Exception
    """Why."""
    text: str
    """The same in words, written where foreign code may run."""


class RunActor(Actor):
    """Goes through the steps of one run and ends itself.

    Whatever happens, the sink gets exactly one start, one finish and one
    result or error, and the Agent gets `RunEnded`.

    Args:
        name: Its name, such as ``run-1``.
        services: What all actors share.
        request: What was asked.
        work: The blocking parts of this run.
        agent: The Agent.
        cleaner: The profile cleaner.
        start_driver: Starts the actor of the provider's process.
    """

    def __init__(
        self,
        name: str,
        services: Services,
        request: StartRun,
        work: TurnWork,
        agent: Address,
        cleaner: Address,
        start_driver: StartDriver,
    ) -> None:
        super().__init__(name, services)
        self._request = request
        self._work = work
        self._agent = agent
        self._cleaner = cleaner
        self._start_driver = start_driver
        self._step = _Step.CHECKING
        self._verdict = Verdict(request.run_id, request.thread_key, work.provider)
        self._stop_promised = False
        self._lease: Lease | None = None
        self._record: ThreadRecord | None = None
        self._server: HostedServer | None = None
        self._clone: Clone | None = None
        self._driver: Address | None = None
        self._timer: Timer | None = None

    def started(self) -> None:
        request = self._request
        request.sink.publish(
            RunStarted(provider=self._work.provider, prompt=request.prompt, source="toolcrib")
        )
        timeout = request.options.timeout
        if timeout is not None:
            self._timer = self.later(timeout, RunDeadlinePassed(timeout))
        self.work(self._work.check, lambda _: _Checked(), _step_failed)

    def receive(self, message: Message) -> None:
        if self._step is _Step.ENDED:
            return
        match message:
            case CancelRun(_, reason, why):
                self._cancel(reason, why)
            case RunDeadlinePassed(seconds):
                self._time_is_up(seconds)
            case _Released(error):
                self._finish(error)
            case _ if self._step is _Step.RELEASING:
                return  # an answer that nobody waits for any more
            case _StepFailed(error, text):
                self._fail(error, text)
            case ToolsFailed(error) | CloneFailed(error):
                self._fail(error, _describe(error))
            case SpawnFailed(error):
                self._verdict.spawn_failed(error)
                self._driver = None
                self._release()
            case EventsRead() | ProcessStarted() | TurnEnded():
                self._provider_says(message)
            case _:
                self._proceed(message)

    def crashed(self, message: Message, error: BaseException) -> None:
        self._verdict.fault(error, self._step)
        if self._driver is not None:
            self.send(self._driver, CloseProcess())
        if self._step not in {_Step.RELEASING, _Step.ENDED}:
            self._release()

    def never_started(self, error: BaseException) -> None:
        self._verdict.fault(error, "it started")
        self._finish(None)

    def bounced(self, message: Undelivered | RequestFailed) -> None:
        if self._step is not _Step.ENDED:
            gone = ToolcribError(f"{message.receiver} did not handle {message.request}.")
            self._fail(gone, str(gone))

    def _proceed(self, message: Message) -> None:
        """Take the outcome of one step and begin the next, unless cancelled."""
        match message:
            case _ThreadOpened(lease, record, notice):
                self._lease, self._record = lease, record
                if notice:
                    event = Notice(kind="thread.rebound", message=notice, source="toolcrib")
                    self._request.sink.publish(event)
            case ToolsReady(server):
                self._server = server
            case CloneReady(root):
                self._clone = Clone(root)
            case _Kept():
                self._release()
                return
        if self._verdict.failed:
            self._promise_to_stop()
            self._release()
            return
        match message:
            case _Checked():
                self._open_thread()
            case _ThreadOpened():
                self._want_tools()
            case ToolsReady():
                self._want_clone()
            case CloneReady():
                self._prepare()
            case _Prepared(launch, dialect):
                self._launch(launch, dialect)

    def _open_thread(self) -> None:
        if self._request.thread_key is None:
            self._want_tools()
            return
        self._step = _Step.OPENING_THREAD
        self.work(
            self._work.open_thread,
            lambda opened: _ThreadOpened(opened.lease, opened.record, opened.notice),
            _step_failed,
        )

    def _want_tools(self) -> None:
        if not self._work.hosts_tools:
            self._want_clone()
            return
        self._step = _Step.AWAITING_TOOLS
        self.send(self._agent, ToolsWanted(self._request.run_id, self.address))

    def _want_clone(self) -> None:
        self._step = _Step.AWAITING_CLONE
        work = self._work
        make = MakeClone(
            agent=work.agent, key=work.clone_key, seed=work.seed, reply_to=self.address
        )
        self.send(self._cleaner, make)

    def _prepare(self) -> None:
        self._step = _Step.PREPARING
        clone, server, record = self._clone, self._server, self._record
        assert clone is not None
        self.work(
            lambda: self._work.prepare(clone, server, record),
            lambda prepared: _Prepared(*prepared),
            _step_failed,
        )

    def _launch(self, launch: Launch, dialect: Dialect) -> None:
        self._step = _Step.RUNNING
        self._driver = self._start_driver(launch, dialect, self.address, self._agent)
        self.send(self._agent, ProviderStarting(self._request.run_id, self._driver))
        self.send(self._driver, StartProcess())

    def _provider_says(self, message: EventsRead | ProcessStarted | TurnEnded) -> None:
        sink = self._request.sink
        match message:
            case ProcessStarted(pid):
                self._verdict.pid = pid
                sink.publish(ProcessInfo(kind="spawned", pid=pid, source="toolcrib"))
            case EventsRead(events):
                for event in events:
                    sink.publish(event)
                assert self._driver is not None
                self.send(self._driver, EventsTaken(len(events)))
            case TurnEnded(outcome, exit):
                ran = self._verdict.pid
                if ran is not None:
                    sink.publish(
                        ProcessInfo(kind="exited", pid=ran, exit_code=exit.code, source="toolcrib")
                    )
                self._verdict.turn_ended(outcome, exit)
                self._driver = None
                self._keep()

    def _keep(self) -> None:
        if self._lease is None or self._verdict.failed:
            self._release()
            return
        self._step = _Step.KEEPING
        lease, record, clone = self._lease, self._record, self._clone
        session, server = self._verdict.session_id, self._server
        assert clone is not None
        self.work(
            lambda: self._work.keep(lease, record, clone, session, server),
            lambda _: _Kept(),
            _step_failed,
        )

    def _release(self) -> None:
        if self._lease is None:
            self._finish(None)
            return
        self._step = _Step.RELEASING
        lease, self._lease = self._lease, None
        self.work(lambda: self._work.release(lease), lambda _: _Released(None), _Released)

    def _fail(self, error: Exception, text: str) -> None:
        cancelled = self._verdict.failed
        self._verdict.failed_with(error, text, self._step)
        self._driver = None
        if cancelled:
            self._promise_to_stop()
        self._release()

    def _cancel(self, reason: RunReason, why: str) -> None:
        self._verdict.cancelled(reason, why)
        if self._step in {_Step.CHECKING, _Step.PREPARING}:
            return  # foreign code is at work; the promise is given when it returns
        self._promise_to_stop()
        if self._driver is not None:
            self.send(self._driver, CloseProcess())
        elif self._step in {_Step.AWAITING_TOOLS, _Step.AWAITING_CLONE}:
            self._release()

    def _time_is_up(self, seconds: float) -> None:
        self._cancel(RunReason.TIMED_OUT, f"the run took longer than {seconds:g} s")
        if self._driver is not None:
            return
        # Foreign code is at work that can't be ended as a process can, a driver's
        # or a store's. The caller does not wait for it.
        if self._step is not _Step.RELEASING:
            self._verdict.time_is_up_while(self._step)
        self._settle()

    def _promise_to_stop(self) -> None:
        if not self._stop_promised:
            self._stop_promised = True
            self.send(self._agent, RunStopping(self._request.run_id))

    def _finish(self, release_error: Exception | None) -> None:
        self._step = _Step.ENDED
        if self._timer is not None:
            self._timer.cancel()
        if release_error is not None:
            _log.warning("%s could not release its thread", self.name, exc_info=release_error)
            self._verdict.afterthought(release_error)
            said = "The thread could not be released; the log has the reason."
            self._request.sink.publish(
                Notice(kind="thread.not_released", message=said, source="toolcrib")
            )
        self._settle()
        self.send(self._agent, RunEnded(self._request.run_id))
        self.close()

    def _settle(self) -> None:
        """Tell the caller what came of the run; only the first time counts."""
        sink = self._request.sink
        sink.publish(self._verdict.finished())
        result, error = self._verdict.result_and_error()
        sink.finish(result, error)


def _step_failed(error: Exception) -> _StepFailed:
    return _StepFailed(error, _describe(error))


def _describe(error: Exception) -> str:
    return str(error) if isinstance(error, ToolcribError) else repr(error)
