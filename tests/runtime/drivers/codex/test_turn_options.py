"""What a turn may choose, as it reaches Codex's command line and the clone."""

from __future__ import annotations

import json
import tomllib
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

from toolcrib.errors import ConfigurationError, ServerConflictError
from toolcrib.messages.options import OutputSchema
from toolcrib.messages.policy import Access, Approvals, Policy
from toolcrib.messages.resources import HttpServer, Skill, StdioServer
from toolcrib.runtime.drivers.codex import Codex
from toolcrib.runtime.drivers.codex.output import is_strict
from toolcrib.runtime.profiles.clone import Clone

from .conftest import THREAD, World, put

ROLLOUT = f"sessions/2026/12/01/rollout-2026-12-01T10-00-00-{THREAD}.jsonl"
STRICT: dict[str, Any] = {
    "type": "object",
    "properties": {"n": {"type": "integer"}},
    "required": ["n"],
    "additionalProperties": False,
}
APPROVED = Policy(approvals=Approvals(permission="auto_approve"))


def argv(world: World, driver: Codex | None = None, **changes: Any) -> list[str]:
    chosen = driver or Codex()
    return list(chosen.prepare(world.request(world.clone(chosen), **changes)).argv)


def value(line: Sequence[str], flag: str) -> str | None:
    return line[line.index(flag) + 1] if flag in line else None


def setting(line: Sequence[str], name: str) -> Any:
    found = [word for word in line if word.startswith(f"{name}=")]
    return tomllib.loads(found[0])[name] if found else None


def layer(clone: Clone, line: Sequence[str]) -> dict[str, Any]:
    name = value(line, "--profile")
    assert name is not None
    servers: dict[str, Any] = tomllib.loads((clone.profile / f"{name}.config.toml").read_text())[
        "mcp_servers"
    ]
    return servers


def output(schema: dict[str, Any]) -> OutputSchema:
    return OutputSchema(name="Answer", schema=schema, load=lambda text: text)


@pytest.mark.parametrize(
    ("sandbox", "mode"),
    [
        ("read_only", "read-only"),
        ("workspace_write", "workspace-write"),
        ("unrestricted", "danger-full-access"),
    ],
)
def test_the_turns_sandbox_counts_before_the_drivers(
    world: World, sandbox: Any, mode: str
) -> None:
    driver = Codex(sandbox="workspace-write")

    assert value(argv(world, driver, policy=Policy(sandbox=sandbox)), "--sandbox") == mode
    assert value(argv(world, driver), "--sandbox") == "workspace-write"


def test_web_search_and_model_are_the_turns(world: World) -> None:
    choices: tuple[tuple[Access, str], ...] = (("allow", "live"), ("deny", "disabled"))
    for access, word in choices:
        line = argv(world, Codex(model="a"), policy=Policy(web_search=access), model="b")
        assert setting(line, "web_search") == word
        assert value(line, "--model") == "b"
    assert setting(argv(world), "web_search") is None


def test_instructions_come_after_those_of_the_profile(world: World) -> None:
    clone = world.clone(Codex())
    put(clone.profile / "config.toml", 'developer_instructions = "Be brief."\n')

    line = Codex().prepare(world.request(clone, instructions='Say "ü".')).argv

    assert setting(line, "developer_instructions") == 'Be brief.\n\nSay "ü".'
    assert setting(argv(world), "developer_instructions") is None
    with pytest.raises(ConfigurationError, match="longer than"):
        argv(world, instructions="x" * 120_001)


@pytest.mark.parametrize(
    ("kept", "fits"), [("Be kind.", True), ("Be rude.", False), ("Be kind. Be rude.", False)]
)
def test_a_resumed_conversation_keeps_its_instructions_and_says_so(
    world: World, kept: str, fits: bool
) -> None:
    clone = world.clone(Codex())
    part = {"type": "input_text", "text": kept}
    lines = [
        "developer garbage",
        {"payload": {"role": "user", "content": [{"text": "Be kind. developer"}]}},
        {"payload": {"role": "developer", "content": [7, part]}},
    ]
    text = "\n".join(line if isinstance(line, str) else json.dumps(line) for line in lines)
    put(clone.profile / ROLLOUT, text)
    request = world.request(clone, resume=THREAD, instructions="Be kind.")

    if fits:
        assert setting(Codex().prepare(request).argv, "developer_instructions") == "Be kind."
        return
    with pytest.raises(ConfigurationError, match="keeps the instructions"):
        Codex().prepare(request)


