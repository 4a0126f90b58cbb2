from __future__ import annotations

from typing import Any

import pytest

from toolcrib import CodeBuddy
from toolcrib.messages.results import RunReason
from toolcrib.messages.turn import ProcessExit
from toolcrib.runtime.drivers.interface import Finished, Stop

from .conftest import (
    CLEAN,
    DONE,
    INIT,
    SESSION,
    Either,
    Lines,
    dialect,
    events,
    outcome_of,
    play,
    said,
)

ENDED = ProcessExit(code=-15, stderr="", forced=True)
UNKNOWN = f"No conversation found with session ID: {SESSION}"
REFUSED = {
    "type": "result",
    "subtype": "error_during_execution",
    "is_error": True,
    "session_id": SESSION,
    "errors": [UNKNOWN],
}


@pytest.mark.parametrize(
    ("changes", "cause"),
    [
        ({"mcp_servers": [{"name": "toolcrib", "status": "failed"}]}, "as failed"),
        ({"mcp_servers": [{"name": "toolcrib", "status": "needs-auth"}]}, "as needs-auth"),
        ({"mcp_servers": [{"name": "toolcrib", "status": "pending"}]}, "as pending"),
        ({"mcp_servers": [{"name": "other", "status": "connected"}]}, "as unknown to it"),
        ({"mcp_servers": [{"name": "toolcrib"}, 7]}, "as in no known state"),
        ({"mcp_servers": None}, "as unknown to it"),
        (
            {
                "mcp_servers": [],
                "mcp_servers_unavailable": [{"name": "toolcrib", "status": "connecting"}],
            },
            "as connecting",
        ),
        # A server may be there before its tools are.
        ({"tools": ["Bash", "mcp__other__lookup_issue"]}, "does not offer lookup_issue"),
    ],
)
def test_a_session_without_the_hosted_tools_is_ended_with_the_cause(
    driver: Either, changes: dict[str, Any], cause: str
) -> None:
    reader = dialect(driver)

    steps = play(reader, [{**INIT, **changes}])
    later = play(reader, [said("I go on without."), DONE])

    assert steps[-1] == Stop()
    assert later == []
    outcome = reader.ended(ENDED)
    assert outcome.reason is RunReason.TOOLS_UNAVAILABLE
    assert cause in outcome.message
    assert f"{driver.provider}: it started without the Agent's tools" in outcome.message


def test_only_the_first_state_of_the_session_counts(driver: Either) -> None:
    lost = {**INIT, "mcp_servers": [{"name": "toolcrib", "status": "needs-auth"}]}

    assert outcome_of(driver, [INIT, lost, DONE]).ok


def test_an_agent_without_tools_needs_no_server(driver: Either) -> None:
    bare = {"type": "system", "subtype": "init", "session_id": SESSION, "mcp_servers": []}

    assert outcome_of(driver, [bare, DONE], server=None).ok


def test_a_record_that_does_not_tell_of_servers_is_not_held_against_it(driver: Either) -> None:
    old = {"type": "system", "subtype": "init", "session_id": SESSION}

    assert outcome_of(driver, [old, DONE]).ok


