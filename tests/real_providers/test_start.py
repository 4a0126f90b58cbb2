"""A run without its tools is never a silent one."""

from __future__ import annotations

import pytest

from .conftest import Host, Scene

pytestmark = [pytest.mark.slow, pytest.mark.timeout(200)]


def _failed_for_want_of_tools(scene: Scene, host: Host) -> None:
    error = host.turns[0]["error"]
    assert error is not None, f"{scene.provider} ran without tools and said nothing"
    assert error["reason"] == "tools_unavailable", error
    assert host.calls == []
    assert "Title of" not in str(host.turns)


def test_a_gateway_that_answers_after_three_seconds_is_waited_for_or_missed_aloud(
    started: Scene,
) -> None:
    host = started.hosts[0]
    if started.provider == "codebuddy":  # which asks its model before the tools are there
        _failed_for_want_of_tools(started, host)
        return
    assert host.turns[0]["error"] is None, host.turns[0]["error"]
    assert host.calls == [("lookup_issue", {"key": "ISSUE-42"})]


def test_a_missing_variable_is_reported(started: Scene) -> None:
    _failed_for_want_of_tools(started, started.hosts[1])


def test_a_wrong_token_is_reported(started: Scene) -> None:
    _failed_for_want_of_tools(started, started.hosts[2])
