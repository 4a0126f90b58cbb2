from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

from toolcrib.messages.events import (
    Event,
    Notice,
    Subagent,
    TextDelta,
    Thinking,
    ToolCall,
    ToolResult,
)
from toolcrib.messages.results import RunReason, Usage
from toolcrib.messages.turn import ProcessExit, TurnOutcome
from toolcrib.runtime.drivers.cursor.dialect import CursorDialect
from toolcrib.runtime.drivers.interface import CloseInput, Emit, Finished, Step, Write

CLEAN = ProcessExit(code=0, stderr="")
INIT = {"type": "system", "subtype": "init", "session_id": "s1", "model": "m"}
DONE = {
    "type": "result",
    "subtype": "success",
    "is_error": False,
    "result": "",
    "session_id": "s1",
}


def dialect(*, resume: str | None = None, server_key: str | None = "toolcrib") -> CursorDialect:
    return CursorDialect(command="agent", prompt="Hi", server_key=server_key, resume=resume)


def recorded(name: str) -> list[str]:
    return (Path(__file__).parent / "records" / f"{name}.jsonl").read_text().splitlines()


def play(reader: CursorDialect, lines: Sequence[str | dict[str, Any]]) -> list[Step]:
    texts = [line if isinstance(line, str) else json.dumps(line) for line in lines]
    return [step for text in texts for step in reader.line(text)]


def events(steps: Sequence[Step]) -> list[Event]:
    return [step.event for step in steps if isinstance(step, Emit)]


def said(text: str, session: str = "s1") -> dict[str, Any]:
    content = [{"type": "text", "text": text}]
    return {"type": "assistant", "message": {"content": content}, "session_id": session}


def call(call_id: str, subtype: str, **variants: Any) -> dict[str, Any]:
    return {"type": "tool_call", "subtype": subtype, "call_id": call_id, "tool_call": variants}


def outcome_of(
    lines: Sequence[str | dict[str, Any]],
    exit: ProcessExit = CLEAN,
    *,
    resume: str | None = None,
) -> TurnOutcome:
    reader = dialect(resume=resume)
    play(reader, lines)
    return reader.ended(exit)


def test_the_prompt_is_written_and_the_input_closed() -> None:
    reader = CursorDialect(command="agent", prompt="Grüße \ud800", server_key=None, resume=None)

    assert reader.opening() == (Write("Grüße ?".encode()), CloseInput())


def test_a_plain_answer_becomes_events_and_a_success() -> None:
    reader = dialect()

    steps = play(reader, recorded("happy"))

    assert events(steps) == [
        Notice(
            kind="provider.session",
            message="Cursor started its session.",
            data={"session_id": "s1", "model": "Auto"},
        ),
        Thinking(text="Let me ", phase="start"),
        Thinking(text="look.", phase="delta"),
        Thinking(text="", phase="end"),
        TextDelta(text="It is ", phase="start"),
        TextDelta(text="open.", phase="delta"),
        TextDelta(text="", phase="end"),
    ]
    assert steps[-1] == Finished()
    assert steps.count(Finished()) == 1
    assert reader.ended(CLEAN) == TurnOutcome(
        ok=True,
        text="It is open.",
        model="Auto",
        usage=Usage(input_tokens=7, output_tokens=3),
        session_id="s1",
        terminal=json.loads(recorded("happy")[-1]),
    )


