"""The Agent actor: admits runs, lends them the tools, and closes in order."""

from __future__ import annotations

import logging
import time
from collections.abc import Callable
from dataclasses import dataclass, field

from ..errors import AgentClosedError
from ..messages.agent import (
    AgentClosed,
    CancelRun,
    CloseAgent,
    CloseDeadlinePassed,
    CloseTimedOut,
    ProcessClosed,
    ProviderStarting,
    RunAdmitted,
    RunEnded,
    RunRefused,
    RunStopping,
    StartRun,
    ToolsWanted,
)
from ..messages.base import Address, Message, RequestFailed, Undelivered
from ..messages.cleaner import (
    ClonesRemaining,
    ClonesRemoved,
    OwnerSealed,
    RemoveClones,
    ReturnClone,
    SealOwner,
)
from ..messages.events import RunStarted
from ..messages.registry import (
    MintToken,
    RetireToken,
    TokenMinted,
    TokenRefused,
    TokenRetired,
    TokenRetiring,
)
from ..messages.results import RunReason
from ..messages.run import ToolsFailed, ToolsReady
from ..messages.turn import HostedServer
from ..runtime.spec import AgentSpec
from ..runtime.timers import Timer
from ..runtime.transcript import Transcript
from ..runtime.verdict import Verdict
from .base import Actor, Services
from .closing import Book, Closing

__all__ = ["AgentActor", "StartRunActor"]

StartRunActor = Callable[[StartRun, Address, float], Address]
"""Starts the actor of a run, given what is asked, the Agent's address, and the
seconds since the run was admitted."""

_log = logging.getLogger("toolcrib.actors")
_OF_THE_CLOSE = {kind.__name__ for kind in (SealOwner, RemoveClones, RetireToken)}


@dataclass(frozen=True, slots=True)
class _Closer:
    reply_to: Address
    timeout: float
    timer: Timer


@dataclass(slots=True)
class _Waiting:
    """An admitted run whose turn has not come."""

    request: StartRun
    since: float = field(default_factory=time.monotonic)
    timer: Timer | None = None


@dataclass(frozen=True, slots=True)
class _WaitedTooLong(Message):
    """A timer's word that a run's total time is up before its turn came."""

    run_id: str
    """Which run."""


