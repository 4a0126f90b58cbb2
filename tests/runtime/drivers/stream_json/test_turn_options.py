"""What a turn may choose, as it reaches the command line and the clone."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

from toolcrib import Claude, CodeBuddy
from toolcrib.errors import ConfigurationError, ServerConflictError
from toolcrib.messages.options import OutputSchema
from toolcrib.messages.policy import Access, Approvals, Policy
from toolcrib.messages.resources import HttpServer, Skill, StdioServer

from .conftest import CLEAN, DONE, INIT, SESSION, Either, World, outcome_of, put, read, said

OURS = "mcp__toolcrib"
STDIO = ("--permission-prompt-tool", "stdio")
OUTPUT = OutputSchema(
    name="Answer",
    schema={"$schema": "x", "type": "object", "properties": {"n": {"type": "integer"}}},
    load=lambda text: text,
)


def argv(world: World, driver: Either, **changes: Any) -> list[str]:
    return list(driver.prepare(world.request(world.clone(driver), **changes)).argv)


def value(line: Sequence[str], flag: str) -> str | None:
    return line[line.index(flag) + 1] if flag in line else None


def policy(**approvals: Any) -> Policy:
    return Policy(approvals=Approvals(**approvals))


@pytest.mark.parametrize(
    ("approvals", "allowed", "asks"),
    [
        ({}, OURS, False),
        ({"permission": "auto_approve"}, OURS, True),
        ({"permission": "ask"}, None, True),
        ({"permission": "auto_reject"}, None, True),
        ({"question": "ask"}, OURS, True),
        ({"plan_review": "auto_approve"}, OURS, True),
    ],
)
def test_hosted_tools_are_allowed_beforehand_only_where_they_would_be_approved(
    world: World, driver: Either, approvals: Any, allowed: str | None, asks: bool
) -> None:
    line = argv(world, driver, policy=policy(**approvals))

    assert value(line, "--allowedTools") == allowed
    # CodeBuddy asks in any case.
    prompts = isinstance(driver, Claude) and asks
    assert value(line, STDIO[0]) == (STDIO[1] if prompts else None)
    assert not [word for word in line if "dangerously" in word or "bypass" in word]


def test_codebuddy_lets_its_model_ask_questions_where_somebody_decides_on_them() -> None:
    from .conftest import dialect
    from .test_conversation import written

    for given, offered in ((policy(), False), (policy(question="ask"), True)):
        (frame,) = written(dialect(CodeBuddy(), policy=given).opening())
        assert ("capabilities" in frame["request"]) is offered


@pytest.mark.parametrize(
    ("access", "flag", "tools"),
    [("allow", "--allowedTools", f"{OURS},WebSearch"), ("deny", "--disallowedTools", "WebSearch")],
)
def test_web_search_is_allowed_or_taken_away(
    world: World, driver: Either, access: Any, flag: str, tools: str
) -> None:
    assert value(argv(world, driver, policy=Policy(web_search=access)), flag) == tools


def test_claude_gets_or_loses_its_browser(world: World) -> None:
    choices: tuple[tuple[Access, str], ...] = (("allow", "--chrome"), ("deny", "--no-chrome"))
    for access, flag in choices:
        line = argv(world, Claude(), policy=Policy(browser=access))
        assert [word for word in line if "chrome" in word] == [flag]


def test_the_turns_model_counts_before_the_drivers(world: World) -> None:
    assert value(argv(world, Claude(model="a"), model="b"), "--model") == "b"
    assert value(argv(world, CodeBuddy(model="a")), "--model") == "a"


@pytest.mark.parametrize("model", ["", "--resume", "a\0"])
def test_a_model_that_is_a_flag_is_refused(world: World, driver: Either, model: str) -> None:
    with pytest.raises(ConfigurationError, match="no model's name"):
        argv(world, driver, model=model)


def test_instructions_reach_claude_in_a_file_and_codebuddy_as_an_argument(world: World) -> None:
    text = "--Be\nkind. ü"

    path = value(argv(world, Claude(), instructions=text), "--append-system-prompt-file")
    line = argv(world, CodeBuddy(), instructions=text)

    assert path is not None
    assert Path(path).read_text() == text
    assert value(line, "--append-system-prompt") == text
    with pytest.raises(ConfigurationError, match="longer than 120000 bytes"):
        argv(world, CodeBuddy(), instructions="x" * 120_001)


@pytest.mark.parametrize("recorded", [False, True])
def test_claude_never_repeats_the_instructions_of_an_earlier_turn(
    world: World, recorded: bool
) -> None:
    clone = world.clone(Claude())
    record = {"type": "attachment", "attachment": {"type": "prompt_snapshot" if recorded else "x"}}
    put(clone.profile / "projects" / "p" / f"{SESSION}.jsonl", record)

    line = Claude().prepare(world.request(clone, resume=SESSION)).argv

    assert value(line, "--system-prompt-snapshot") == ("off" if recorded else None)


def test_added_servers_lie_in_a_file_of_their_own(world: World, driver: Either) -> None:
    clone = world.clone(driver)
    config = {"claude": ".claude.json", "codebuddy": ".mcp.json"}[driver.provider]
    put(clone.profile / config, {"mcpServers": {"users": {"command": "x"}}})
    added = (StdioServer(key="notes", command="n"), HttpServer(key="h", url="http://x"))

    line = driver.prepare(world.request(clone, mcp=added)).argv

    path = value(line, "--mcp-config")
    assert path is not None
    assert list(read(Path(path))["mcpServers"]) == ["notes", "h"]
    assert sorted(read(clone.profile / config)["mcpServers"]) == ["toolcrib", "users"]
    for key in ("users", "toolcrib"):
        with pytest.raises(ServerConflictError):
            driver.prepare(world.request(clone, mcp=(HttpServer(key=key, url="http://x"),)))


def test_an_added_server_never_takes_the_name_of_one_of_the_repository(
    world: World, driver: Either
) -> None:
    put(world.workspace / ".mcp.json", {"mcpServers": {"Theirs": {"command": "x"}}})

    with pytest.raises(ServerConflictError, match="another MCP server 'theirs'"):
        argv(world, driver, mcp=(HttpServer(key="theirs", url="http://x"),))


def test_skills_lie_where_the_provider_looks_for_them(world: World, driver: Either) -> None:
    clone = world.clone(driver)

    driver.prepare(world.request(clone, skills=(Skill(name="greet", content="Hello."),)))

    assert (clone.profile / "skills" / "greet" / "SKILL.md").read_text() == "Hello."


def test_claude_is_given_the_schema_of_the_answer(world: World) -> None:
    schema = value(argv(world, Claude(), output=OUTPUT), "--json-schema")

    assert schema == '{"type": "object", "properties": {"n": {"type": "integer"}}}'
    assert value(argv(world, CodeBuddy(), output=OUTPUT), "--json-schema") is None


def test_the_answer_of_a_typed_run_is_what_was_said_last(driver: Either) -> None:
    lines = [INIT, said("I look."), said("{}", message="m2"), {**DONE, "result": '{"n": 1}'}]

    assert outcome_of(driver, lines, CLEAN).output is None
    assert outcome_of(driver, lines, CLEAN, output=OUTPUT).output == '{"n": 1}'
    held = {**DONE, "result": "x", "structured_output": {"n": 2}}
    assert outcome_of(driver, [INIT, held], CLEAN, output=OUTPUT).output == '{"n": 2}'


@pytest.mark.parametrize("cost", [0, 0.25])
def test_the_cost_is_what_the_last_result_says(driver: Either, cost: float) -> None:
    usage = outcome_of(driver, [INIT, {**DONE, "total_cost_usd": cost}]).usage

    assert usage is not None
    assert usage.cost == cost


@pytest.mark.parametrize("cost", [None, True, "1", -1, float("inf"), float("nan")])
def test_a_cost_that_is_none_is_unknown(driver: Either, cost: Any) -> None:
    counts = {"input_tokens": 1, "output_tokens": 1}
    lines = [INIT, {**DONE, "total_cost_usd": cost, "usage": counts}]

    usage = outcome_of(driver, lines).usage

    assert usage is None or usage.cost is None


def test_codebuddys_cost_of_a_resumed_conversation_is_unknown() -> None:
    done = {**DONE, "total_cost_usd": 1.0}

    usage = outcome_of(CodeBuddy(), [INIT, done], resume=SESSION).usage

    assert usage is None
