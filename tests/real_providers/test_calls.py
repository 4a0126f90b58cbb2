"""Discover, list, call: what the model is offered, what is called, what comes back."""

from __future__ import annotations

from typing import Any

import pytest

from .conftest import Scene

pytestmark = [pytest.mark.slow, pytest.mark.timeout(200)]

TOOL = "mcp__toolcrib__lookup_issue"
CONTENT = {"TextDelta", "Thinking", "ToolCall", "ToolResult"}


def test_the_provider_discovers_lists_and_calls_with_the_bearer_token(whole: Scene) -> None:
    requests = whole.of(whole.host)
    methods = [request["method"] for request in requests if request["verb"] == "POST"]
    assert methods[0] in {"initialize", "server/discover"}
    assert "tools/list" in methods
    calls = [request for request in requests if request["method"] == "tools/call"]
    assert [(call["params"]["name"], call["params"]["arguments"]) for call in calls] == [
        ("lookup_issue", {"key": "ISSUE-42"})
    ]
    assert methods.index("tools/list") < methods.index("tools/call")


def test_the_function_in_the_host_is_called_once_for_each_call(whole: Scene) -> None:
    keys = [host.calls for host in whole.hosts]
    assert keys == [
        [("lookup_issue", {"key": "ISSUE-42"})],
        [("lookup_issue", {"key": "ISSUE-43"})],
    ]


def test_the_final_text_quotes_what_the_function_returned(whole: Scene) -> None:
    assert whole.turn["error"] is None, whole.turn["error"]
    text = whole.turn["result"]["text"]
    assert text.startswith("The tool said: ")
    assert "Title of ISSUE-42" in text
    assert "open-7731" in text


def test_events_come_in_order_and_none_twice(whole: Scene) -> None:
    for turn in whole.host.turns:
        events = turn["events"]
        kinds = [event["type"] for event in events]
        assert kinds[0] == "RunStarted"
        assert kinds[-1] == "RunFinished"
        assert [event["sequence"] for event in events] == list(range(1, len(events) + 1))
        content = [kind for kind in dict.fromkeys(kinds) if kind in CONTENT - {"Thinking"}]
        assert content == ["ToolCall", "ToolResult", "TextDelta"]
        text = "".join(event["text"] for event in events if event["type"] == "TextDelta")
        assert text == turn["result"]["text"]
    (call,) = _of(whole.turn, "ToolCall")
    (result,) = _of(whole.turn, "ToolResult")
    assert (call["name"], call["arguments"], call["hosted"]) == (
        "lookup_issue",
        {"key": "ISSUE-42"},
        True,
    )
    assert result["call_id"] == call["call_id"]
    assert (result["name"], result["is_error"], result["hosted"]) == ("lookup_issue", False, True)
    assert "open-7731" in result["text"]


def test_the_run_tells_model_usage_and_session(whole: Scene) -> None:
    result = whole.turn["result"]
    # Two requests to the model, of 11 tokens in (3 of them cached) and 5 out each.
    assert result["usage"]["output_tokens"] == 10
    assert result["usage"]["input_tokens"] > 0
    assert result["session_id"]
    assert result["exit_code"] == 0
    (finished,) = _of(whole.turn, "RunFinished")
    assert finished["usage"] is not None


def test_the_model_is_offered_the_tool_on_its_first_turn_with_its_schema(whole: Scene) -> None:
    offered = whole.asked("ISSUE-42")[0]["tools"][TOOL]
    assert "Look up one issue by key." in offered["description"]
    assert offered["schema"] == {
        "type": "object",
        "properties": {"key": {"type": "string"}},
        "required": ["key"],
        # CodeBuddy offers every tool of an MCP server as open.
        "additionalProperties": whole.provider == "codebuddy",
    }


def test_a_server_of_the_users_own_works_beside_ours(whole: Scene) -> None:
    second = whole.host.turns[1]
    assert second["error"] is None, second["error"]
    assert "noted: milk" in second["result"]["text"]
    (call,) = _of(second, "ToolCall")
    assert (call["name"], call["hosted"]) == ("notes/remember", False)
    assert {"mcp__notes__remember", TOOL} <= set(whole.asked("milk")[0]["tools"])


def test_the_source_profile_is_as_it_was(whole: Scene) -> None:
    assert len(whole.source_files) >= 2
    assert whole.source_changes == []


def test_a_proxy_in_the_environment_is_not_asked_for_loopback(whole: Scene) -> None:
    # The scene names proxies that nobody listens at, so that anything sent there fails.
    assert [turn["error"] for turn in whole.host.turns] == [None, None]
    assert whole.requests


def test_a_rejection_reads_as_the_hosts_own_words(told: Scene) -> None:
    refused, *_ = _last(told)["results"]
    assert "Choose the key of an issue that exists." in refused


def test_an_internal_error_reads_as_one_sentence_without_its_text(told: Scene) -> None:
    _, crashed, *_ = _last(told)["results"]
    assert crashed
    assert "hunter2" not in str([told.requests, told.host.turns, told.wire])


def test_a_bad_argument_reads_as_which_one_and_why_and_calls_nothing(told: Scene) -> None:
    *_, bad = _last(told)["results"]
    assert "key" in bad
    assert "string" in bad
    assert told.host.calls == [("refuse", {}), ("crash", {})]


def test_failed_calls_are_events_of_failed_calls(told: Scene) -> None:
    assert told.turn["error"] is None, told.turn["error"]
    assert told.turn["result"]["text"].endswith("I give up.")
    results = _of(told.turn, "ToolResult")
    assert [result["name"] for result in results] == ["refuse", "crash", "lookup_issue"]
    # CodeBuddy reports every result of a tool as a success.
    assert {result["is_error"] for result in results} == {told.provider != "codebuddy"}


def _of(turn: dict[str, Any], kind: str) -> list[dict[str, Any]]:
    return [event for event in turn["events"] if event["type"] == kind]


def _last(scene: Scene) -> dict[str, Any]:
    """What the model read last in the run of failures."""
    last = scene.asked("Fail.")[-1]
    assert len(last["results"]) == 3
    return last
