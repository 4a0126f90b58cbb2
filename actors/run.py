"""The Run actor: one invocation, step by step, and its event stream."""

from __future__ import annotations

import logging
from collections.abc import Callable

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
from ..messages.events import Notice, ProcessInfo, RunStarted
from ..messages.results import RunReason
from ..messages.run import (
    CloneFailed,
    CloneReady,
    ProcessStarted,
    RunDeadlinePassed,
    SpawnFailed,
    ToolsFailed,
    ToolsReady,
    TurnEnded,
)
from ..messages.turn import HostedServer, Launch, ProcessExit, TurnOutcome
from ..runtime.attachments import Attached
from ..runtime.drivers.interface import Dialect
from ..runtime.observers import Observers
from ..runtime.outlet import Outlet
from ..runtime.profiles.clone import Clone
from ..runtime.threads.interface import Lease, ThreadRecord
from ..runtime.timers import Timer
from ..runtime.verdict import Verdict
from ..runtime.work import TurnWork
from .base import Actor, Services
from .steps import (
    CallbackReturned,
    Checked,
    GracePassed,
    Kept,
    OutputLoaded,
    Prepared,
    Released,
    ServicesAttached,
    Step,
    StepFailed,
    ThreadOpened,
    describe,
    step_failed,
)
from .turn import OfTurn, Turn

__all__ = ["RunActor", "StartDriver"]

_log = logging.getLogger("toolcrib.actors")
_GRACE = 2.0

