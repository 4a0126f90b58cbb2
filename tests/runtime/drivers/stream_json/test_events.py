from __future__ import annotations

import json
from typing import Any

import pytest

from toolcrib import Claude, CodeBuddy
from toolcrib.messages.events import (
    Notice,
    Subagent,
    TextDelta,
    Thinking,
    ToolCall,
    ToolResult,
)
from toolcrib.messages.results import Usage
from toolcrib.runtime.drivers.interface import Finished

from .conftest import (
    CLEAN,
    DONE,
    INIT,
    SESSION,
    Either,
    dialect,
    events,
    outcome_of,
    play,
    result,
    said,
    streamed,
    system,
    use,
)

ANSWER = [
    streamed("message_start", message={"id": "m1", "content": [{"type": "text", "text": "It"}]}),
    streamed("content_block_delta", delta={"type": "thinking_delta", "thinking": "Let me "}),
    streamed("content_block_delta", delta={"type": "thinking_delta", "thinking": "look."}),
    streamed("content_block_delta", delta={"type": "signature_delta", "signature": "x"}),
    streamed("content_block_stop"),
    streamed("content_block_delta", delta={"type": "text_delta", "text": ""}),
    streamed("content_block_delta", delta={"type": "text_delta", "text": "It is "}),
    streamed("content_block_delta", delta={"type": "text_delta", "text": "open."}),
    said({"type": "thinking", "thinking": "Let me look."}, "It is open."),
    streamed("content_block_stop"),
    streamed("message_stop"),
]


def test_a_streamed_answer_is_told_once_and_piece_by_piece(driver: Either) -> None:
    reader = dialect(driver)

    steps = play(reader, [INIT, *ANSWER, DONE])

    name = {"claude": "Claude Code", "codebuddy": "CodeBuddy"}[driver.provider]
    assert events(steps) == [
        Notice(
            kind="provider.session",
            message=f"{name} started its session.",
            data={"session_id": SESSION, "model": "m"},
        ),
        Thinking(text="Let me ", phase="start"),
        Thinking(text="look.", phase="delta"),
        Thinking(text="", phase="end"),
        TextDelta(text="It is ", message_id="m1", phase="start"),
        TextDelta(text="open.", message_id="m1", phase="delta"),
        TextDelta(text="", message_id="m1", phase="end"),
    ]
    assert steps[-1] == Finished()
    outcome = reader.ended(CLEAN)
    assert (outcome.ok, outcome.text, outcome.model) == (True, "It is open.", "m")
    assert (outcome.session_id, outcome.terminal) == (SESSION, DONE)


def test_an_answer_that_was_not_streamed_is_told_whole(driver: Either) -> None:
    reader = dialect(driver)

    steps = play(reader, [INIT, said("One."), said("Two.", message="m2"), DONE])

    assert events(steps)[1:] == [
        TextDelta(text="One.", message_id="m1", phase="start"),
        TextDelta(text="", message_id="m1", phase="end"),
        TextDelta(text="Two.", message_id="m2", phase="start"),
        TextDelta(text="", message_id="m2", phase="end"),
    ]
    assert reader.ended(CLEAN).text == "One.\n\nTwo."


def test_a_text_that_is_cut_off_is_closed_before_the_end(driver: Either) -> None:
    steps = play(dialect(driver), [INIT, *ANSWER[:7], DONE])

    assert events(steps)[-1] == TextDelta(text="", message_id="m1", phase="end")


def test_tool_calls_of_every_kind_become_pairs_of_events(driver: Either) -> None:
    lines = [
        INIT,
        said(use("c1", "mcp__toolcrib__lookup_issue", key="I-1"), use("c2", "Bash", command="ls")),
        said(use("c1", "mcp__toolcrib__lookup_issue", key="I-1")),
        result("c2", "denied", is_error=True),
        result("c1", [{"type": "text", "text": "a"}, {"type": "text", "text": "b"}]),
        result("c1", "again"),
        result("unknown", "x"),
        said(use("c3", "mcp__docs__find__all")),
        result("c3", [{"type": "image", "data": "…"}]),
        DONE,
    ]

    found = events(play(dialect(driver), lines))

    assert found[1:] == [
        ToolCall(call_id="c1", name="lookup_issue", arguments={"key": "I-1"}, hosted=True),
        ToolCall(call_id="c2", name="Bash", arguments={"command": "ls"}, hosted=False),
        ToolResult(call_id="c2", name="Bash", text="denied", is_error=True, hosted=False),
        ToolResult(call_id="c1", name="lookup_issue", text="a\nb", is_error=False, hosted=True),
        ToolCall(call_id="c3", name="docs/find__all", arguments={}, hosted=False),
        ToolResult(
            call_id="c3",
            name="docs/find__all",
            text='{"type": "image", "data": "…"}',
            is_error=False,
            hosted=False,
        ),
    ]


