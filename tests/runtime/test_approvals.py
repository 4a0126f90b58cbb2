"""One request's slot: who is first has it, and everybody else is told why not."""

from __future__ import annotations

import copy
import pickle
import threading
from collections.abc import Callable
from dataclasses import replace
from functools import partial

import pytest

from toolcrib.errors import (
    ApprovalDetachedError,
    ApprovalError,
    ApprovalExpiredError,
    ApprovalKindError,
    ApprovalResolvedError,
)
from toolcrib.messages.approvals import Ask, Choice, Decision
from toolcrib.messages.events import ApprovalRequest
from toolcrib.messages.policy import ApprovalKind
from toolcrib.runtime.approvals import Slot, live_request

CHOICES = (Choice(key="a", label="Alpha"), Choice(key="b", label="Beta"))


class Asked:
    """A live request, and what was decided about it."""

    def __init__(self, kind: ApprovalKind = "permission") -> None:
        self.decisions: list[Decision] = []
        self.ask = Ask(
            id="p1",
            kind=kind,
            title="?",
            tool="Bash",
            arguments={"command": ["ls"]},
            choices=CHOICES if kind == "question" else (),
        )
        self.slot = Slot("r-ask-1", self.ask, self.decisions.append)
        self.request = live_request(self.slot, "r-ask-1", self.ask, attempt=1, deadline=None)


def test_the_first_decision_counts_and_the_second_is_told_so() -> None:
    asked = Asked()
    asked.request.approve({"command": ["pwd"]})
    with pytest.raises(ApprovalResolvedError):
        asked.request.deny("too late")
    assert asked.decisions == [Decision(approved=True, arguments={"command": ["pwd"]})]
    assert asked.slot.decision == asked.decisions[0]


def test_of_many_threads_exactly_one_decides() -> None:
    asked = Asked()
    together = threading.Barrier(8)
    told: list[object] = []

    def settle(settler: Callable[[], None]) -> None:
        together.wait(10)
        try:
            settler()
        except ApprovalResolvedError as error:
            told.append(error)

    settlers = [asked.request.approve, asked.request.deny] * 4
    threads = [threading.Thread(target=settle, args=(settler,)) for settler in settlers]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(10)
    assert (len(asked.decisions), len(told)) == (1, 7)


def test_an_expired_request_takes_nothing_and_an_answered_one_does_not_expire() -> None:
    late = Asked()
    assert late.slot.expire()
    with pytest.raises(ApprovalExpiredError):
        late.request.approve()
    assert late.decisions == []
    answered = Asked()
    answered.request.deny("no")
    assert not answered.slot.expire()
    assert answered.slot.decision == Decision(approved=False, reason="no")
    with pytest.raises(ApprovalResolvedError) as caught:
        answered.request.approve()
    assert not isinstance(caught.value, ApprovalExpiredError)


@pytest.mark.parametrize("kind", ["permission", "plan_review"])
def test_only_a_question_is_answered(kind: ApprovalKind) -> None:
    asked = Asked(kind)
    with pytest.raises(ApprovalKindError):
        asked.request.answer("yes")
    asked.request.approve()  # what was wrong has settled nothing
    assert asked.decisions == [Decision(approved=True)]


def test_a_question_is_not_approved_but_may_be_denied() -> None:
    asked = Asked("question")
    with pytest.raises(ApprovalKindError):
        asked.request.approve()
    asked.request.deny("not now")
    assert asked.decisions == [Decision(approved=False, reason="not now")]


@pytest.mark.parametrize(
    ("text", "answer"), [("b", "b"), ("Beta", "b"), ("beta", "beta"), ("else", "else")]
)
def test_an_answer_is_a_choice_by_key_or_label_else_free_text(text: str, answer: str) -> None:
    asked = Asked("question")
    asked.request.answer(text)
    assert asked.decisions == [Decision(approved=True, answer=answer)]


@pytest.mark.parametrize("again", [copy.copy, replace], ids=["copy", "replace"])
def test_a_shallow_copy_shares_the_outcome(
    again: Callable[[ApprovalRequest], ApprovalRequest],
) -> None:
    asked = Asked()
    again(asked.request).approve()
    assert len(asked.decisions) == 1
    with pytest.raises(ApprovalResolvedError):
        asked.request.approve()


def pickled(request: ApprovalRequest) -> ApprovalRequest:
    copied: ApprovalRequest = pickle.loads(pickle.dumps(request))  # noqa: S301  # our own
    return copied


@pytest.mark.parametrize("apart", [copy.deepcopy, pickled])
def test_a_deep_or_pickled_copy_settles_nothing(
    apart: Callable[[ApprovalRequest], ApprovalRequest],
) -> None:
    asked = Asked()
    detached = apart(asked.request)
    assert detached.arguments == {"command": ["ls"]}
    settlers: list[Callable[[], None]] = [
        detached.approve,
        detached.deny,
        partial(detached.answer, "a"),
    ]
    for settle in settlers:
        with pytest.raises(ApprovalDetachedError):
            settle()
    asked.request.approve()
    assert len(asked.decisions) == 1


@pytest.mark.parametrize("bad", [["ls"], {"x": object()}, {"x": float("nan")}])
def test_arguments_that_are_no_json_object_are_refused_and_settle_nothing(bad: object) -> None:
    asked = Asked()
    with pytest.raises(TypeError):
        asked.request.approve(bad)  # type: ignore[arg-type]  # what an application may do
    asked.request.approve()
    assert len(asked.decisions) == 1


def test_what_the_application_changes_reaches_the_provider_only_through_approve() -> None:
    asked = Asked()
    asked.request.arguments["command"].append("-l")
    assert asked.ask.arguments == {"command": ["ls"]}
    edited = {"command": ["pwd"]}
    asked.request.approve(edited)
    edited["command"].append("-P")
    assert asked.decisions[0].arguments == {"command": ["pwd"]}


def test_every_way_to_fail_is_an_approval_error() -> None:
    for kind in (ApprovalResolvedError, ApprovalExpiredError, ApprovalKindError):
        assert issubclass(kind, ApprovalError)
