from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any

import pytest

from toolcrib.messages.events import (
    Notice,
    Subagent,
    TextDelta,
    Thinking,
    ToolCall,
    ToolResult,
)
from toolcrib.runtime.drivers.interface import CloseInput, Emit, Finished, Write

from .play import DONE, START, dialect, events, item, play


def mcp(**fields: Any) -> dict[str, Any]:
    call = {"server": "toolcrib", "tool": "lookup_issue", "arguments": {"key": "A"}}
    return {"type": "mcp_tool_call", **call, "result": None, "error": None, **fields}


def test_the_prompt_is_written_and_the_input_closed() -> None:
    reader = dialect(prompt="Grüße \ud800")

    assert reader.opening() == (Write("Grüße ?".encode()), CloseInput())


def test_a_plain_answer_becomes_events_and_the_turn_is_finished() -> None:
    records = [
        START,
        {"type": "turn.started"},
        item("i0", type="reasoning", text="Let me look."),
        item("i1", type="agent_message", text="It is open."),
        DONE,
    ]

    steps = play(dialect(), records)

    assert steps == [
        Emit(
            Notice(
                kind="provider.session",
                message="Codex started its session.",
                data={"session_id": START["thread_id"]},
            )
        ),
        Emit(Thinking(text="Let me look.", phase="start")),
        Emit(Thinking(text="", phase="end")),
        Emit(TextDelta(text="It is open.", message_id="i1", phase="start")),
        Emit(TextDelta(text="", message_id="i1", phase="end")),
        Finished(),
    ]


def test_a_message_is_told_once_however_often_it_is_recorded() -> None:
    message = {"type": "agent_message", "text": "It is open."}
    records = [
        item("i0", "started", **{**message, "text": ""}),
        item("i0", "updated", **message),
        item("i0", **message),
    ]

    found = events(play(dialect(), records))

    assert [event.text for event in found if isinstance(event, TextDelta)] == ["It is open.", ""]


def test_a_hosted_call_is_told_by_its_bare_name() -> None:
    result = {"content": [{"type": "text", "text": '{"a": 1}'}], "structured_content": {"a": 1}}
    records = [
        item("i0", "started", **mcp(status="in_progress")),
        item("i0", **mcp(status="completed", result=result)),
    ]

    assert events(play(dialect(), records)) == [
        ToolCall(call_id="i0", name="lookup_issue", arguments={"key": "A"}, hosted=True),
        ToolResult(
            call_id="i0", name="lookup_issue", text='{"a": 1}', is_error=False, hosted=True
        ),
    ]


@pytest.mark.parametrize(
    ("fields", "text", "is_error"),
    [
        ({"status": "completed", "result": {"content": [], "structured_content": 3}}, "3", False),
        ({"status": "completed", "result": None}, "", False),
        (
            {"status": "completed", "result": {"content": [{"type": "text", "text": "a"}, 1]}},
            "a\n1",
            False,
        ),
        (
            {"status": "failed", "result": {"content": [{"type": "text", "text": "bad key"}]}},
            "bad key",
            True,
        ),
        ({"status": "failed", "error": {"message": "timed out"}}, "timed out", True),
        ({"status": "failed", "error": "odd"}, "odd", True),
    ],
)
def test_a_result_keeps_its_text_and_its_failure(
    fields: dict[str, Any], text: str, is_error: bool
) -> None:
    found = events(play(dialect(), [item("i0", **mcp(**fields))]))

    assert found[-1] == ToolResult(
        call_id="i0", name="lookup_issue", text=text, is_error=is_error, hosted=True
    )


@pytest.mark.parametrize(("key", "server"), [("toolcrib", "docs"), (None, "toolcrib")])
def test_a_tool_of_another_server_is_named_with_it(key: str | None, server: str) -> None:
    (call,) = events(play(dialect(server_key=key), [item("i0", "started", **mcp(server=server))]))

    assert isinstance(call, ToolCall)
    assert (call.name, call.hosted) == (f"{server}/lookup_issue", False)


@pytest.mark.parametrize(
    ("fields", "name", "arguments", "text", "is_error"),
    [
        (
            {
                "type": "command_execution",
                "command": "bash -lc ls",
                "aggregated_output": "a\n",
                "exit_code": 0,
                "status": "completed",
            },
            "shell",
            {"command": "bash -lc ls"},
            "a\n",
            False,
        ),
        (
            {"type": "command_execution", "command": "x", "exit_code": 1, "status": "failed"},
            "shell",
            {"command": "x"},
            "",
            True,
        ),
        (
            {"type": "command_execution", "command": "x", "status": "declined"},
            "shell",
            {"command": "x"},
            "",
            True,
        ),
        (
            {
                "type": "file_change",
                "changes": [{"path": "/a", "kind": "add"}, {"path": "/b", "kind": "delete"}],
                "status": "completed",
            },
            "apply_patch",
            {"changes": [{"path": "/a", "kind": "add"}, {"path": "/b", "kind": "delete"}]},
            "add /a\ndelete /b",
            False,
        ),
        ({"type": "web_search", "query": "q"}, "web_search", {"query": "q"}, "", False),
    ],
)
def test_a_tool_of_codex_itself_becomes_a_pair_of_events(
    fields: dict[str, Any], name: str, arguments: dict[str, Any], text: str, is_error: bool
) -> None:
    records = [item("i0", "started", **fields), item("i0", "updated", **fields)]

    found = events(play(dialect(), [*records, item("i0", **fields)]))

    assert found == [
        ToolCall(call_id="i0", name=name, arguments=arguments, hosted=False),
        ToolResult(call_id="i0", name=name, text=text, is_error=is_error, hosted=False),
    ]


