"""The approvals of one run: who decides, what is announced, what follows.

Plain decisions without a thread of their own, like `actors.closing`: the Run
actor feeds it what it learns, and lends it the ways to act on that.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Protocol

from ..errors import ApprovalResolvedError
from ..messages.approvals import Ask, Decider, Decision, Outcome
from ..messages.base import Message
from ..messages.events import ApprovalRequest, ApprovalSettled, Event
from ..messages.policy import ApprovalKind, Approvals, Fallback
from ..messages.results import RunReason
from ..messages.run import ApprovalDeadlinePassed, ApprovalDecided, CallbackFailed
from ..runtime.approvals import Slot, live_request
from ..runtime.timers import Timer

__all__ = ["ApprovalDesk", "ApprovalHost"]

_WANTED: dict[ApprovalKind, str] = {
    "permission": "leave to use {}",
    "plan_review": "a review of its plan",
    "question": "an answer to its question",
}


class ApprovalHost(Protocol):
    """What the Run actor does for its approvals. All on the actor's thread."""

    @property
    def listening(self) -> bool:
        """Whether anybody may still read the run's events."""
        ...

    def publish(self, event: Event) -> None:
        """Publish an event."""
        ...

    def tell_provider(self, ask_id: str, decision: Decision) -> None:
        """Pass a decision on to the provider."""
        ...

    def report(self, message: Message) -> None:
        """Send the actor a message; may be called in any thread."""
        ...

    def remind(self, seconds: float, message: Message) -> Timer:
        """Send the actor a message, some seconds from now."""
        ...

    def call_back(self, request: ApprovalRequest) -> None:
        """Call the application's callback, on a thread of its own."""
        ...

    def give_up(self, reason: RunReason, why: str, error: Exception | None = None) -> None:
        """Fail the run and end its process."""
        ...


@dataclass(slots=True)
class _Open:
    """A request that waits for the application."""

    id: str
    ask: Ask
    attempt: int
    since: float
    slot: Slot
    timer: Timer | None = None