StartDriver = Callable[[Launch, Dialect, Address, Address], Address]
"""Starts the actor of a process, given launch, dialect, run and Agent."""


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
        waited: Seconds since the run was admitted, which count as its time.
        grace: Seconds that a caller waits for a stopped run that hangs in code
            which can't be ended.
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
        *,
        waited: float = 0.0,
        grace: float = _GRACE,
    ) -> None:
        super().__init__(name, services)
        self._request = request
        self._work = work
        self._agent = agent
        self._cleaner = cleaner
        self._start_driver = start_driver
        self._waited = waited
        self._grace = grace
        self._step = Step.CHECKING
        options = request.options
        self._outlet = Outlet(request.sink, request.prompt, observed=bool(options.services))
        self._verdict = Verdict(
            request.run_id,
            request.thread_key,
            work.provider,
            metadata=options.metadata,
            transcript=self._outlet.transcript,
        )
        self._turn = Turn(self, work, self._outlet, self._give_up)
        self._stopped_for: RunReason | None = None
        self._stop_promised = False
        self._lease: Lease | None = None
        self._record: ThreadRecord | None = None
        self._attached = Attached(work.info, mcp=options.mcp)
        self._server: HostedServer | None = None
        self._clone_key: str | None = None
        self._clone: Clone | None = None
        self._timers: list[Timer] = []

    def started(self) -> None:
        request = self._request
        self._outlet.begin(self.address)
        self._outlet.publish(
            RunStarted(provider=self._work.provider, prompt=request.prompt, source="toolcrib")
        )
        timeout = request.options.timeout
        if timeout is not None:
            left = max(0.0, timeout - self._waited)
            self._timers.append(self.later(left, RunDeadlinePassed(timeout)))
        self.work(self._work.check, lambda _: Checked(), step_failed)

    def receive(self, message: Message) -> None:
        if self._step is Step.ENDED:
            return
        match message:
            case CancelRun(_, reason, why):
                self._cancel(reason, why)
            case RunDeadlinePassed(seconds):
                self._time_is_up(seconds)
            case GracePassed():
                self._leave_the_caller_no_longer()
            case Released(detaching, releasing):
                self._finish(detaching, releasing)
            case _ if self._step is Step.RELEASING:
                return  # an answer that nobody waits for any more
            case _ if isinstance(message, OfTurn):
                self._turn.take(message)
            case CallbackReturned():
                return  # it may settle its request later
            case ProcessStarted(pid):
                self._process_started(pid)
            case TurnEnded(outcome, exit):
                self._turn_ended(outcome, exit)
            case SpawnFailed(error):
                self._turn.ended()
                self._verdict.spawn_failed(error)
                self._release()
            case StepFailed(error, text):
                self._fail(error, text)
            case ToolsFailed(error) | CloneFailed(error):
                self._fail(error, describe(error))
            case _:
                self._proceed(message)

    def crashed(self, message: Message, error: BaseException) -> None:
        self._verdict.fault(error, self._step)
        if self._turn.alive and not isinstance(message, TurnEnded | SpawnFailed):
            # What the run holds is let go of when the process has ended.
            self._turn.stop()
            self._settle()
        else:
            self._release()

    def never_started(self, error: BaseException) -> None:
        self._verdict.fault(error, "it started")
        self._finish((), None)

    def bounced(self, message: Undelivered | RequestFailed) -> None:
        if self._step is not Step.ENDED:
            gone = ToolcribError(f"{message.receiver} did not handle {message.request}.")
            self._fail(gone, str(gone))

    def _proceed(self, message: Message) -> None:
        """Take the outcome of one step and begin the next, unless it failed."""
        match message:
            case ThreadOpened(lease, record, notice):
                self._lease, self._record = lease, record
                if notice:
                    self._tell("thread.rebound", notice)
            case ServicesAttached(attached):
                self._attached = attached
                self._outlet.observe(
                    Observers(attached.observers, attached.info, self.services.workers)
                )
            case ToolsReady(server):
                self._server = server
            case CloneReady(root):
                self._clone = Clone(root)
            case OutputLoaded(value):
                self._verdict.output_loaded(value)
        if self._verdict.failed:
            self._promise_to_stop()
            self._release()
            return
        match message:
            case Checked():
                self._open_thread()
            case ThreadOpened():
                self._attach()
            case ServicesAttached():
                self._want_tools()
            case ToolsReady():
                self._want_clone()
            case CloneReady():
                self._prepare()
            case Prepared(launch, dialect):
                self._launch(launch, dialect)
            case OutputLoaded():
                self._keep()
            case Kept():
                self._release()

    def _open_thread(self) -> None:
        if self._request.thread_key is None:
            self._attach()
            return
        self._step = Step.OPENING_THREAD
        self.work(
            self._work.open_thread,
            lambda opened: ThreadOpened(opened.lease, opened.record, opened.notice),
            step_failed,
        )

    def _attach(self) -> None:
        if not self._request.options.services:
            self._want_tools()
            return
        self._step = Step.ATTACHING
        self.work(self._work.attach, ServicesAttached, step_failed)

    def _want_tools(self) -> None:
        if not self._work.hosts_tools:
            self._want_clone()
            return
        self._step = Step.AWAITING_TOOLS
        self.send(self._agent, ToolsWanted(self._request.run_id, self.address))

    def _want_clone(self) -> None:
        self._step = Step.AWAITING_CLONE
        work = self._work
        self._clone_key = work.clone_key(self._attached)
        make = MakeClone(
            agent=work.agent, key=self._clone_key, seed=work.seed, reply_to=self.address
        )
        self.send(self._cleaner, make)

    def _prepare(self) -> None:
        self._step = Step.PREPARING
        clone, server, record = self._clone, self._server, self._record
        attached = self._attached
        assert clone is not None
        self.work(
            lambda: self._work.prepare(clone, server, record, attached),
            lambda prepared: Prepared(*prepared),
            step_failed,
        )

    def _launch(self, launch: Launch, dialect: Dialect) -> None:
        self._step = Step.RUNNING
        self._outlet.hide(launch.secrets)
        driver = self._start_driver(launch, dialect, self.address, self._agent)
        self.send(self._agent, ProviderStarting(self._request.run_id, driver))
        self._turn.launch(driver)

    def _process_started(self, pid: int) -> None:
        self._verdict.pid = pid
        self._outlet.publish(ProcessInfo(kind="spawned", pid=pid, source="toolcrib"))
        self._turn.started()

    def _turn_ended(self, outcome: TurnOutcome, exit: ProcessExit) -> None:
        self._turn.ended()
        pid = self._verdict.pid
        if pid is not None:
            self._outlet.publish(
                ProcessInfo(kind="exited", pid=pid, exit_code=exit.known_code, source="toolcrib")
            )
        self._verdict.turn_ended(outcome, exit)
        if self._verdict.failed:
            self._release()
        elif self._request.options.output is None:
            self._keep()
        else:
            self._load()

    def _load(self) -> None:
        self._step = Step.LOADING
        answer = self._verdict.answer
        self.work(lambda: self._work.load_output(answer), OutputLoaded, step_failed)

    def _keep(self) -> None:
        if self._lease is None:
            self._release()
            return
        self._step = Step.KEEPING
        lease, record, clone = self._lease, self._record, self._clone
        session, server, attached = self._verdict.session_id, self._server, self._attached
        assert clone is not None
        self.work(
            lambda: self._work.keep(lease, record, clone, session, server, attached),
            lambda _: Kept(),
            step_failed,
        )

    def _release(self) -> None:
        if self._step in {Step.RELEASING, Step.ENDED}:
            return
        self._step = Step.RELEASING
        observers = self._outlet.announce_end(self._verdict.finished())
        lease, self._lease = self._lease, None
        attached = self._attached
        if lease is None and not attached.services:
            self._finish((), None)
            return
        self.work(
            lambda: self._work.release(lease, attached, observers),
            lambda errors: Released(*errors),
            lambda error: Released((), error),
        )

    def _fail(self, error: Exception, text: str) -> None:
        stopped = self._verdict.failed
        output = self._request.options.output
        if self._step is Step.LOADING and output is not None:
            self._verdict.output_failed(error, text, output.name)
        else:
            self._verdict.failed_with(error, text, self._step)
        if stopped:
            self._promise_to_stop()
        self._release()

    def _cancel(self, reason: RunReason, why: str) -> None:
        self._verdict.cancelled(reason, why)
        self._halt(reason)

    def _give_up(self, reason: RunReason, why: str, error: Exception | None = None) -> None:
        self._verdict.stopped(reason, why, error)
        self._halt(reason)

    def _halt(self, reason: RunReason) -> None:
        if self._stopped_for is None:
            self._stopped_for = reason
            self._timers.append(self.later(self._grace, GracePassed()))
        self._turn.stop()
        if self._step in {Step.CHECKING, Step.PREPARING}:
            return  # foreign code is at work; the promise is given when it returns
        self._promise_to_stop()
        if self._step in {Step.AWAITING_TOOLS, Step.AWAITING_CLONE}:
            self._release()

    def _time_is_up(self, seconds: float) -> None:
        self._cancel(RunReason.TIMED_OUT, f"the run took longer than {seconds:g} s")
        if not self._turn.alive and self._step is not Step.ENDED:
            self._leave(RunReason.TIMED_OUT)

    def _leave_the_caller_no_longer(self) -> None:
        if self._turn.alive:  # which is being ended
            self._timers.append(self.later(self._grace, GracePassed()))
        else:
            self._leave(self._stopped_for or RunReason.CANCELLED)

    def _leave(self, reason: RunReason) -> None:
        # Foreign code is at work that can't be ended as a process can, a driver's,
        # a service's or a store's. The caller does not wait for it.
        if self._step is not Step.RELEASING:
            self._verdict.left_while(reason, self._step)
        self._settle()

    def _promise_to_stop(self) -> None:
        if not self._stop_promised:
            self._stop_promised = True
            self.send(self._agent, RunStopping(self._request.run_id))

    def _finish(self, detaching: tuple[Exception, ...], releasing: Exception | None) -> None:
        self._step = Step.ENDED
        for timer in self._timers:
            timer.cancel()
        for error in detaching:
            self._verdict.afterthought(error)
        if detaching:
            self._tell(
                "services.not_detached", "A service failed as it was detached; see the log."
            )
        if releasing is not None:
            _log.warning("%s could not release its thread", self.name, exc_info=releasing)
            self._verdict.afterthought(releasing)
            self._tell(
                "thread.not_released", "The thread could not be released; the log has the reason."
            )
        self._settle()
        self.send(self._agent, RunEnded(self._request.run_id, self._clone_key))
        self.close()

    def _tell(self, kind: str, message: str) -> None:
        self._outlet.publish(Notice(kind=kind, message=message, source="toolcrib"))

    def _settle(self) -> None:
        """Tell the caller what came of the run; only the first time counts."""
        self._outlet.finish(self._verdict.finished(), *self._verdict.result_and_error())