def test_a_search_that_names_its_id_twice_is_still_a_pair() -> None:
    # As the CLI prints it: the second id is that of the model's server.
    line = '{"type":"item.%s","item":{"id":"i0","type":"web_search","id":"ws1","query":"q"}}'

    found = events(play(dialect(), [line % "started", line % "completed"]))

    assert [type(event).__name__ for event in found] == ["ToolCall", "ToolResult"]


def test_a_completion_without_a_start_still_makes_a_pair_and_a_repetition_none() -> None:
    record = item("i0", **mcp(status="completed"))

    found = events(play(dialect(), [record, record]))

    assert [type(event).__name__ for event in found] == ["ToolCall", "ToolResult"]


def test_agents_of_codex_are_told_as_they_start_and_finish() -> None:
    spawn = {"type": "collab_tool_call", "tool": "spawn_agent", "prompt": "Review it."}
    wait = {"type": "collab_tool_call", "tool": "wait", "receiver_thread_ids": ["a7"]}
    new = {"receiver_thread_ids": ["a7"], "agents_states": {"a7": {"status": "pending_init"}}}
    end = {"agents_states": {"a7": {"status": "completed", "message": "Fine."}}}
    records = [
        item("i0", "started", **spawn, receiver_thread_ids=[], agents_states={}),
        item("i0", **spawn, **new, status="completed"),
        item("i1", **wait, **end, status="completed"),
        item("i2", **{**wait, "tool": "close_agent"}, **end, status="completed"),
    ]

    found = events(play(dialect(), records))

    assert [event for event in found if isinstance(event, Subagent)] == [
        Subagent(agent_id="a7", name="agent", kind="started", text="Review it."),
        Subagent(agent_id="a7", name="agent", kind="finished", text="Fine."),
    ]
    calls = [event.name for event in found if isinstance(event, ToolCall)]
    assert calls == ["spawn_agent", "wait", "close_agent"]
    results = [event.text for event in found if isinstance(event, ToolResult)]
    assert results == ["", "Fine.", "Fine."]


def test_a_plan_and_a_warning_are_notices() -> None:
    steps = [{"text": "Look", "completed": True}]
    records = [
        item("i0", "updated", type="todo_list", items=steps),
        item("i1", type="error", message="Unknown model."),
    ]

    plan, warning = events(play(dialect(), records))

    assert plan == Notice(kind="provider.plan", message="Codex has a plan.", data={"steps": steps})
    assert isinstance(warning, Notice)
    assert (warning.kind, warning.message) == ("provider.warning", "Unknown model.")


def test_what_is_unknown_is_a_notice_and_ends_no_run() -> None:
    records: list[dict[str, Any]] = [
        {"type": "brand_new", "x": 1},
        {"no": "type"},
        {"type": 7},
        {"type": "item.completed"},
        {"type": "item.completed", "item": []},
        {"type": "item.completed", "item": {"type": "agent_message", "text": "no id"}},
        item("i0", type="brand_new_item"),
        item("i1", type="agent_message", text=3),
        item("i2", type="error"),
        item("i3", type="todo_list", items="x"),
    ]

    found = events(play(dialect(), [*records, "A plain line", "", "  "]))

    assert [event.kind for event in found if isinstance(event, Notice)] == [
        *["provider.record"] * len(records),
        "provider.output",
    ]
    assert [event.data for event in found if isinstance(event, Notice)][:-1] == records
    assert "brand_new" in str(found[0])
    assert "item.completed/brand_new_item" in str(found[6])


def test_a_long_line_of_garbage_is_shown_in_part() -> None:
    (notice,) = events(play(dialect(), ["x" * 1_000_000]))

    assert isinstance(notice, Notice)
    assert len(notice.data["line"]) == 2000


@pytest.mark.parametrize(
    "fields",
    [
        {"type": "mcp_tool_call"},
        {"type": "mcp_tool_call", "server": 1, "tool": [], "arguments": 2, "result": "x"},
        {"type": "mcp_tool_call", "result": {"content": "x"}, "error": {"message": 3}},
        {"type": "command_execution", "command": 1, "aggregated_output": 2},
        {"type": "file_change", "changes": 3},
        {"type": "file_change", "changes": [1, {"path": 2}]},
        {"type": "web_search"},
        {"type": "collab_tool_call", "receiver_thread_ids": 3, "agents_states": []},
        {"type": "collab_tool_call", "receiver_thread_ids": [1], "agents_states": {"a": 1}},
    ],
)
def test_a_call_of_an_odd_shape_is_still_a_pair(fields: dict[str, Any]) -> None:
    found = events(play(dialect(), [item("i0", **fields)]))

    assert [type(event) for event in found if not isinstance(event, Subagent)] == [
        ToolCall,
        ToolResult,
    ]


@pytest.mark.parametrize("lines", [["{"], ['{"type": "error", "message": 3}'], ["[" * 100_000]])
def test_nothing_that_is_printed_makes_it_raise(lines: Sequence[str]) -> None:
    play(dialect(), [*lines, json.dumps(START), "{" + '"a":{' * 100_000])