def _result_of(driver: Either, name: str, text: str) -> str:
    content = [{"type": "text", "text": text}]
    steps = play(dialect(driver), [INIT, said(use("c1", name)), result("c1", content)])
    (found,) = [event.text for event in events(steps) if isinstance(event, ToolResult)]
    return found


def test_codebuddy_wraps_results_of_servers_once_more() -> None:
    once = json.dumps([{"type": "text", "text": '{"state":"open"}'}])
    twice = json.dumps([{"type": "text", "text": once}])
    hosted = "mcp__toolcrib__lookup_issue"

    assert _result_of(CodeBuddy(), hosted, once) == '{"state":"open"}'
    # A tool may return such a list itself; only the provider's wrapping goes.
    assert _result_of(CodeBuddy(), hosted, twice) == once
    assert _result_of(CodeBuddy(), "Bash", once) == once
    assert _result_of(Claude(), hosted, once) == once


@pytest.mark.parametrize("text", ["[1]", "[", "[" * 100_000, "{}", "no JSON"])
def test_a_result_that_is_not_wrapped_stays_as_it_is(text: str) -> None:
    assert _result_of(CodeBuddy(), "mcp__toolcrib__lookup_issue", text) == text


def test_an_agent_that_works_in_front_starts_speaks_and_ends(driver: Either) -> None:
    agent = use("c1", "Agent", prompt="Look.", subagent_type="Explore")
    inner = use("c2", "mcp__toolcrib__lookup_issue")
    lines: list[dict[str, Any]] = [
        INIT,
        said(agent),
        # CodeBuddy names a conversation of the agent's own.
        {**INIT, "session_id": "another", "tools": []},
        said(inner, message="m2", parent_tool_use_id="c1"),
        {**result("c2", "T"), "parent_tool_use_id": "c1"},
        {**streamed("content_block_delta", delta={"text": "F"}), "parent_tool_use_id": "c1"},
        said("Found.", message="m3", parent_tool_use_id="c1"),
        result("c1", "Report"),
        said("Done.", message="m4"),
        DONE,
    ]
    reader = dialect(driver)

    found = [event for event in events(play(reader, lines)) if not isinstance(event, TextDelta)]

    assert found[1:] == [
        ToolCall(call_id="c1", name="Agent", arguments=agent["input"], hosted=False),
        Subagent(agent_id="c1", name="Explore", kind="started", text="Look."),
        ToolCall(call_id="c2", name="lookup_issue", arguments={}, hosted=True),
        ToolResult(call_id="c2", name="lookup_issue", text="T", is_error=False, hosted=True),
        Subagent(agent_id="c1", name="Explore", kind="delta", text="Found."),
        Subagent(agent_id="c1", name="Explore", kind="finished", text="Report"),
        ToolResult(call_id="c1", name="Agent", text="Report", is_error=False, hosted=False),
    ]
    outcome = reader.ended(CLEAN)
    assert (outcome.text, outcome.session_id) == ("Done.", SESSION)


def test_an_agent_goes_by_the_id_of_its_task_and_ends_with_it() -> None:
    lines = [
        INIT,
        said(use("c1", "Task", description="Look.", subagent_type="Explore")),
        system("task_started", task_id="t1", tool_use_id="c1", is_backgrounded=True),
        result("c1", "Launched."),
        system("task_progress", task_id="t1", tool_use_id="c1"),
        system("task_notification", task_id="t1", status="completed", summary="Found."),
        DONE,
    ]

    agents = [e for e in events(play(dialect(Claude()), lines)) if isinstance(e, Subagent)]

    assert agents == [
        Subagent(agent_id="t1", name="Explore", kind="started", text="Look."),
        Subagent(agent_id="t1", name="Explore", kind="finished", text="Found."),
    ]


