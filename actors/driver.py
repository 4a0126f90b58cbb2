"""The Driver actor: owns one provider process."""

from __future__ import annotations

from collections.abc import Callable

from ..errors import ProviderNotFoundError
from ..messages.agent import ProcessClosed
from ..messages.approvals import Ask
from ..messages.base import Address, Message
from ..messages.driver import (
    AnswerAsk,
    CloseProcess,
    EventsTaken,
    SayHowSilent,
    StartProcess,
)
from ..messages.events import Event, ProcessInfo
from ..messages.results import RunReason
from ..messages.run import (
    Asked,
    AskWithdrawn,
    EventsRead,
    ProcessStarted,
    ProviderSilent,
    SpawnFailed,
    TurnEnded,
)
from ..messages.turn import ProcessExit, TurnOutcome
from ..runtime.processes.interface import ProcessListener, SpawnError
from ..runtime.processes.session import ProviderProcess
from .base import Actor, Ref, Services

__all__ = ["DriverActor", "MakeProcess"]

MakeProcess = Callable[[ProcessListener], ProviderProcess]
"""Makes the process object, not started yet, that reports to the listener."""


class _Reporter:
    """Turns what the process's own thread calls into messages to the actor."""

    def __init__(self, actor: Ref) -> None:
        self._actor = actor
        self._pid = 0

    def started(self, pid: int) -> None:
        self._pid = pid
        self._report(ProcessStarted(pid))

    def steps(self, events: tuple[Event, ...]) -> None:
        self._report(EventsRead(events))

    def asked(self, ask: Ask) -> None:
        self._report(Asked(ask))

    def withdrawn(self, ask_id: str) -> None:
        self._report(AskWithdrawn(ask_id))

    def stderr(self, line: str) -> None:
        self._report(
            EventsRead((ProcessInfo(kind="stderr", pid=self._pid, text=line, source="provider"),))
        )

    def failed(self, error: SpawnError) -> None:
        known = ProviderNotFoundError(str(error)) if error.missing else error
        self._report(SpawnFailed(known))

    def ended(self, exit: ProcessExit, outcome: TurnOutcome) -> None:
        self._report(TurnEnded(outcome, exit))

    def _report(self, message: Message) -> None:
        self._actor.deliver(message, "process")


class DriverActor(Actor):
    """Passes what the process says to the run, and ends it when told.

    It stops itself with the process, after it has told the run the outcome and
    the Agent that the process is gone.

    Args:
        name: Its name, such as ``driver-1``.
        services: What all actors share.
        make: Makes the process object.
        run: The run whose turn it is.
        agent: The Agent, which must know of every process.
    """

    def __init__(
        self,
        name: str,
        services: Services,
        make: MakeProcess,
        run: Address,
        agent: Address,
    ) -> None:
        super().__init__(name, services)
        self._run = run
        self._agent = agent
        self._process = make(_Reporter(self.address))
        self._started = False
        self._ended = False

    def receive(self, message: Message) -> None:
        if self._ended:
            return
        match message:
            case StartProcess():
                if not self._started:
                    self._started = True
                    self._process.start()
            case CloseProcess():
                self._close_process()
            case EventsTaken(count):
                self._process.acknowledge(count)
            case AnswerAsk(ask_id, decision):
                self._process.answer(ask_id, decision)
            case SayHowSilent():
                self.send(self._run, ProviderSilent(self._process.silence()))
            case ProcessStarted() | EventsRead() | Asked() | AskWithdrawn():
                self.send(self._run, message)
            case SpawnFailed() | TurnEnded():
                self._end(message)

    def crashed(self, message: Message, error: BaseException) -> None:
        self._process.close()

    def _close_process(self) -> None:
        if self._started:
            self._process.close()
            return
        never = ProcessExit(code=0, stderr="")
        why = "the process was not started, since its run had ended"
        outcome = TurnOutcome(ok=False, reason=RunReason.CANCELLED, message=why)
        self._end(TurnEnded(outcome, never))

    def _end(self, last: SpawnFailed | TurnEnded) -> None:
        self._ended = True
        # First the Agent, so that it never knows of an ended run's process.
        self.send(self._agent, ProcessClosed(self.name))
        self.send(self._run, last)
        self.close()