def test_tool_calls_of_every_kind_become_pairs_of_events() -> None:
    reader = dialect()
    lookup = "call_X\nfc_Y"

    found = events(play(reader, recorded("tools")))

    assert [event for event in found if not isinstance(event, Notice)] == [
        TextDelta(text="First. ", phase="start"),
        TextDelta(text="", phase="end"),
        ToolCall(call_id=lookup, name="lookup_issue", arguments={"key": "ISSUE-42"}, hosted=True),
        ToolResult(
            call_id=lookup, name="lookup_issue", text='{"title":"T"}', is_error=False, hosted=True
        ),
        ToolCall(call_id="c2", name="docs/search", arguments={}, hosted=False),
        ToolResult(call_id="c2", name="docs/search", text="rejected", is_error=True, hosted=False),
        ToolCall(call_id="c3", name="shell", arguments={"command": "ls"}, hosted=False),
        ToolResult(
            call_id="c3",
            name="shell",
            text='{"exitCode": 0, "stdout": "a\\n"}',
            is_error=False,
            hosted=False,
        ),
        ToolCall(call_id="c4", name="read", arguments={"path": "a"}, hosted=False),
        ToolResult(call_id="c4", name="read", text="no such file", is_error=True, hosted=False),
        ToolCall(call_id="c5", name="glob", arguments={"globPattern": "*"}, hosted=False),
        ToolCall(call_id="c6", name="edit", arguments={"path": "b"}, hosted=False),
        ToolResult(
            call_id="c6", name="edit", text='{"linesAdded": 1}', is_error=False, hosted=False
        ),
        ToolResult(
            call_id="c5", name="glob", text='{"files": ["a", "b"]}', is_error=False, hosted=False
        ),
        ToolCall(
            call_id="c7",
            name="task",
            arguments={
                "description": "Review",
                "prompt": "Review it.",
                "subagentType": {"custom": {"name": "reviewer"}},
                "model": "m",
                "agentId": "a7",
            },
            hosted=False,
        ),
        Subagent(agent_id="a7", name="reviewer", kind="started", text="Review it."),
        Subagent(agent_id="a7", name="reviewer", kind="finished", text="Fine."),
        ToolResult(call_id="c7", name="task", text="Fine.", is_error=False, hosted=False),
        TextDelta(text="Second.", phase="start"),
        TextDelta(text="", phase="end"),
    ]
    outcome = reader.ended(CLEAN)
    assert outcome.ok
    assert outcome.text == "First. Second."
    assert outcome.usage is None


def test_call_ids_are_compared_as_they_are() -> None:
    read = {"args": {}, "result": {"success": "x"}}
    records = [
        call("a\nb", "started", readToolCall=read),
        call("a b", "started", readToolCall=read),
        call("a\nb", "completed", readToolCall=read),
    ]

    found = events(play(dialect(), records))

    assert [type(event).__name__ for event in found] == ["ToolCall", "ToolCall", "ToolResult"]
    assert isinstance(found[-1], ToolResult)
    assert found[-1].call_id == "a\nb"


def test_a_completion_without_a_start_still_makes_a_pair_and_a_repetition_none() -> None:
    record = call("c", "completed", readToolCall={"args": {}, "result": {"success": "x"}})
    started = call("c", "started", readToolCall={"args": {}})

    found = events(play(dialect(), [record, record, started]))

    assert found == [
        ToolCall(call_id="c", name="read", arguments={}, hosted=False),
        ToolResult(call_id="c", name="read", text="x", is_error=False, hosted=False),
    ]


def mcp(**args: Any) -> dict[str, Any]:
    return {"args": {"args": {}, **args}}


@pytest.mark.parametrize(
    ("args", "name", "hosted"),
    [
        ({"name": "toolcrib-a-b"}, "a-b", True),
        ({"name": "other-toolcrib-a"}, "other-toolcrib-a", False),
        ({"name": "x-y", "providerIdentifier": "x"}, "x/y", False),
        ({"name": "toolcrib-a", "providerIdentifier": "x", "toolName": "a"}, "x/a", False),
        ({"serverIdentifier": "toolcrib", "toolName": "a"}, "a", True),
    ],
)
def test_whose_tool_it_is_comes_from_the_server(
    args: dict[str, Any], name: str, hosted: bool
) -> None:
    found = events(play(dialect(), [call("c", "started", mcpToolCall=mcp(**args))]))

    assert found == [ToolCall(call_id="c", name=name, arguments={}, hosted=hosted)]


def test_without_tools_of_ours_nothing_is_hosted() -> None:
    record = call("c", "started", mcpToolCall=mcp(providerIdentifier="toolcrib", toolName="a"))

    found = events(play(dialect(server_key=None), [record]))

    assert found == [ToolCall(call_id="c", name="toolcrib/a", arguments={}, hosted=False)]


@pytest.mark.parametrize(
    ("result", "text", "is_error"),
    [
        (
            {"success": {"content": [{"text": {"text": "a"}}, {"text": "b"}], "isError": True}},
            "a\nb",
            True,
        ),
        ({"success": {"content": [{"image": {}}], "isError": False}}, '{"image": {}}', False),
        ({"success": {"content": []}, "error": None}, "", False),
        ({"error": {"error": "boom"}}, "boom", True),
        ({"error": "boom"}, "boom", True),
        ({"rejected": {"reason": "user said no"}}, "user said no", True),
        ({"permissionDenied": {}}, "permissionDenied", True),
        (None, "", False),
        ({}, "", False),
    ],
)
def test_results_keep_their_text_and_their_failure(result: Any, text: str, is_error: bool) -> None:
    body = {**mcp(providerIdentifier="toolcrib", toolName="a"), "result": result}

    found = events(play(dialect(), [call("c", "completed", mcpToolCall=body)]))

    assert found[-1] == ToolResult(
        call_id="c", name="a", text=text, is_error=is_error, hosted=True
    )


