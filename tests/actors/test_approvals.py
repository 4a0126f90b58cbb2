"""The approvals of one run, alone: the Run actor is played by a host that keeps all."""

from __future__ import annotations

import sys
from dataclasses import replace
from typing import Any

import pytest

from toolcrib.actors.approvals import ApprovalDesk
from toolcrib.errors import ApprovalExpiredError, ApprovalResolvedError
from toolcrib.messages.approvals import Ask, Choice, Decision
from toolcrib.messages.base import Message
from toolcrib.messages.events import ApprovalRequest, ApprovalSettled, Event
from toolcrib.messages.policy import ApprovalKind, Approvals
from toolcrib.messages.results import RunReason
from toolcrib.messages.run import ApprovalDeadlinePassed, ApprovalDecided, CallbackFailed
from toolcrib.runtime.timers import Timer, Timers

Told = tuple[str, Decision]


class Host:
    """Keeps, in one line, what is published and told; passes nothing on by itself."""

    def __init__(self, **rules: Any) -> None:
        self.listening = True
        self.line: list[Event | Told] = []
        self.reports: list[Message] = []
        self.reminders: list[Message] = []
        self.called: list[ApprovalRequest] = []
        self.given_up: list[tuple[RunReason, str, Exception | None]] = []
        self._timers = Timers("never started")
        callback = rules.pop("callback", False)
        self.desk = ApprovalDesk("r", Approvals(**rules), self, has_callback=callback)

    def publish(self, event: Event) -> None:
        self.line.append(event)

    def tell_provider(self, ask_id: str, decision: Decision) -> None:
        self.line.append((ask_id, decision))

    def report(self, message: Message) -> None:
        self.reports.append(message)

    def remind(self, seconds: float, message: Message) -> Timer:
        self.reminders.append(message)
        return Timer(self._timers, lambda: None)

    def call_back(self, request: ApprovalRequest) -> None:
        self.called.append(request)

    def give_up(self, reason: RunReason, why: str, error: Exception | None = None) -> None:
        self.given_up.append((reason, why, error))
        self.desk.end()

    def pass_on(self) -> None:
        """Let the desk have what responders reported."""
        for message in self.reports:
            assert isinstance(message, ApprovalDecided)
            self.desk.decided(message.request_id, message.decision, message.by)
        self.reports.clear()

    @property
    def requests(self) -> list[ApprovalRequest]:
        return [event for event in self.line if isinstance(event, ApprovalRequest)]

    @property
    def settled(self) -> list[tuple[str, str]]:
        return [(e.outcome, e.by) for e in self.line if isinstance(e, ApprovalSettled)]

    @property
    def told(self) -> list[Told]:
        return [each for each in self.line if isinstance(each, tuple)]

    @property
    def decision(self) -> Decision:
        ((_, decision),) = self.told
        return decision


def ask(kind: ApprovalKind = "permission", *, id: str = "p1", hosted: bool = False) -> Ask:
    tool = "" if kind == "question" else "Bash"
    choices = (Choice(key="y", label="Yes"),) if kind == "question" else ()
    return Ask(id=id, kind=kind, title="?", tool=tool, hosted=hosted, choices=choices)


def test_without_a_policy_hosted_tools_are_allowed_and_the_rest_is_denied_and_goes_on() -> None:
    host = Host()
    host.desk.asked(ask(hosted=True))
    assert host.settled == [("approved", "policy")]
    assert host.decision == Decision(approved=True)
    kinds: tuple[ApprovalKind, ...] = ("permission", "plan_review", "question")
    for kind in kinds:
        host = Host(on_reject="abort")
        host.desk.asked(ask(kind))
        assert host.settled == [("denied", "nobody")]
        assert not host.decision.approved
        assert not host.decision.interrupt
        assert "Nobody is here" in host.decision.reason
        assert host.requests == []
        assert host.given_up == []


def test_what_the_policy_approves_is_announced_and_not_asked() -> None:
    host = Host(permission="auto_approve")
    host.desk.asked(ask())
    assert host.settled == [("approved", "policy")]
    assert host.decision == Decision(approved=True)
    assert host.requests == []