def test_an_agent_that_is_left_ends_with_the_turn(driver: Either) -> None:
    lines = [INIT, said("Hm.", parent_tool_use_id="c9"), DONE]

    found = events(play(dialect(driver), lines))

    assert found[1:] == [
        Subagent(agent_id="c9", name="agent", kind="started", text=""),
        Subagent(agent_id="c9", name="agent", kind="delta", text="Hm."),
        Subagent(agent_id="c9", name="agent", kind="finished", text=""),
    ]


@pytest.mark.parametrize(
    "record",
    [
        {"type": "brand_new", "a": 1},
        {"type": "system", "subtype": "brand_new"},
        {"type": "assistant"},
        {"type": "assistant", "message": {"content": 7}},
        {"type": "user", "message": "x"},
        {"type": "stream_event", "event": 1},
        {"no": "type"},
        {"type": ["x"]},
    ],
)
def test_an_unknown_record_is_a_notice_and_changes_nothing(
    driver: Either, record: dict[str, Any]
) -> None:
    reader = dialect(driver)

    found = events(play(reader, [INIT, record, DONE]))

    (notice,) = found[1:]
    assert isinstance(notice, Notice)
    assert (notice.kind, notice.data) == ("provider.record", record)
    assert reader.ended(CLEAN).ok


@pytest.mark.parametrize(
    "quiet",
    [
        "",
        "   ",
        system("status", status=None, __timestamp="x"),
        system("mcp_status", event="start"),
        {"type": "file-history-snapshot"},
        {"type": "control_cancel_request", "request_id": "r"},
        {"type": "user", "message": {"content": "Hi"}, "isReplay": True},
        said({"type": "redacted_thinking"}, {"type": "tool_use", "id": 1}),
        streamed("content_block_delta", delta=None),
        streamed("message_start", message=None),
        result("c1", None),
    ],
)
def test_what_says_nothing_to_a_host_is_no_event(driver: Either, quiet: Any) -> None:
    assert events(play(dialect(driver), [INIT, quiet]))[1:] == []


def test_a_line_that_is_no_record_is_a_notice(driver: Either) -> None:
    (notice,) = events(play(dialect(driver), ["warming up"]))

    assert isinstance(notice, Notice)
    assert (notice.kind, notice.data) == ("provider.output", {"line": "warming up"})


def test_what_the_cli_says_in_the_models_place_is_no_answer() -> None:
    record = said("API Error: 400")
    record["message"]["model"] = "<synthetic>"
    reader = dialect(Claude())

    found = events(play(reader, [INIT, record, {**DONE, "is_error": True, "result": "API Error"}]))

    assert [event.kind for event in found if isinstance(event, Notice)][1:] == ["provider.message"]
    assert reader.ended(CLEAN).text == ""


def test_the_answer_falls_back_on_the_result(driver: Either) -> None:
    assert outcome_of(driver, [INIT, {**DONE, "result": "It is open."}]).text == "It is open."


def test_claude_counts_what_a_cache_knew_beside_the_input() -> None:
    counts = {"input_tokens": 8, "cache_read_input_tokens": 3, "cache_creation_input_tokens": 1}
    lines = [
        INIT,
        {**DONE, "usage": {**counts, "output_tokens": 5}},
        {**DONE, "usage": {**counts, "output_tokens": 6}},
    ]

    usage = outcome_of(Claude(), lines).usage

    assert usage == Usage(input_tokens=24, output_tokens=11, cached_tokens=6)


def test_codebuddy_counts_a_conversation_so_the_messages_are_added_up() -> None:
    counts = {"input_tokens": 11, "cache_read_input_tokens": 3, "output_tokens": 5}
    empty = {"input_tokens": 0, "output_tokens": 0}
    first, again = said("a"), said("b", message="m2")
    first["message"]["usage"], again["message"]["usage"] = counts, empty
    lines = [
        INIT,
        first,
        first,
        streamed("message_start", message={"id": "m2"}),
        streamed("message_delta", usage=counts),
        again,
        {**DONE, "usage": {"input_tokens": 900, "output_tokens": 900}},
    ]

    usage = outcome_of(CodeBuddy(), lines).usage

    assert usage == Usage(input_tokens=22, output_tokens=10, cached_tokens=6)


@pytest.mark.parametrize("counts", [None, 1, {}, {"input_tokens": "x"}, {"output_tokens": True}])
def test_no_usage_is_not_zero(counts: Any) -> None:
    assert outcome_of(Claude(), [INIT, {**DONE, "usage": counts}]).usage is None