class ApprovalDesk:
    """Decides what the provider asks, or has the application decide it.

    Each attempt is announced as settled exactly once, before the provider is
    told and before the run's end.

    Args:
        run_id: The run's id.
        rules: Who decides, and what follows.
        host: The Run actor.
        has_callback: Whether the application gave a callback.
    """

    def __init__(
        self, run_id: str, rules: Approvals, host: ApprovalHost, *, has_callback: bool
    ) -> None:
        self._run_id = run_id
        self._rules = rules
        self._host = host
        self._has_callback = has_callback
        self._requests = 0
        self._open: dict[str, _Open] = {}

    @property
    def waits(self) -> bool:
        """Whether the application has anything to decide."""
        return bool(self._open)

    def asked(self, ask: Ask) -> None:
        """Take what the provider asks."""
        match self._rules.mode(ask.kind):
            case None:
                self._decide_unasked(ask)
            case "auto_approve":
                self._approve(self._announce(ask), ask, Decision(approved=True), "policy")
            case "auto_reject":
                why = f"The policy of this run refuses {_wanted(ask)}."
                self._refuse_unasked(ask, 1, why, "policy")
            case "ask":
                self._ask_application(ask, 1)

    def withdrawn(self, ask_id: str) -> None:
        """Take note that the provider waits no more."""
        for waiting in [one for one in self._open.values() if one.ask.id == ask_id]:
            self._close(waiting)

    def decided(self, request_id: str, decision: Decision, by: Decider) -> None:
        """Take the decision of whoever settled the slot."""
        waiting = self._open.pop(request_id, None)
        if waiting is None:
            return  # it ended with its run meanwhile, and was announced then
        if decision.approved:
            self._approve(waiting, waiting.ask, decision, by)
            return
        self._settled(waiting, "denied", by, reason=decision.reason)
        self._follow(
            self._rules.on_reject, waiting.ask, waiting.attempt, "denied", decision.reason
        )

    def deadline_passed(self, request_id: str) -> None:
        """Take a timer's word, which counts only if nobody was faster."""
        waiting = self._open.get(request_id)
        if waiting is None or not waiting.slot.expire():
            return
        del self._open[request_id]
        self._settled(waiting, "timed_out", "deadline")
        why = f"nobody decided within {self._rules.timeout:g} s"
        self._follow(self._rules.on_timeout, waiting.ask, waiting.attempt, "timed_out", why)

    def callback_failed(self, failure: CallbackFailed) -> None:
        """Fail the run, and deny what the callback was called for."""
        why = f"The approval callback raised {failure.text}"
        waiting = self._open.get(failure.request_id)
        if isinstance(failure.error, ApprovalResolvedError):
            return  # its time was up, or somebody else decided: seen to then
        if waiting is not None:
            self._settle_by_force(waiting, why)
        self._host.give_up(RunReason.INFRASTRUCTURE, why, failure.error)

    def end(self) -> None:
        """Settle what is open: the run, or its process, is over."""
        for waiting in list(self._open.values()):
            self._close(waiting)

    def _decide_unasked(self, ask: Ask) -> None:
        slip = self._announce(ask)
        if ask.hosted and ask.kind == "permission":
            # Installing a tool was the application's consent.
            self._approve(slip, ask, Decision(approved=True), "policy")
            return
        who = f"allow {ask.tool or 'this'}" if ask.kind == "permission" else "decide this"
        why = f"Nobody is here to {who}, and the settings do not. Go on without it."
        self._settled(slip, "denied", "nobody", reason=why)
        self._host.tell_provider(ask.id, Decision(approved=False, reason=why))

    def _refuse_unasked(self, ask: Ask, attempt: int, why: str, by: Decider) -> None:
        self._settled(self._announce(ask, attempt), "denied", by, reason=why)
        rule = self._rules.on_reject
        # Asked again, the same would come of it.
        self._follow("abort" if rule == "retry" else rule, ask, attempt, "denied", why)

    def _ask_application(self, ask: Ask, attempt: int) -> None:
        host = self._host
        if not (self._has_callback or host.listening):
            why = f"Nobody is here to decide about {_wanted(ask)}."
            self._refuse_unasked(ask, attempt, why, "nobody")
            return
        waiting = self._announce(ask, attempt)
        timeout = self._rules.timeout
        deadline = None if timeout is None else datetime.now(UTC) + timedelta(seconds=timeout)
        try:
            request = live_request(
                waiting.slot, waiting.id, ask, attempt=attempt, deadline=deadline
            )
        except RecursionError:
            # Nothing is open yet, and nobody could be shown what was asked.
            self._refuse_unasked(ask, attempt, "Its arguments are nested too deeply.", "policy")
            return
        self._open[waiting.id] = waiting
        if timeout is not None:
            waiting.timer = host.remind(timeout, ApprovalDeadlinePassed(waiting.id))
        host.publish(request)
        if self._has_callback:
            host.call_back(request)

    def _announce(self, ask: Ask, attempt: int = 1) -> _Open:
        self._requests += 1
        request_id = f"{self._run_id}-ask-{self._requests}"
        slot = Slot(request_id, ask, self._reporter(request_id))
        return _Open(request_id, ask, attempt, time.monotonic(), slot)

    def _reporter(self, request_id: str) -> Callable[[Decision], None]:
        report = self._host.report
        return lambda decision: report(ApprovalDecided(request_id, decision, "application"))

    def _approve(self, waiting: _Open, ask: Ask, decision: Decision, by: Decider) -> None:
        outcome: Outcome = "answered" if ask.kind == "question" else "approved"
        self._settled(waiting, outcome, by, answer=decision.answer)
        self._host.tell_provider(ask.id, decision)

    def _follow(self, rule: Fallback, ask: Ask, attempt: int, outcome: Outcome, why: str) -> None:
        match rule:
            case "continue":
                reason = why or "This was refused. Go on without it."
                self._host.tell_provider(ask.id, Decision(approved=False, reason=reason))
            case "retry" if attempt <= self._rules.max_retries:
                self._ask_application(ask, attempt + 1)
            case _:
                self._abort(ask, attempt, outcome, why)

    def _abort(self, ask: Ask, attempt: int, outcome: Outcome, why: str) -> None:
        self.end()
        self._host.tell_provider(ask.id, Decision(approved=False, reason=why, interrupt=True))
        denied = outcome == "denied"
        reason = RunReason.APPROVAL_DENIED if denied else RunReason.APPROVAL_TIMED_OUT
        verb = "was denied" if denied else "was not given in time"
        asked = f", asked {attempt} times" if attempt > 1 else ""
        text = f"The provider asked for {_wanted(ask)}, which {verb}{asked}"
        self._host.give_up(reason, f"{text}: {why}" if why else f"{text}.")

    def _close(self, waiting: _Open) -> None:
        """Settle a request that nobody waits for any more."""
        del self._open[waiting.id]
        decision = None if waiting.slot.expire() else waiting.slot.decision
        if decision is None:
            self._settled(waiting, "cancelled", "run")
            return
        # The application was faster; its word is on its way, and counts.
        self._settled(
            waiting,
            _outcome_of(waiting.ask, decision),
            "application",
            reason=decision.reason,
            answer=decision.answer,
        )

    def _settle_by_force(self, waiting: _Open, why: str) -> None:
        if not waiting.slot.expire():
            self._close(waiting)
            return
        del self._open[waiting.id]
        self._settled(waiting, "denied", "application", reason=why)
        decision = Decision(approved=False, reason="This was refused.", interrupt=True)
        self._host.tell_provider(waiting.ask.id, decision)

    def _settled(
        self, waiting: _Open, outcome: Outcome, by: Decider, *, reason: str = "", answer: str = ""
    ) -> None:
        if waiting.timer is not None:
            waiting.timer.cancel()
        self._host.publish(
            ApprovalSettled(
                request_id=waiting.id,
                kind=waiting.ask.kind,
                outcome=outcome,
                by=by,
                reason=reason,
                answer=answer,
                attempt=waiting.attempt,
                waited=time.monotonic() - waiting.since,
                source="toolcrib",
            )
        )


def _wanted(ask: Ask) -> str:
    return _WANTED[ask.kind].format(ask.tool or "a tool")


def _outcome_of(ask: Ask, decision: Decision) -> Outcome:
    if not decision.approved:
        return "denied"
    return "answered" if ask.kind == "question" else "approved"