@pytest.mark.parametrize(
    ("rule", "aborts"), [("abort", True), ("continue", False), ("retry", True)]
)
def test_what_the_policy_rejects_follows_the_rule_for_denials(rule: str, aborts: bool) -> None:
    host = Host(permission="auto_reject", on_reject=rule)
    host.desk.asked(ask(hosted=True))  # the policy is above the application's consent
    assert host.settled == [("denied", "policy")]
    assert host.decision.interrupt == aborts
    assert [reason for reason, _, _ in host.given_up] == [RunReason.APPROVAL_DENIED] * aborts


def test_what_is_nested_too_deeply_to_be_shown_is_denied_and_leaves_nothing_open() -> None:
    arguments: dict[str, Any] = {}
    for _ in range(sys.getrecursionlimit()):
        arguments = {"a": arguments}
    host = Host(permission="ask", on_reject="continue", callback=True)
    host.desk.asked(replace(ask(), arguments=arguments))
    assert (host.requests, host.called, host.reminders) == ([], [], [])
    assert host.settled == [("denied", "policy")]
    assert not host.decision.approved
    assert "nested too deeply" in host.decision.reason
    assert not host.desk.waits


def test_an_application_that_is_asked_decides() -> None:
    host = Host(permission="ask")
    host.desk.asked(ask())
    (request,) = host.requests
    assert (request.request_id, request.attempt, request.tool) == ("r-ask-1", 1, "Bash")
    assert request.deadline is not None
    assert host.reminders == [ApprovalDeadlinePassed("r-ask-1")]
    assert host.desk.waits
    request.approve({"command": "pwd"})
    assert host.settled == []  # the actor has not heard of it yet
    host.pass_on()
    assert host.settled == [("approved", "application")]
    assert host.decision == Decision(approved=True, arguments={"command": "pwd"})
    assert not host.desk.waits


def test_the_outcome_is_announced_before_the_provider_is_told() -> None:
    host = Host(permission="ask")
    host.desk.asked(ask())
    host.requests[0].approve()
    host.pass_on()
    assert [type(each).__name__ for each in host.line] == [
        "ApprovalRequest",
        "ApprovalSettled",
        "tuple",
    ]


def test_a_question_is_answered() -> None:
    host = Host(question="ask")
    host.desk.asked(ask("question"))
    host.requests[0].answer("Yes")
    host.pass_on()
    assert host.settled == [("answered", "application")]
    assert host.decision == Decision(approved=True, answer="y")


def test_a_denial_aborts_and_names_what_was_denied_and_why() -> None:
    host = Host(permission="ask")
    host.desk.asked(ask())
    host.requests[0].deny("too dangerous")
    host.pass_on()
    assert host.settled == [("denied", "application")]
    assert host.decision == Decision(approved=False, reason="too dangerous", interrupt=True)
    ((reason, why, _),) = host.given_up
    assert reason is RunReason.APPROVAL_DENIED
    assert "Bash" in why
    assert "too dangerous" in why


def test_a_denial_may_leave_the_run_going() -> None:
    host = Host(permission="ask", on_reject="continue")
    host.desk.asked(ask())
    host.requests[0].deny("no")
    host.pass_on()
    assert host.decision == Decision(approved=False, reason="no")
    assert host.given_up == []


@pytest.mark.parametrize(("rule", "aborts"), [("abort", True), ("continue", False)])
def test_a_deadline_that_passes_follows_its_own_rule(rule: str, aborts: bool) -> None:
    host = Host(permission="ask", on_timeout=rule, on_reject="continue", timeout=7)
    host.desk.asked(ask())
    host.desk.deadline_passed("r-ask-1")
    assert host.settled == [("timed_out", "deadline")]
    assert host.decision.interrupt == aborts
    assert [reason for reason, _, _ in host.given_up] == [RunReason.APPROVAL_TIMED_OUT] * aborts
    with pytest.raises(ApprovalExpiredError):
        host.requests[0].approve()
    assert not host.desk.waits


@pytest.mark.parametrize("by", ["deadline", "application"])
def test_a_retry_asks_again_so_often_as_it_may(by: str) -> None:
    host = Host(permission="ask", on_timeout="retry", on_reject="retry", max_retries=2)
    host.desk.asked(ask())
    for attempt in (1, 2, 3):
        request = host.requests[-1]
        assert (request.attempt, len(host.requests)) == (attempt, attempt)
        assert host.told == []
        if by == "deadline":
            host.desk.deadline_passed(request.request_id)
        else:
            request.deny("no")
            host.pass_on()
    assert len(host.requests) == 3
    assert len({request.request_id for request in host.requests}) == 3
    attempts = [e.attempt for e in host.line if isinstance(e, ApprovalSettled)]
    assert attempts == [1, 2, 3]
    assert host.decision.interrupt
    assert len(host.given_up) == 1