@pytest.mark.parametrize(
    ("lines", "exit", "reason", "part"),
    [
        ([INIT, said("a"), DONE], CLEAN, None, ""),
        ([INIT, said("a"), DONE], ENDED, None, ""),
        (
            [INIT, said("a"), DONE],
            ProcessExit(code=3, stderr="oh\n\n"),
            RunReason.PROVIDER_FAILED,
            "after it reported success (exit code 3). See its standard error.",
        ),
        (
            [INIT, said("a"), {**DONE, "is_error": True, "result": "API Error: 500"}],
            CLEAN,
            RunReason.PROVIDER_FAILED,
            "reported a failure: API Error: 500",
        ),
        (
            [INIT, said("a"), {**DONE, "subtype": "error_max_turns"}],
            CLEAN,
            RunReason.PROVIDER_FAILED,
            "error_max_turns",
        ),
        (
            [INIT, said("a"), {"type": "result", "subtype": "success"}],
            CLEAN,
            RunReason.PROVIDER_FAILED,
            "reported a failure",
        ),
        (
            [INIT, said("a"), {"type": "error", "error": {"message": "overloaded"}}],
            CLEAN,
            RunReason.PROVIDER_FAILED,
            "overloaded",
        ),
        ([INIT, said("a")], CLEAN, RunReason.PROVIDER_DIED, "before its result record"),
        (
            [INIT, said("a")],
            ProcessExit(code=-9, stderr=""),
            RunReason.PROVIDER_DIED,
            "(signal 9)",
        ),
        ([INIT, said("a"), '{"type"', DONE], CLEAN, RunReason.PROTOCOL_ERROR, "not valid JSON"),
        ([INIT, said("a"), "{" * 100_000], CLEAN, RunReason.PROTOCOL_ERROR, "not valid JSON"),
        # The end of a process that died may tear its last line.
        (
            [INIT, said("a"), '{"type"'],
            ProcessExit(code=-9, stderr=""),
            RunReason.PROVIDER_DIED,
            "signal 9",
        ),
    ],
)
def test_records_and_exit_code_are_judged_together(
    driver: Either, lines: Lines, exit: ProcessExit, reason: RunReason | None, part: str
) -> None:
    outcome = outcome_of(driver, lines, exit)

    assert outcome.reason is reason
    assert outcome.ok == (reason is None)
    assert part in outcome.message
    assert outcome.text == "a"


def test_an_error_record_ends_the_turn(driver: Either) -> None:
    steps = play(dialect(driver), [INIT, {"type": "error", "error": "oh"}])

    assert steps[-1] == Finished()


def test_an_unknown_conversation_is_told_from_other_failures(driver: Either) -> None:
    result = outcome_of(driver, [REFUSED], ProcessExit(code=1, stderr=UNKNOWN), resume=SESSION)
    error = outcome_of(driver, [{"type": "error", "error": UNKNOWN}], resume=SESSION)
    silent = outcome_of(driver, [], ProcessExit(code=1, stderr=f"x\n{UNKNOWN}\n"), resume=SESSION)

    lost = ProcessExit(code=0, stderr=f"{UNKNOWN}\n", known=False)
    unknown = outcome_of(driver, [], lost, resume=SESSION)

    for outcome in (result, error, silent, unknown):
        assert outcome.reason is RunReason.RESUME_REJECTED
        assert f"does not know conversation {SESSION}" in outcome.message


@pytest.mark.parametrize(
    ("lines", "stderr", "resume"),
    [
        ([REFUSED], "", None),
        ([INIT, said("a"), REFUSED], "", SESSION),
        ([{**REFUSED, "errors": [f"{UNKNOWN}0"]}], "", SESSION),
        ([{**REFUSED, "errors": [f"Login failed. {UNKNOWN}"]}], "", SESSION),
        ([{**REFUSED, "errors": ["401 session not found"]}], UNKNOWN, SESSION),
        ([], "error: session expired, log in", SESSION),
    ],
)
def test_nothing_else_costs_a_conversation(
    driver: Either, lines: Lines, stderr: str, resume: str | None
) -> None:
    outcome = outcome_of(driver, lines, ProcessExit(code=1, stderr=stderr), resume=resume)

    assert not outcome.ok
    assert outcome.reason is not RunReason.RESUME_REJECTED


def test_another_conversation_than_the_one_asked_for_is_a_fault(driver: Either) -> None:
    other = {**INIT, "session_id": "another"}

    outcome = outcome_of(driver, [other, DONE], resume=SESSION)

    assert outcome.reason is RunReason.PROTOCOL_ERROR
    assert "answered in another" in outcome.message


def test_a_refused_initialization_ends_the_process() -> None:
    reader = dialect(CodeBuddy())
    response = {"subtype": "error", "request_id": "toolcrib-initialize", "error": "no"}

    steps = play(reader, [{"type": "control_response", "response": response}])

    assert (steps, events(steps)) == ([Stop()], [])
    outcome = reader.ended(ENDED)
    assert outcome.reason is RunReason.PROTOCOL_ERROR
    assert "refused to be initialized: no" in outcome.message
