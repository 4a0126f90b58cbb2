"""The demo's issues and its script, played against a real MCP server."""

from __future__ import annotations

from typing import Any

import pytest

from toolcrib.data import load_demo_script, load_issues

TOKEN = "a-token-of-this-test"
VARIABLE = "TOOLCRIB_TOKEN_0123456789ABCDEF0123456789ABCDEF"


@pytest.fixture
def demo(provider: Any, tool_server: Any) -> Any:
    provider.declare(tool_server.url)
    provider.environment[VARIABLE] = TOKEN
    path = provider.write_script(load_demo_script())
    return lambda prompt: provider.run(path, "--approve-mcps", prompt=prompt)


def test_the_issues_are_found_by_key_and_one_of_them_is_open() -> None:
    issues = load_issues()

    assert issues["ISSUE-42"]["state"] == "open"
    assert {issue["state"] for issue in issues.values()} == {"open", "closed"}
    assert all(key == issue["key"] and issue["title"] for key, issue in issues.items())


def test_issues_are_fresh_each_time() -> None:
    load_issues()["ISSUE-42"]["state"] = "changed"

    assert load_issues()["ISSUE-42"]["state"] == "open"


def test_the_demo_quotes_what_the_tool_found(demo: Any) -> None:
    ended = demo("Is ISSUE-42 still open?")

    assert ended.terminal["result"].endswith("ISSUE-42, “Wrong currency”, is open.")
    assert ended.tool_calls()[0]["tool_call"]["mcpToolCall"]["args"]["args"] == {"key": "ISSUE-42"}


def test_the_demo_says_what_a_rejection_said(demo: Any) -> None:
    text = demo("And OTHER-7?").terminal["result"]

    assert "I can't tell about OTHER-7" in text
    assert "not_found, “There is no OTHER-7.”" in text


def test_the_demo_asks_for_a_key_where_there_is_none(demo: Any) -> None:
    ended = demo("Is it open?")

    assert "I need a key" in ended.terminal["result"]
    assert ended.tool_calls() == []
