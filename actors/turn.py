"""A run's part in the conversation with its provider's process.

Plain decisions without a thread of their own: the Run actor feeds it what comes
while there is a process, and is told when the run has to fail.
"""

from __future__ import annotations

from typing import Protocol

from ..messages.approvals import Decision
from ..messages.base import Address, Message
from ..messages.driver import (
    AnswerAsk,
    CloseProcess,
    EventsTaken,
    SayHowSilent,
    StartProcess,
)
from ..messages.events import ApprovalRequest, Event
from ..messages.results import RunReason
from ..messages.run import (
    ApprovalDeadlinePassed,
    ApprovalDecided,
    Asked,
    AskWithdrawn,
    CallbackFailed,
    EventsConsumed,
    EventsRead,
    IdleTimePassed,
    ProviderSilent,
)
from ..runtime.outlet import Outlet
from ..runtime.timers import Timer
from ..runtime.tools.context import Context
from ..runtime.work import TurnWork
from .approvals import ApprovalDesk
from .base import Actor
from .idle import IdleWatch
from .steps import CallbackReturned, describe

__all__ = ["GiveUp", "OfTurn", "Turn"]

OfTurn = (
    EventsRead
    | Asked
    | AskWithdrawn
    | ApprovalDecided
    | ApprovalDeadlinePassed
    | CallbackFailed
    | EventsConsumed
    | IdleTimePassed
    | ProviderSilent
)
"""What a turn takes."""


class GiveUp(Protocol):
    """Fails the run."""

    def __call__(self, reason: RunReason, why: str, error: Exception | None = None) -> None:
        """Fail it for a reason, in one sentence, with the error that caused it."""


class Turn:
    """Passes events on, has asks decided and watches for silence.

    Args:
        actor: The Run actor, on whose thread all of this runs.
        work: The blocking parts of the run.
        outlet: Where its events go.
        give_up: Fails the run; calls `stop` in turn.
    """

    def __init__(self, actor: Actor, work: TurnWork, outlet: Outlet, give_up: GiveUp) -> None:
        options = work.options
        self._actor = actor
        self._work = work
        self._outlet = outlet
        self._give_up = give_up
        self._driver: Address | None = None
        self._stopped = False
        self._unread = False
        self._callbacks = Context("on_approval")
        self._approvals = ApprovalDesk(
            work.run_id,
            options.policy.approvals,
            self,
            has_callback=options.on_approval is not None,
        )
        self._idle = IdleWatch(
            options.idle_timeout, actor.later, self._ask_for_silence, lambda: self._approvals.waits
        )

    @property
    def alive(self) -> bool:
        """Whether there is a process, or will be in a moment."""
        return self._driver is not None

    def launch(self, driver: Address) -> None:
        """Have the process started."""
        self._driver = driver
        self._actor.send(driver, StartProcess())

    def started(self) -> None:
        """Take note that the process runs."""
        self._idle.start()

    def take(self, message: OfTurn) -> None:
        """Take what the process, the application or a timer says."""
        match message:
            case EventsRead(events):
                self._read(events)
            case EventsConsumed(count):
                self._taken(self._outlet.consumed(count))
            case Asked(ask):
                if not self._stopped:
                    self._approvals.asked(ask)
            case AskWithdrawn(ask_id):
                self._approvals.withdrawn(ask_id)
            case ApprovalDecided(request_id, decision, by):
                self._approvals.decided(request_id, decision, by)
            case ApprovalDeadlinePassed(request_id):
                self._approvals.deadline_passed(request_id)
            case CallbackFailed():
                if not self._stopped:
                    self._approvals.callback_failed(message)
            case IdleTimePassed():
                self._idle.time_passed()
            case ProviderSilent(seconds):
                self._silent_for(seconds)
        self._idle.look()
        self._see_whether_read()

    def stop(self) -> None:
        """Settle what is open, and end the process."""
        self._stopped = True
        self._idle.stop()
        self._approvals.end()
        if self._driver is not None:
            self._actor.send(self._driver, CloseProcess())

    def ended(self) -> None:
        """Take note that the process is gone, or never came."""
        self._driver = None
        self._stopped = True
        self._idle.stop()
        self._approvals.end()
        self._callbacks.cancel()

    def _read(self, events: tuple[Event, ...]) -> None:
        if self._unread:  # what it prints until it is gone would only wait as well
            self._taken(len(events))
            return
        self._taken(self._outlet.relay(events))
        self._idle.note(events)

    def _see_whether_read(self) -> None:
        if self._stopped or not (waiting := self._outlet.overrun):
            return
        self._unread = True
        why = f"{waiting} events wait to be read, which are too many; "
        self._give_up(RunReason.UNREAD, f"{why}read the stream, or discard() it.")

    def _silent_for(self, seconds: float) -> None:
        limit = self._idle.limit
        if self._idle.silent_for(seconds):
            why = f"{self._work.provider} was silent for more than {limit:g} s; it was ended."
            self._give_up(RunReason.IDLE, why)

    def _ask_for_silence(self) -> None:
        if self._driver is not None:
            self._actor.send(self._driver, SayHowSilent())

    def _taken(self, count: int) -> None:
        if count and self._driver is not None:
            self._actor.send(self._driver, EventsTaken(count))

    # What follows is lent to the approvals; see `ApprovalHost`.

    @property
    def listening(self) -> bool:
        """Whether anybody may still read the run's events."""
        return self._outlet.listening

    def publish(self, event: Event) -> None:
        """Publish an event that is not the provider's."""
        self._outlet.publish(event)

    def tell_provider(self, ask_id: str, decision: Decision) -> None:
        """Pass a decision on to the provider."""
        if self._driver is not None:
            self._actor.send(self._driver, AnswerAsk(ask_id, decision))

    def report(self, message: Message) -> None:
        """Send the Run actor a message, from any thread."""
        self._actor.address.deliver(message, "application")

    def remind(self, seconds: float, message: Message) -> Timer:
        """Send the Run actor a message, some seconds from now."""
        return self._actor.later(seconds, message)

    def call_back(self, request: ApprovalRequest) -> None:
        """Call the application's callback on a worker."""
        self._actor.work(
            lambda: self._work.call_back(request, self._callbacks),
            lambda _: CallbackReturned(request.request_id),
            lambda error: CallbackFailed(request.request_id, error, describe(error)),
        )

    def give_up(self, reason: RunReason, why: str, error: Exception | None = None) -> None:
        """Fail the run and end its process."""
        self._give_up(reason, why, error)