class AgentActor(Actor):
    """Owns admission, the Agent's runs and the close sequence.

    Args:
        spec: The Agent's fixed parts.
        services: What all actors share.
        registry: The tool registry.
        cleaner: The profile cleaner.
        start_run: Starts the actor of a run.
    """

    def __init__(
        self,
        spec: AgentSpec,
        services: Services,
        registry: Address,
        cleaner: Address,
        start_run: StartRunActor,
    ) -> None:
        super().__init__(spec.name, services)
        self._spec = spec
        self._registry = registry
        self._cleaner = cleaner
        self._start_run = start_run
        self._book = Book()
        self._waiting: dict[str, _Waiting] = {}
        self._closing: Closing | None = None
        self._closers: dict[int, _Closer] = {}
        self._closers_seen = 0
        self._server: HostedServer | None = None
        self._minting = False
        self._tools_wanted: list[Address] = []

    def receive(self, message: Message) -> None:
        match message:
            case StartRun():
                self._admit(message)
            case CancelRun():
                self._cancel(message)
            case _WaitedTooLong(run_id):
                self._waited_too_long(run_id)
            case ToolsWanted(reply_to=run):
                self._lend_tools(run)
            case TokenMinted() | TokenRefused():
                self._tools_answered(message)
            case CloseAgent():
                self._close(message)
            case CloseDeadlinePassed(closer):
                self._give_up_waiting(closer)
            case _:
                self._note(message)
        self._advance()

    def bounced(self, message: Undelivered | RequestFailed) -> None:
        super().bounced(message)
        if message.request == MintToken.__name__:
            why = AgentClosedError(f"{message.receiver} is gone; make a new Agent.")
            self._tools_answered(TokenRefused(why))
        elif self._closing is not None and message.request in _OF_THE_CLOSE:
            self._book.lost += (f"{message.request}, which {message.receiver} did not handle",)

    def _note(self, message: Message) -> None:
        book = self._book
        match message:
            case RunStopping(run_id):
                book.stopping.add(run_id)
            case RunEnded(run_id, clone_key):
                run = book.runs.pop(run_id, None)
                book.stopping.discard(run_id)
                if run is not None and clone_key is not None:
                    self._return_clone(clone_key, run.name, run_id)
                self._start_waiting()
            case ProviderStarting(driver=driver):
                book.drivers[driver.name] = driver
            case ProcessClosed(name):
                book.drivers.pop(name, None)
            case OwnerSealed():
                book.sealed = True
            case ClonesRemaining(clones=clones, reason=reason):
                book.clones = tuple(f"clone {path} ({reason})" for path in clones)
            case ClonesRemoved():
                book.clones_removed = True
            case TokenRetiring(running):
                book.running = running
            case TokenRetired():
                book.token_retired = True

    def _return_clone(self, key: str, run: str, run_id: str) -> None:
        back = ReturnClone(agent=self.name, key=key, run=run, run_id=run_id)
        self.send(self._cleaner, back)

    def _admit(self, request: StartRun) -> None:
        if self._closing is not None:
            error = AgentClosedError(f"{self.name} is closing or closed; make a new Agent.")
            self.send(request.reply_to, RunRefused(request.run_id, error))
            return
        waiting = _Waiting(request)
        if self._has_room():
            self._start(waiting)
        else:
            timeout = request.options.timeout
            if timeout is not None:
                waiting.timer = self.later(timeout, _WaitedTooLong(request.run_id))
            self._waiting[request.run_id] = waiting
        self.send(request.reply_to, RunAdmitted(request.run_id))

    def _has_room(self) -> bool:
        most = self._spec.max_runs
        return most is None or len(self._book.runs) < most

    def _start(self, waiting: _Waiting) -> None:
        request = waiting.request
        waited = time.monotonic() - waiting.since
        self._book.runs[request.run_id] = self._start_run(request, self.address, waited)

    def _start_waiting(self) -> None:
        while self._waiting and self._has_room():
            waiting = self._take_waiting(next(iter(self._waiting)))
            try:
                self._start(waiting)
            except Exception as error:
                # Its caller waits already, and nobody else could tell it.
                _log.exception("%s could not start a run that waited", self.name)
                why = f"run {waiting.request.run_id} could not be started; the log has the reason."
                verdict = self._verdict(waiting.request)
                verdict.stopped(RunReason.INFRASTRUCTURE, why, error)
                self._end_unstarted(waiting.request, verdict)

    def _take_waiting(self, run_id: str) -> _Waiting:
        waiting = self._waiting.pop(run_id)
        if waiting.timer is not None:
            waiting.timer.cancel()
        return waiting

    def _cancel(self, message: CancelRun) -> None:
        if message.run_id in self._waiting:
            self._end_waiting(message)
        elif message.run_id in self._book.runs:
            self.send(self._book.runs[message.run_id], message)

    def _waited_too_long(self, run_id: str) -> None:
        if run_id in self._waiting:
            timeout = self._waiting[run_id].request.options.timeout
            why = f"the run took longer than {timeout:g} s, all of which it waited for its turn"
            self._end_waiting(CancelRun(run_id, RunReason.TIMED_OUT, why))

    def _end_waiting(self, message: CancelRun) -> None:
        request = self._take_waiting(message.run_id).request
        verdict = self._verdict(request)
        verdict.cancelled(message.reason, message.message)
        self._end_unstarted(request, verdict)

    def _verdict(self, request: StartRun) -> Verdict:
        return Verdict(
            request.run_id,
            request.thread_key,
            self._spec.driver.provider,
            metadata=request.options.metadata,
            transcript=Transcript(request.prompt).items,
        )

    def _end_unstarted(self, request: StartRun, verdict: Verdict) -> None:
        """End a run that never began, as its caller sees it."""
        provider = self._spec.driver.provider
        start = RunStarted(provider=provider, prompt=request.prompt, source="toolcrib")
        request.sink.publish(start)
        request.sink.publish(verdict.finished())
        request.sink.finish(*verdict.result_and_error())

    def _lend_tools(self, run: Address) -> None:
        if self._server is not None:
            self.send(run, ToolsReady(self._server))
            return
        self._tools_wanted.append(run)
        if not self._minting:
            self._minting = True
            spec = self._spec
            mint = MintToken(
                agent=spec.name,
                catalog=spec.catalog,
                context=spec.context,
                reply_to=self.address,
            )
            self.send(self._registry, mint)

    def _tools_answered(self, answer: TokenMinted | TokenRefused) -> None:
        self._minting = False
        reply: Message
        match answer:
            case TokenMinted(url, token):
                self._server = self._spec.server(url, token)
                reply = ToolsReady(self._server)
            case TokenRefused(error):
                reply = ToolsFailed(error)
        waiting, self._tools_wanted = self._tools_wanted, []
        for run in waiting:
            self.send(run, reply)

    def _close(self, request: CloseAgent) -> None:
        self._closers_seen += 1
        closer = self._closers_seen
        timer = self.later(request.timeout, CloseDeadlinePassed(closer))
        self._closers[closer] = _Closer(request.reply_to, request.timeout, timer)
        if self._closing is None:
            for run_id in tuple(self._waiting):
                why = "the Agent was closed before the run's turn came"
                self._end_waiting(CancelRun(run_id, RunReason.CANCELLED, why))
            self._closing = Closing(
                self.name, self.address, self._book, self._cleaner, self._registry, self.send
            )
        else:
            self._closing.try_again()

    def _give_up_waiting(self, number: int) -> None:
        closer = self._closers.pop(number, None)
        if closer is None or self._closing is None:
            return
        remaining = self._closing.remaining()
        self.send(closer.reply_to, CloseTimedOut(self._closing.phase, remaining, closer.timeout))

    def _advance(self) -> None:
        if self._closing is None or not self._closing.advance():
            return
        closers, self._closers = self._closers, {}
        for closer in closers.values():
            closer.timer.cancel()
            self.send(closer.reply_to, AgentClosed(self.name))
        self.close()
