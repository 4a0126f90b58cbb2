"""One program, every driver: nothing else changes."""

from __future__ import annotations

import json
from typing import Any

import pytest
from ahead import Ahead, begun

from .conftest import PROVIDERS, Scene, play

pytestmark = [pytest.mark.slow, pytest.mark.timeout(180)]

ASK = 'CALL lookup_issue {"key": "ISSUE-42"}'
SCRIPT = {
    "turns": [
        {
            "when": {"prompt": '"(?P<key>ISSUE-[0-9]+)"'},
            "steps": [
                {"call": "lookup_issue", "arguments": {"key": "{{match.key}}"}, "save": "issue"},
                {"say": "The tool said: {{results.issue}}"},
            ],
        }
    ]
}


@pytest.fixture(scope="session", params=["own", "cursor", *PROVIDERS])
def provider(request: pytest.FixtureRequest) -> str:
    name: str = request.param
    return name


@begun
def same(ahead: Ahead, provider: str) -> Scene:
    # The CLIs are found where their wheels lie; no driver is given a command.
    turns = [{"prompt": ASK}]
    script = json.dumps(SCRIPT)
    return play(ahead, provider, found=True, script=script, hosts=[{"turns": turns}])


def test_the_program_gets_the_same_answer_from_every_driver(same: Scene) -> None:
    host, turn = same.host, same.turn
    assert turn["error"] is None, turn["error"]
    assert host.calls == [("lookup_issue", {"key": "ISSUE-42"})]
    assert turn["result"]["text"].startswith("The tool said: ")
    assert "Title of ISSUE-42" in turn["result"]["text"]
    assert "open-7731" in turn["result"]["text"]
    assert turn["result"]["exit_code"] == 0
    assert host.code == 0, host.stderr


def test_the_program_sees_the_same_events_from_every_driver(same: Scene) -> None:
    events = same.turn["events"]
    calls = [_shown(event) for event in events if event["type"] == "ToolCall"]
    assert calls == [("lookup_issue", True, {"key": "ISSUE-42"})]
    results = [event for event in events if event["type"] == "ToolResult"]
    assert [(event["name"], event["is_error"], event["hosted"]) for event in results] == [
        ("lookup_issue", False, True)
    ]
    assert "open-7731" in results[0]["text"]
    text = "".join(event["text"] for event in events if event["type"] == "TextDelta")
    assert text == same.turn["result"]["text"]
    assert [events[0]["type"], events[-1]["type"]] == ["RunStarted", "RunFinished"]
    order = [event["type"] for event in events]
    assert order.index("ToolCall") < order.index("ToolResult") < order.index("TextDelta")


def _shown(event: dict[str, Any]) -> tuple[str, bool, dict[str, Any]]:
    return event["name"], event["hosted"], event["arguments"]
