"""What the provider asks, and how decisions reach it."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any

import pytest

from toolcrib import Claude, CodeBuddy
from toolcrib.messages.approvals import Choice
from toolcrib.messages.events import Notice
from toolcrib.messages.results import RunReason
from toolcrib.runtime.drivers.interface import (
    Ask,
    Decision,
    Dialect,
    MaskedLine,
    Step,
    Withdraw,
    Write,
)

from .conftest import CLEAN, INIT, Either, dialect, events, play, said, use

HOSTED = "mcp__toolcrib__lookup_issue"
YES = Decision(approved=True)
COLOUR = {
    "question": "Which\ncolour?",
    "header": "Colour",
    "options": [{"label": "Red", "description": "warm"}, "Blue", {"description": "none"}, 7],
}
SIZE = {"question": "Which size?", "options": [{"label": "S"}], "multiSelect": True}


def request(name: str, number: str = "r1", **arguments: Any) -> dict[str, Any]:
    body = {"subtype": "can_use_tool", "tool_name": name, "input": arguments}
    whole = {**body, "tool_use_id": f"call of {number}"}
    return {"type": "control_request", "request_id": number, "request": whole}


def asks(steps: Sequence[Step]) -> list[Ask]:
    return [step for step in steps if isinstance(step, Ask)]


def ask_of(reader: Dialect, record: dict[str, Any]) -> Ask:
    steps = play(reader, [record])
    assert not [step for step in steps if isinstance(step, Write)]
    (ask,) = asks(steps)
    return ask


def answers(steps: Sequence[Step]) -> list[tuple[str, dict[str, Any]]]:
    """The answers to requests: their number, and what was said, in either's words as Claude's."""
    frames = [json.loads(step.data)["response"] for step in steps if isinstance(step, Write)]
    assert {frame["subtype"] for frame in frames} <= {"success"}
    return [(frame["request_id"], frame["response"]) for frame in frames]


def allowed(driver: Either, arguments: Any, number: str = "r1") -> dict[str, Any]:
    if isinstance(driver, Claude):
        return {"behavior": "allow", "updatedInput": arguments}
    call = f"call of {number}"
    return {"allowed": True, "updatedInput": arguments, "tool_use_id": call}


def denied(driver: Either, reason: str, *, interrupt: bool = False) -> dict[str, Any]:
    if isinstance(driver, Claude):
        told: dict[str, Any] = {"behavior": "deny", "message": reason}
        return {**told, "interrupt": True} if interrupt else told
    told = {"allowed": False, "reason": reason}
    return {**told, "interrupt": interrupt, "tool_use_id": "call of r1"}


def test_a_request_is_asked_and_not_answered_before_it_is_decided(driver: Either) -> None:
    reader = dialect(driver)
    play(reader, [INIT])
    record = request("Bash", command="ls")
    record["request"]["description"] = "List"

    ask = ask_of(reader, record)

    assert (ask.id, ask.kind, ask.tool, ask.call_id) == ("r1", "permission", "Bash", "call of r1")
    assert (ask.hosted, ask.arguments, ask.choices) == (False, {"command": "ls"}, ())
    assert ask.title.endswith("asks to use Bash: List")


@pytest.mark.parametrize(
    ("name", "tool", "hosted"),
    [
        (HOSTED, "lookup_issue", True),
        ("mcp__toolcribx__x", "toolcribx/x", False),
        ("xmcp__toolcrib__x", "xmcp__toolcrib__x", False),
        ("mcp__other__ExitPlanMode", "other/ExitPlanMode", False),
    ],
)
def test_hosted_tools_are_told_from_others(
    driver: Either, name: str, tool: str, hosted: bool
) -> None:
    ask = ask_of(dialect(driver), request(name))

    assert (ask.kind, ask.tool, ask.hosted) == ("permission", tool, hosted)
    assert not ask_of(dialect(driver, server=None), request(name)).hosted


def test_approved_calls_keep_their_arguments(driver: Either) -> None:
    reader = dialect(driver)
    ask = ask_of(reader, request(HOSTED, key="I-1"))

    assert answers(reader.decided(ask, YES)) == [("r1", allowed(driver, {"key": "I-1"}))]


@pytest.mark.parametrize("edited", [{"key": "I-2"}, {}])
def test_edited_arguments_take_the_place_of_the_models(driver: Either, edited: Any) -> None:
    reader = dialect(driver)
    ask = ask_of(reader, request(HOSTED, key="I-1"))

    steps = reader.decided(ask, Decision(approved=True, arguments=edited))

    assert answers(steps) == [("r1", allowed(driver, edited))]


@pytest.mark.parametrize("interrupt", [False, True])
def test_a_denial_tells_the_reason_and_whether_the_turn_ends(
    driver: Either, interrupt: bool
) -> None:
    reader = dialect(driver)
    ask = ask_of(reader, request("Bash"))

    steps = reader.decided(ask, Decision(approved=False, reason="No.", interrupt=interrupt))

    assert answers(steps) == [("r1", denied(driver, "No.", interrupt=interrupt))]
    (notice,) = events(steps)
    assert isinstance(notice, Notice)
    assert (notice.kind, notice.message) == ("provider.permission", "No.")


def test_a_denial_without_reason_has_one_for_the_model(driver: Either) -> None:
    reader = dialect(driver)
    ask = ask_of(reader, request("Bash"))

    steps = reader.decided(ask, Decision(approved=False))

    assert answers(steps) == [("r1", denied(driver, "It was not allowed."))]


def test_two_requests_wait_at_once_and_are_answered_in_any_order(driver: Either) -> None:
    reader = dialect(driver)
    first = ask_of(reader, request("Bash", command="a"))
    second = ask_of(reader, request("Bash", "r2", command="b"))

    assert answers(reader.decided(second, YES)) == [
        ("r2", allowed(driver, {"command": "b"}, "r2"))
    ]
    assert answers(reader.decided(first, YES)) == [("r1", allowed(driver, {"command": "a"}))]


def test_a_second_request_of_the_same_id_takes_both_back_and_allows_neither(
    driver: Either,
) -> None:
    reader = dialect(driver)
    first = ask_of(reader, request("Read", file_path="a"))

    steps = play(reader, [request("Bash", command="rm -rf /")])

    assert asks(steps) == []
    assert Withdraw("r1") in steps
    reason = "Another request with this id waits already."
    assert answers(steps) == [("r1", denied(driver, reason))]
    assert reader.decided(first, YES) == ()


def test_what_the_provider_takes_back_is_withdrawn_and_never_answered(driver: Either) -> None:
    reader = dialect(driver)
    ask = ask_of(reader, request("Bash"))
    cancel = {"type": "control_cancel_request", "request_id": "r1"}

    assert play(reader, [cancel]) == [Withdraw("r1")]
    assert play(reader, [cancel, {"type": "control_cancel_request"}]) == []
    assert reader.decided(ask, YES) == ()


def test_a_decision_counts_once(driver: Either) -> None:
    reader = dialect(driver)
    ask = ask_of(reader, request("Bash"))
    reader.decided(ask, YES)

    assert reader.decided(ask, Decision(approved=False)) == ()


def test_questions_are_asked_one_after_another_and_answered_together(driver: Either) -> None:
    reader = dialect(driver)
    questions = [COLOUR, SIZE]

    first = ask_of(reader, request("AskUserQuestion", questions=questions))
    (second,) = reader.decided(first, Decision(approved=True, answer="Blue"))
    assert isinstance(second, Ask)
    steps = reader.decided(second, Decision(approved=True, answer="S, L"))

    assert (first.kind, first.title, first.tool) == (
        "question",
        "Which colour?",
        "AskUserQuestion",
    )
    assert first.choices == (
        Choice(key="Red", label="Red", description="warm"),
        Choice(key="Blue", label="Blue"),
    )
    assert (first.arguments, second.arguments) == (COLOUR, SIZE)
    assert (first.id, second.id) == ("r1", "r1/2")
    answered = {"Which\ncolour?": "Blue", "Which size?": "S, L"}
    expected = {"questions": questions, "answers": answered}
    assert answers(steps) == [("r1", allowed(driver, expected))]


def test_one_denied_question_denies_them_all(driver: Either) -> None:
    reader = dialect(driver)
    first = ask_of(reader, request("AskUserQuestion", questions=[COLOUR, SIZE]))
    (second,) = asks(reader.decided(first, Decision(approved=True, answer="Blue")))

    steps = reader.decided(second, Decision(approved=False, reason="No."))

    assert answers(steps) == [("r1", denied(driver, "No."))]


def test_a_later_question_can_be_taken_back(driver: Either) -> None:
    reader = dialect(driver)
    first = ask_of(reader, request("AskUserQuestion", questions=[COLOUR, SIZE]))
    (second,) = asks(reader.decided(first, Decision(approved=True, answer="Blue")))

    cancel = {"type": "control_cancel_request", "request_id": "r1"}

    assert play(reader, [cancel]) == [Withdraw(second.id)]


@pytest.mark.parametrize("questions", [None, [], [7], [{"question": ""}], {"question": "x"}])
def test_a_question_without_a_question_is_denied_at_once(driver: Either, questions: Any) -> None:
    steps = play(dialect(driver), [request("AskUserQuestion", questions=questions)])

    assert asks(steps) == []
    assert answers(steps) == [("r1", denied(driver, "There is no question in it."))]


def test_a_plan_is_reviewed_as_the_provider_gives_it(driver: Either) -> None:
    reader = dialect(driver)

    ask = ask_of(reader, request("ExitPlanMode", plan="1. Do it."))

    assert (ask.kind, ask.tool) == ("plan_review", "ExitPlanMode")
    assert ask.arguments == {"plan": "1. Do it."}


def test_a_plan_in_a_file_is_told_and_not_sent_back(driver: Either) -> None:
    reader = dialect(driver)
    path = "/clone/profile/plans/calm-owl.md"
    written = said(
        use("w0", "Write", file_path="/repo/README.md", content="other"),
        use("w1", "Write", file_path=path, content="1. Run."),
        use("w2", "Edit", file_path=path, old_string="Run", new_string="Walk"),
        use("w3", "Edit", file_path="/other/plans/x.md", old_string="Walk", new_string="Swim"),
        use("w4", "mcp__x__Write", file_path=path, content="not its own"),
        use("w5", "Write", file_path=path, content=7),
    )
    play(reader, [INIT, written])

    ask = ask_of(reader, request("ExitPlanMode"))

    assert ask.arguments == {"plan": "1. Walk."}
    assert answers(reader.decided(ask, YES)) == [("r1", allowed(driver, {}))]


def test_a_denied_plan_ends_the_turn_of_codebuddy_alone() -> None:
    # It would wait for the next message of its user, and know nothing any more then.
    ended = {"type": "result", "subtype": "error_during_execution", "is_error": True}
    for driver, ends in ((Claude(), False), (CodeBuddy(), True)):
        reader = dialect(driver)
        play(reader, [INIT])
        ask = ask_of(reader, request("ExitPlanMode", plan="1."))

        steps = reader.decided(ask, Decision(approved=False, reason="Too short."))
        play(reader, [ended])
        outcome = reader.ended(CLEAN)

        assert answers(steps) == [("r1", denied(driver, "Too short.", interrupt=ends))]
        reason = RunReason.APPROVAL_DENIED if ends else RunReason.PROVIDER_FAILED
        assert outcome.reason == reason
        assert ("Too short." in outcome.message) is ends


@pytest.mark.parametrize("changes", [{"tool_name": 7}, {"input": 7}, {"tool_use_id": None}])
def test_a_malformed_request_is_asked_about_and_raises_nothing(
    driver: Either, changes: dict[str, Any]
) -> None:
    reader = dialect(driver)
    record = request("Bash")
    record["request"].update(changes)

    ask = ask_of(reader, record)

    assert ask.kind == "permission"
    assert len(answers(reader.decided(ask, YES))) == 1


def test_only_codebuddy_names_the_call_in_its_answers() -> None:
    for driver, names in ((Claude(), False), (CodeBuddy(), True)):
        reader = dialect(driver)
        ((_, body),) = answers(reader.decided(ask_of(reader, request("Bash")), YES))
        assert ("tool_use_id" in body) is names


def test_a_request_in_which_a_secret_was_masked_is_denied_and_never_sent_back(
    driver: Either,
) -> None:
    reader = dialect(driver)
    play(reader, [INIT])
    line = json.dumps(request("Bash", command="ls ***/src"))

    steps = reader.line(MaskedLine(line))

    assert asks(steps) == []
    reason = "It holds a secret of this run. Name the variable that has it instead."
    ((_, answer),) = answers(steps)
    assert answer == denied(driver, reason)
    assert "updatedInput" not in json.dumps(answer)
    assert len(asks(reader.line(line))) == 1
