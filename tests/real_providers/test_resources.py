"""Agents and settings that a run lays into its clone, as the real CLIs take them."""

from __future__ import annotations

from typing import Any

import pytest
from ahead import Ahead, begun

from .conftest import Scene, play

pytestmark = [pytest.mark.slow, pytest.mark.timeout(200)]

PURPOSE = 'Use it: for "okapis" # all, über \U0001f600.'
GUIDE = "You are the keeper of okapis.\n---\nname: not this\n"
HOOK = 'touch "$HOME/hooked"'


def _agent(provider: str) -> dict[str, Any]:
    agent = {"name": "okapi", "description": PURPOSE, "instructions": GUIDE}
    # Codex has no list of an agent's tools.
    return agent if provider == "codex" else {**agent, "tools": ["Read", "mcp__notes__remember"]}


def _config(provider: str) -> dict[str, Any]:
    if provider == "codex":
        # Its newest models may start agents; this one needs to be let.
        features = {"multi_agent_v2": True}
        return {"notify": ["sh", "-c", HOOK], "features": features}
    command = {"type": "command", "command": HOOK}
    return {"hooks": {"SessionStart": [{"hooks": [command]}]}}


def _start(provider: str) -> list[dict[str, Any]]:
    if provider == "codex":
        arguments = {"agent_type": "okapi", "message": "graze", "task_name": "graze"}
        return [
            {"call": "collaboration__spawn_agent", "arguments": arguments},
            {"call": "collaboration__wait_agent", "arguments": {"timeout_ms": 30_000}},
        ]
    arguments = {"subagent_type": "okapi", "description": "graze", "prompt": "graze"}
    return [{"call": "Agent", "arguments": arguments}]


@begun
def given(ahead: Ahead, provider: str) -> Scene:
    """A turn with an agent and a setting, which starts the agent, and a turn without them."""
    resources = {"agents": [_agent(provider)], "config": _config(provider)}
    turns: list[dict[str, Any]] = [
        {"prompt": "first", "resources": resources},
        {"prompt": "second"},
    ]
    return play(
        ahead,
        provider,
        model=[
            {"when": "graze", "steps": [{"say": "Grass."}]},
            {"when": "first", "steps": [*_start(provider), {"say": "It began."}]},
            {"when": "", "steps": [{"say": "Hello."}]},
        ],
        hosts=[{"turns": turns}],
    )


def _said(request: dict[str, Any]) -> str:
    told = (text for _, text in request["messages"])
    return "\n".join([*request["said"], *told, request["agents"]])


def test_a_given_agent_is_offered_to_the_model_in_its_run_alone(given: Scene) -> None:
    first, second = given.asked("first")[0], given.asked("second")[0]
    purpose = PURPOSE if given.provider == "claude" else "okapi"

    assert [turn["error"] for turn in given.host.turns] == [None, None]
    assert "okapi" in _said(first)
    assert purpose in _said(first)
    assert "okapi" not in _said(second)


def test_a_started_agent_has_its_instructions_and_tools(given: Scene) -> None:
    (request, *_) = [each for each in given.requests if "keeper of okapis" in _said(each)]

    assert given.turn["result"]["text"].endswith("It began.")
    if given.provider != "codex":
        offered = set(request["all_tools"])
        assert {"Read", "mcp__notes__remember"} <= offered
        assert not offered & {"Bash", "Edit", "Write", "mcp__toolcrib__lookup_issue"}


def test_a_given_setting_takes_effect_beside_those_of_the_profile(given: Scene) -> None:
    assert (given.folder / "home" / "hooked").exists()
    assert given.source_changes == []
    # The profile's own settings are still there.
    assert "mcp__notes__remember" in given.asked("first")[0]["tools"]
