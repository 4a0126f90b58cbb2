"""Scripts that break the format, and what they are told."""

from __future__ import annotations

from typing import Any

import pytest


def in_step(step: object) -> dict[str, Any]:
    return {"turns": [{"steps": [{"say": "fine"}, step]}]}


@pytest.mark.parametrize(
    ("script", "complaint"),
    [
        ([], "the script: must be an object"),
        ({}, "the script.turns: is missing"),
        ({"turns": []}, "the script.turns: must be a list that is not empty"),
        ({"turns": [{"steps": []}], "tuns": 1}, "the script.tuns: is not known here"),
        (
            {"turns": [{"steps": []}], "protocol": "1"},
            "the script.protocol: must be 2025-11-25 or",
        ),
        ({"turns": [3]}, "turns[0]: must be an object"),
        ({"turns": [{}]}, "turns[0].steps: is missing"),
        ({"turns": [{"steps": {}}]}, "turns[0].steps: must be a list of steps"),
        ({"turns": [{"steps": [], "opening": 1}]}, "turns[0].opening: must be true or false"),
        ({"turns": [{"steps": [], "when": {"x": 1}}]}, "turns[0].when.x: is not known here"),
        (
            {"turns": [{"steps": [], "when": {"prompt": "("}}]},
            "turns[0].when.prompt: is no regular",
        ),
        (in_step("say"), "turns[0].steps[1]: must be an object"),
        (in_step({}), "turns[0].steps[1]: must hold one of think, say,"),
        (in_step({"shout": "x"}), "found: shout"),
        (in_step({"say": "x", "think": "y"}), "found: say, think"),
        (in_step({"say": 3}), "turns[0].steps[1].say: must be a string"),
        (in_step({"say": "x", "piece": 2}), "turns[0].steps[1].piece: is not known here"),
        (
            in_step({"say": "x", "pieces": 0}),
            "turns[0].steps[1].pieces: must be a whole number from 1",
        ),
        (in_step({"say": "x", "pieces": True}), "turns[0].steps[1].pieces: must be a whole"),
        (in_step({"exit": 256}), "turns[0].steps[1].exit: must be a whole number from 0 to 255"),
        (in_step({"die": "SIGNOTHING"}), "turns[0].steps[1].die: must be the name of a signal"),
        (in_step({"hang": False}), "turns[0].steps[1].hang: must be true"),
        (in_step({"spawn": "twin"}), 'turns[0].steps[1].spawn: must be "child" or "detached"'),
        (in_step({"call": "t", "save": "a b"}), "turns[0].steps[1].save: must be a name"),
        (
            in_step({"call": "t", "arguments": []}),
            "turns[0].steps[1].arguments: must be an object",
        ),
        (
            in_step({"call": "t", "on_error": [{"say": "x"}, {"say": None}]}),
            "turns[0].steps[1].on_error[1].say: must be a string",
        ),
        (
            in_step({"say": "{{ promt }}"}),
            "turns[0].steps[1].say: holds the unknown name {{promt}}",
        ),
        (in_step({"together": [{"ask": "Bash"}]}), "together: must be a list of two or more"),
        (
            in_step({"together": [{"ask": "Bash"}, {"say": "hi"}]}),
            "turns[0].steps[1].together[1].say: does not ask",
        ),
        (in_step({"question": "Which?", "choices": [{"key": "a"}]}), "choices: must be a list of"),
        (in_step({"plan": "# Plan", "withdraw": False}), "withdraw: must be true or a path"),
        (in_step({"ask": "Bash"}), "turns[0].steps[1].ask: Cursor can't ask; Claude can"),
        (
            in_step({"call": "t", "arguments": {"a": [{"b": "{{who}}"}]}}),
            "turns[0].steps[1].arguments: holds the unknown name {{who}}",
        ),
    ],
)
def test_a_wrong_script_is_refused_by_place(provider: Any, script: object, complaint: str) -> None:
    path = provider.write_script(script)

    ended = provider.run(path)

    assert (ended.code, ended.lines) == (2, [])
    assert ended.stderr.startswith(f"{path}: ")
    assert complaint in ended.stderr
    assert ended.stderr.count("\n") == 1


@pytest.mark.parametrize("text", ["{", "\ufeff{}", ""])
def test_a_script_that_is_no_json_is_named(provider: Any, text: str) -> None:
    path = provider.root / "broken.json"
    path.write_text(text, encoding="utf-8")

    ended = provider.run(path)

    assert ended.code == 2
    assert f"{path}: can't be read as a JSON script" in ended.stderr


def test_a_missing_script_is_named(provider: Any) -> None:
    ended = provider.run(provider.root / "nowhere.json")

    assert ended.code == 2
    assert "nowhere.json: can't be read" in ended.stderr


@pytest.mark.parametrize(
    "name", ["results.issue", "match.key", "match.1", "error.code", "history.first", "prompt.x"]
)
def test_a_name_that_means_nothing_here_is_a_script_error(provider: Any, name: str) -> None:
    path = provider.script({"say": "fine"}, {"say": f"{{{{{name}}}}}"})

    ended = provider.run(path)

    assert ended.code == 2
    assert ended.stderr == f"{path}: turns[0].steps[1].say: nothing is named {{{{{name}}}}} here\n"
    assert ended.types == ["system", "user", "assistant"]


def test_braces_that_hold_no_name_are_text(provider: Any) -> None:
    text = '{{"a": {{}}}} {{ two words }} {prompt}'

    assert provider.run(provider.script({"say": text})).terminal["result"] == text


def test_what_a_prompt_holds_is_not_replaced_again(provider: Any) -> None:
    ended = provider.run(provider.script({"say": "<{{prompt}}>"}), prompt="{{session_id}}")

    assert ended.terminal["result"] == "<{{session_id}}>"