def test_added_servers_are_a_layer_over_the_profile(world: World) -> None:
    clone = world.clone(Codex())
    put(clone.profile / "config.toml", '[mcp_servers."us.ers"]\ncommand = "x"\n')
    added = (
        StdioServer(key="notes", command="n", args=("-v",), env={"A": "secret"}),
        HttpServer(key="h", url="http://x", bearer_variable="MINE"),
    )

    line = Codex().prepare(world.request(clone, mcp=added)).argv
    approved = Codex().prepare(world.request(clone, mcp=added, policy=APPROVED)).argv

    waited = {"required": True, "startup_timeout_sec": 30}
    assert layer(clone, line) == {
        "notes": {"command": "n", "args": ["-v"], "env": {"A": "secret"}, **waited},
        "h": {"url": "http://x", "bearer_token_env_var": "MINE", **waited},
    }
    assert "secret" not in str(line)
    modes = {
        name: server.get("default_tools_approval_mode")
        for name, server in layer(clone, approved).items()
    }
    assert modes == {"us.ers": "approve", "notes": "approve", "h": "approve"}


@pytest.mark.parametrize("key", ["toolcrib", "Users", "theirs"])
def test_an_added_server_is_in_nobodys_way(world: World, key: str) -> None:
    clone = world.clone(Codex())
    put(clone.profile / "config.toml", '[mcp_servers.users]\ncommand = "x"\n')
    put(world.workspace / ".codex" / "config.toml", '[mcp_servers.theirs]\ncommand = "x"\n')

    with pytest.raises(ServerConflictError):
        Codex().prepare(world.request(clone, mcp=(HttpServer(key=key, url="http://x"),)))


def test_skills_lie_in_the_clone(world: World) -> None:
    clone = world.clone(Codex())

    Codex().prepare(world.request(clone, skills=(Skill(name="greet", content="Hello."),)))

    assert (clone.profile / "skills" / "greet" / "SKILL.md").read_text() == "Hello."


def test_a_schema_that_its_models_take_is_given_and_any_other_is_asked_for(world: World) -> None:
    loose = {**STRICT, "required": []}
    clone = world.clone(Codex())

    strict = world.request(clone, output=output(STRICT))
    path = value(Codex().prepare(strict).argv, "--output-schema")
    asked = world.request(clone, output=output(loose))

    assert path is not None
    assert json.loads(Path(path).read_text()) == STRICT
    assert value(Codex().prepare(asked).argv, "--output-schema") is None
    (first, _), (second, _) = (Codex().dialect(turn).opening() for turn in (strict, asked))
    assert "JSON Schema" not in str(first)
    assert "JSON Schema" in str(second)


def test_the_answer_of_a_typed_run_is_the_last_message(world: World) -> None:
    from toolcrib.messages.turn import ProcessExit

    messages = [
        {"type": "item.completed", "item": {"id": f"i{n}", "type": "agent_message", "text": text}}
        for n, text in enumerate(("I look.", '{"n": 1}'))
    ]
    for wanted, expected in ((output(STRICT), '{"n": 1}'), (None, None)):
        reader = Codex().dialect(world.request(world.clone(Codex()), output=wanted))
        for record in messages:
            reader.line(json.dumps(record))
        assert reader.ended(ProcessExit(code=0, stderr="")).output == expected


@pytest.mark.parametrize(
    ("schema", "strict"),
    [
        (STRICT, True),
        ({**STRICT, "required": []}, False),
        ({**STRICT, "additionalProperties": True}, False),
        ({"type": "object"}, False),
        ({**STRICT, "properties": {"n": {"type": "string", "format": "x"}}}, False),
        ({**STRICT, "properties": {"n": {"type": "array", "items": {"type": "object"}}}}, False),
        ({**STRICT, "properties": {"n": {"type": "array", "items": STRICT}}}, True),
        ({**STRICT, "properties": {"n": {"anyOf": [STRICT, {"type": "null"}]}}}, True),
        ({**STRICT, "properties": {"n": {"anyOf": [{"type": "object"}]}}}, False),
        ({**STRICT, "$defs": {"A": {"type": "object"}}}, False),
        ({**STRICT, "properties": {"n": True}}, False),
    ],
)
def test_strict_is_what_requires_every_property_and_allows_no_other(
    schema: dict[str, Any], strict: bool
) -> None:
    assert is_strict(schema) is strict