def test_an_agent_without_a_name_or_an_id_is_still_told() -> None:
    args = {"prompt": "Do it.", "subagentType": {"unspecified": {}}}

    found = events(play(dialect(), [call("c9", "started", taskToolCall={"args": args})]))

    assert found[-1] == Subagent(agent_id="c9", name="unspecified", kind="started", text="Do it.")


def test_what_is_unknown_is_a_notice_and_ends_no_run() -> None:
    reader = dialect()
    lines = recorded("unknown")

    found = events(
        play(reader, [INIT, *lines, "A plain line", "", "  ", said("Still here."), DONE])
    )

    notices = [event for event in found if isinstance(event, Notice)][1:]
    assert [notice.kind for notice in notices] == ["provider.record"] * len(lines) + [
        "provider.output"
    ]
    assert [dict(notice.data) for notice in notices[:-1]] == [json.loads(line) for line in lines]
    assert notices[-1].data == {"line": "A plain line"}
    assert "brand_new" in notices[0].message
    outcome = reader.ended(CLEAN)
    assert outcome.ok
    assert outcome.text == "Still here."


def test_a_long_line_of_garbage_is_shown_in_part() -> None:
    (notice,) = events(play(dialect(), ["x" * 1_000_000]))

    assert isinstance(notice, Notice)
    assert len(notice.data["line"]) == 2000


@pytest.mark.parametrize(
    "line",
    ["{", '{"type":', "{}}", "{'type': 1}", '{"a":' + "[" * 100_000, '{"n": ' + "9" * 5000 + "}"],
)
def test_a_record_that_is_not_json_fails_the_turn_and_keeps_its_text(line: str) -> None:
    outcome = outcome_of([INIT, said("Half"), line, DONE])

    assert not outcome.ok
    assert outcome.reason is RunReason.PROTOCOL_ERROR
    assert "not valid JSON" in outcome.message
    assert outcome.text == "Half"


def test_a_record_after_the_terminal_one_fails_the_turn() -> None:
    reader = dialect()
    play(reader, [INIT, DONE])

    assert play(reader, [said("More"), DONE]) == []

    outcome = reader.ended(CLEAN)
    assert outcome.reason is RunReason.PROTOCOL_ERROR
    assert "after its result record" in outcome.message
    assert outcome.text == ""


def test_plain_output_after_the_terminal_record_is_only_a_notice() -> None:
    assert outcome_of([INIT, DONE, "Goodbye."]).ok


@pytest.mark.parametrize("session", ["s2", "", 7])
def test_a_session_id_that_changes_fails_the_turn(session: Any) -> None:
    outcome = outcome_of([INIT, {**said("x"), "session_id": session}, DONE])

    assert outcome.reason is RunReason.PROTOCOL_ERROR
    assert "session id" in outcome.message


@pytest.mark.parametrize("missing", ["subtype", "is_error", "result"])
def test_a_result_record_with_something_missing_fails_the_turn(missing: str) -> None:
    record = {name: value for name, value in DONE.items() if name != missing}

    outcome = outcome_of([INIT, record])

    assert outcome.reason is RunReason.PROTOCOL_ERROR
    assert missing in outcome.message
    assert outcome.terminal == record


def test_a_reported_failure_keeps_the_partial_text() -> None:
    outcome = outcome_of(recorded("failure"))

    assert outcome.reason is RunReason.PROVIDER_FAILED
    assert "The model is overloaded." in outcome.message
    assert outcome.text == "Half"
    assert outcome.session_id == "s1"


@pytest.mark.parametrize("fields", [{"subtype": "error_max_turns"}, {"is_error": True}])
def test_success_needs_both_the_subtype_and_no_error(fields: dict[str, Any]) -> None:
    assert outcome_of([INIT, {**DONE, **fields}]).reason is RunReason.PROVIDER_FAILED


def test_a_failing_exit_after_success_fails_the_turn() -> None:
    exit = ProcessExit(code=3, stderr="one\nlast words\n\n")

    outcome = outcome_of([INIT, said("All"), DONE], exit)

    assert outcome.reason is RunReason.PROVIDER_FAILED
    assert outcome.text == "All"
    for part in ("agent", "exit code 3", "last words"):
        assert part in outcome.message
    assert "one" not in outcome.message