def test_an_answer_that_was_faster_than_the_deadline_counts() -> None:
    host = Host(permission="ask")
    host.desk.asked(ask())
    host.requests[0].approve()  # and its message is still on its way
    host.desk.deadline_passed("r-ask-1")
    assert host.settled == []
    host.pass_on()
    assert host.settled == [("approved", "application")]
    assert host.given_up == []


def test_without_a_time_limit_nobody_is_reminded() -> None:
    host = Host(permission="ask", timeout=None)
    host.desk.asked(ask())
    assert host.reminders == []
    assert host.requests[0].deadline is None


@pytest.mark.parametrize("rule", ["abort", "retry"])
def test_where_nobody_listens_it_is_denied_and_never_waits(rule: str) -> None:
    host = Host(permission="ask", on_reject=rule)
    host.listening = False
    host.desk.asked(ask(hosted=True))
    assert host.requests == []
    assert host.settled == [("denied", "nobody")]
    assert host.decision.interrupt
    assert not host.desk.waits


def test_a_callback_is_somebody() -> None:
    host = Host(permission="ask", callback=True)
    host.listening = False
    host.desk.asked(ask())
    assert host.called == host.requests
    host.called[0].approve()
    host.pass_on()
    assert host.settled == [("approved", "application")]


@pytest.mark.parametrize("settled_before", [False, True])
def test_a_callback_that_raises_denies_and_fails_the_run(settled_before: bool) -> None:
    host = Host(permission="ask", callback=True, on_reject="continue")
    host.desk.asked(ask())
    if settled_before:
        host.called[0].approve()
        host.pass_on()
    error = ZeroDivisionError("oops")
    host.desk.callback_failed(CallbackFailed("r-ask-1", error, "oops"))
    outcome = ("approved" if settled_before else "denied", "application")
    assert host.settled == [outcome]
    assert host.told[-1][1].interrupt != settled_before
    ((reason, why, cause),) = host.given_up
    assert (reason, cause) == (RunReason.INFRASTRUCTURE, error)
    assert "oops" in why


def test_what_is_withdrawn_is_settled_and_can_not_be_decided() -> None:
    host = Host(permission="ask")
    host.desk.asked(ask())
    host.desk.asked(ask(id="p2"))
    host.desk.withdrawn("p1")
    assert host.settled == [("cancelled", "run")]
    first, second = host.requests
    with pytest.raises(ApprovalExpiredError):
        first.approve()
    second.approve()
    host.pass_on()
    assert host.told == [("p2", Decision(approved=True))]


def test_the_end_of_the_run_settles_everything_once() -> None:
    host = Host(permission="ask")
    for number in range(3):
        host.desk.asked(ask(id=f"p{number}"))
    host.requests[1].deny("no")  # and its message is still on its way
    host.desk.end()
    host.pass_on()
    host.desk.end()
    assert host.settled == [("cancelled", "run"), ("denied", "application"), ("cancelled", "run")]
    assert host.told == []
    with pytest.raises(ApprovalExpiredError):
        host.requests[0].approve()
    with pytest.raises(ApprovalResolvedError):
        host.requests[1].approve()


def test_several_are_open_at_once_and_each_has_its_own_answer() -> None:
    host = Host(permission="ask", question="ask", on_reject="continue")
    host.desk.asked(ask(id="p1"))
    host.desk.asked(ask("question", id="p2"))
    host.desk.asked(ask(id="p3"))
    first, second, third = host.requests
    third.deny("no")
    second.answer("free text")
    first.approve()
    host.pass_on()
    assert host.told == [
        ("p3", Decision(approved=False, reason="no")),
        ("p2", Decision(approved=True, answer="free text")),
        ("p1", Decision(approved=True)),
    ]


def test_an_abort_settles_the_others_before_the_run_fails() -> None:
    host = Host(permission="ask")
    host.desk.asked(ask(id="p1"))
    host.desk.asked(ask(id="p2"))
    host.requests[0].deny("no")
    host.pass_on()
    assert host.settled == [("denied", "application"), ("cancelled", "run")]
    assert [ask_id for ask_id, _ in host.told] == ["p1"]
    assert isinstance(host.line[-1], tuple)  # the provider is told last
