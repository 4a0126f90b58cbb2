"""Model, instructions, skills, servers, restraints and typed answers, with the real CLIs."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import pytest
from ahead import Ahead, begun

from .conftest import ROOT, Scene, play

pytestmark = [pytest.mark.slow, pytest.mark.timeout(200)]

NOTES = ROOT / "tests" / "support" / "staging" / "notes_server.py"
SANDBOXES = ("read_only", "workspace_write", "unrestricted")
RULE = "Call everybody Zebra."
SKILL = """\
---
name: greet
description: Use it to greet an okapi.
---
Say hello to the okapi.
"""
VERDICT = '{"key": "ISSUE-42", "open": true}'


@begun
def chosen(ahead: Ahead, provider: str) -> Scene:
    """A turn with everything of its own, and the next one of the thread without."""
    added = {"key": "added", "command": sys.executable, "args": [str(NOTES)]}
    turns: list[dict[str, Any]] = [
        {
            "prompt": "first",
            "thread": "t",
            "options": {"model": "scripted-model", "instructions": RULE},
            "skills": [{"name": "greet", "content": SKILL}],
            "mcp": [added],
            "policy": {"web_search": "deny", "approvals": {"permission": "auto_approve"}},
        },
        {"prompt": "second", "thread": "t"},
    ]
    call = {"call": "mcp__added__remember", "arguments": {"note": "milk"}}
    return play(
        ahead,
        provider,
        driver={"model": None},
        model=[
            {"when": "first", "steps": [call, {"say": "It said: {{result}}"}]},
            {"when": "", "steps": [{"say": "Hello."}]},
        ],
        hosts=[{"turns": turns}],
    )


@begun
def typed(ahead: Ahead, provider: str) -> Scene:
    """A run that has to answer with a value of a type."""
    structured = {"call": "StructuredOutput", "arguments": {"key": "ISSUE-42", "open": True}}
    answer = structured if provider == "claude" else {"say": VERDICT}
    look = {"call": "lookup_issue", "arguments": {"key": "ISSUE-42"}}
    turns = [{"prompt": prompt, "silent": True, "typed": True} for prompt in ("good", "bad")]
    return play(
        ahead,
        provider,
        model=[
            {"when": "good", "steps": [[{"say": "I look."}, look], answer]},
            {"when": "", "steps": [{"say": "No idea."}]},
        ],
        hosts=[{"turns": turns}],
    )


@begun
def bounded(ahead: Ahead) -> Scene:
    """Codex tries to write a file under each sandbox."""
    turns = [{"prompt": prompt, "policy": {"sandbox": prompt}} for prompt in SANDBOXES]
    model = [
        {"when": prompt, "steps": [{"shell": f"touch {prompt}.txt"}, {"say": "Done."}]}
        for prompt in SANDBOXES
    ]
    return play(ahead, "codex", model=model, hosts=[{"turns": turns}])


@begun
def refused(ahead: Ahead) -> Scene:
    """Codex is to ask for permission, which it can't."""
    turn = {"prompt": "x", "policy": {"approvals": {"permission": "ask"}}}
    return play(ahead, "codex", hosts=[{"turns": [turn]}])


def _said(request: dict[str, Any]) -> str:
    return "\n".join([*request["said"], *(text for _, text in request["messages"])])


def test_model_and_instructions_are_those_of_the_turn(chosen: Scene) -> None:
    first, second = chosen.asked("first")[0], chosen.asked("second")[0]

    assert [turn["error"] for turn in chosen.host.turns] == [None, None]
    assert first["model"] == "scripted-model"
    assert RULE in _said(first)
    # Codex keeps what a conversation began with, and refuses to be told anything else.
    assert (RULE in "\n".join(second["said"])) is (chosen.provider == "codex")


def test_a_skill_is_offered_to_the_model(chosen: Scene) -> None:
    request = chosen.asked("first")[0]

    assert "Use it to greet an okapi." in _said(request) + request["skills"]


def test_an_added_server_is_used_beside_the_others(chosen: Scene) -> None:
    first, second = chosen.asked("first")[0], chosen.asked("second")[0]
    servers = ("mcp__added__remember", "mcp__notes__remember", "mcp__toolcrib__lookup_issue")

    assert set(servers) <= set(first["tools"])
    assert "mcp__added__remember" not in second["tools"]
    assert "noted: milk" in chosen.turn["result"]["text"]


def test_a_search_that_is_denied_is_not_offered(chosen: Scene) -> None:
    offered = [set(chosen.asked(prompt)[0]["all_tools"]) for prompt in ("first", "second")]

    assert not offered[0] & {"WebSearch", "web_search"}
    if chosen.provider == "codebuddy":  # the others hide it, or their profile switches it off
        assert "WebSearch" in offered[1]


def test_a_typed_run_answers_with_a_value(typed: Scene) -> None:
    good = typed.host.turns[0]

    assert good["error"] is None, good["error"]
    assert good["result"] == {"key": "ISSUE-42", "open": True}


def test_a_typed_run_that_answers_anything_else_fails(typed: Scene) -> None:
    bad = typed.host.turns[1]

    assert bad["error"]["reason"] == "invalid_output"
    # Claude Code asks its model once more.
    assert bad["error"]["result"]["text"].startswith("No idea.")


def test_the_sandbox_of_a_policy_bounds_codex(bounded: Scene) -> None:
    assert [turn["error"] for turn in bounded.host.turns] == [None, None, None]
    made = [_there(bounded, prompt) for prompt in SANDBOXES]
    assert made == [False, True, True]


def test_codex_refuses_to_ask_before_anything_starts(refused: Scene) -> None:
    assert refused.turn["error"]["type"] == "UnsupportedError"
    assert refused.requests == []
    assert refused.host.all("spawned") == []


def _there(scene: Scene, name: str) -> bool:
    return Path(scene.folder / "workspace" / f"{name}.txt").exists()