def test_an_end_that_was_forced_after_success_is_a_success() -> None:
    assert outcome_of([INIT, DONE], ProcessExit(code=-9, stderr="", forced=True)).ok


def test_a_forced_end_without_a_result_is_none() -> None:
    outcome = outcome_of([INIT, said("Half")], ProcessExit(code=-9, stderr="", forced=True))

    assert outcome.reason is RunReason.PROVIDER_DIED
    assert outcome.text == "Half"


@pytest.mark.parametrize(
    ("code", "shown"), [(0, "exit code 0"), (7, "exit code 7"), (-9, "signal 9")]
)
def test_an_end_without_a_result_record_says_so(code: int, shown: str) -> None:
    exit = ProcessExit(code=code, stderr="Please log in " + "x" * 1000)

    outcome = outcome_of([INIT, said("Half")], exit)

    assert outcome.reason is RunReason.PROVIDER_DIED
    assert outcome.text == "Half"
    assert shown in outcome.message
    assert "Please log in" in outcome.message
    assert len(outcome.message) < 700


def test_a_line_torn_by_the_process_s_death_is_not_blamed_on_the_protocol() -> None:
    torn: list[str | dict[str, Any]] = [INIT, said("Half"), '{"type":"assi']

    assert outcome_of(torn, ProcessExit(code=-9, stderr="")).reason is RunReason.PROVIDER_DIED
    assert outcome_of(torn, CLEAN).reason is RunReason.PROTOCOL_ERROR
    assert (
        outcome_of([*torn, "more"], ProcessExit(code=-9, stderr="")).reason
        is RunReason.PROTOCOL_ERROR
    )


def test_without_pieces_the_result_is_the_text() -> None:
    assert outcome_of([INIT, {**DONE, "result": "All of it"}]).text == "All of it"


def test_the_same_conversation_is_resumed() -> None:
    assert outcome_of([INIT, DONE], resume="s1").ok


def test_a_resume_that_is_answered_in_another_conversation_fails() -> None:
    outcome = outcome_of([INIT, DONE], resume="s0")

    assert outcome.reason is RunReason.PROTOCOL_ERROR
    assert "s0" in outcome.message
    assert "s1" in outcome.message
    assert "Start a new thread" in outcome.message


@pytest.mark.parametrize(
    "stderr",
    [
        "Error: Conversation not found: s0",
        "Error: Chat s0 not found",
        "noise\nNo chat found with ID s0\n",
        "error: could not find session 's0'",
        'Conversation with id "s0" does not exist.',
        "No conversation found",
    ],
)
def test_an_unknown_conversation_is_told_apart(stderr: str) -> None:
    known, lost = (
        ProcessExit(code=1, stderr=stderr),
        ProcessExit(code=0, stderr=stderr, known=False),
    )
    for exit in (known, lost):
        outcome = outcome_of([], exit, resume="s0")

        assert outcome.reason is RunReason.RESUME_REJECTED
        assert "s0" in outcome.message


@pytest.mark.parametrize(
    "stderr",
    [
        "Error: getaddrinfo ENOTFOUND api.example.com while resuming chat s0",
        "Error: host not found while loading chat s0",
        "Invalid session token, please log in",
        "Session expired",
        "Model not found: x",
        "Chat s1 not found",
        "",
    ],
)
def test_other_failures_do_not_cost_a_conversation(stderr: str) -> None:
    outcome = outcome_of([], ProcessExit(code=1, stderr=stderr), resume="s0")

    assert outcome.reason is RunReason.PROVIDER_DIED


def test_a_prompt_that_was_worked_on_was_not_rejected() -> None:
    exit = ProcessExit(code=1, stderr="Conversation not found: s1")

    assert outcome_of([INIT, said("x")], exit, resume="s1").reason is RunReason.PROVIDER_DIED
    assert outcome_of([], exit).reason is RunReason.PROVIDER_DIED
    clean = ProcessExit(code=0, stderr=exit.stderr)
    assert outcome_of([], clean, resume="s1").reason is RunReason.PROVIDER_DIED


@pytest.mark.parametrize(
    ("usage", "expected"),
    [
        ({"inputTokens": 0, "outputTokens": 2}, Usage(input_tokens=0, output_tokens=2)),
        ({"cacheReadTokens": 5}, Usage(cached_tokens=5)),
        ({"inputTokens": True, "outputTokens": -1}, None),
        ({}, None),
        ("many", None),
    ],
)
def test_tokens_that_are_not_told_are_unknown(usage: Any, expected: Usage | None) -> None:
    assert outcome_of([INIT, {**DONE, "usage": usage}]).usage == expected
