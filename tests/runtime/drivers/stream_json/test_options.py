from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from toolcrib import Claude, CodeBuddy
from toolcrib.errors import ConfigurationError

from .conftest import Either


@pytest.mark.parametrize(
    "arguments",
    [
        ("--print",),
        ("-p",),
        ("-dp",),
        ("--input-format", "text"),
        ("--output-format=json",),
        ("--verbose",),
        ("--include-partial-messages",),
        ("--replay-user-messages",),
        ("--json-schema", "{}"),
        ("--resume", "x"),
        ("-r=x",),
        ("-rx",),
        ("--continue",),
        ("-c",),
        ("--session-id", "x"),
        ("--fork-session",),
        ("--no-session-persistence",),
        ("--model", "x"),
        ("--effort=low",),
        ("--permission-mode", "plan"),
        ("--permission-prompt-tool", "stdio"),
        ("--dangerously-skip-permissions",),
        ("--allowedTools", "Bash"),
        ("--allowed-tools=Bash",),
        ("--disallowedTools", "mcp__toolcrib"),
        ("--disallowed-tools", "mcp__toolcrib"),
        ("--tools", "Bash"),
        ("--add-dir", "/"),
        ("--settings", "x.json"),
        ("--setting-sources", "project"),
        ("--mcp-config", "x.json"),
        ("--strict-mcp-config",),
        ("--worktree",),
        ("-w",),
        ("--bg",),
        ("--help",),
        ("-h",),
        ("-v",),
        ("--",),
        ("-",),
        ("",),
        ("do this instead",),
        ("--fallback-model=n", "do this instead"),
        ("--fallback-model", "n", "do this instead"),
    ],
)
def test_arguments_that_are_the_drivers_to_decide_are_refused(
    driver: Either, arguments: tuple[str, ...]
) -> None:
    with pytest.raises(ConfigurationError, match=r"extra_args can't hold"):
        replace(driver, extra_args=arguments)


@pytest.mark.parametrize(
    "argument",
    ["--bare", "--restricted", "--safe-mode", "--from-pr", "--cloud", "--permission-prompts"],
)
def test_claude_has_flags_of_its_own_that_are_refused(argument: str) -> None:
    with pytest.raises(ConfigurationError, match=argument):
        Claude(extra_args=(argument,))


@pytest.mark.parametrize(
    "argument",
    ["-y", "-H", "--header", "--acp", "--serve", "--sandbox", "--resume-create-missing"],
)
def test_codebuddy_has_flags_of_its_own_that_are_refused(argument: str) -> None:
    with pytest.raises(ConfigurationError, match=argument):
        CodeBuddy(extra_args=(argument, "x"))


def test_the_value_of_a_refused_argument_is_not_shown() -> None:
    with pytest.raises(ConfigurationError) as caught:
        CodeBuddy(extra_args=("--header=Authorization: topsecret",))

    assert "topsecret" not in str(caught.value)


@pytest.mark.parametrize(
    "options",
    [
        {"model": "--force"},
        {"grace": -1.0},
        {"environment": {"environment=": "x"}},
        {"extra_args": "--timeout 5"},
        {"permission_mode": "bypassPermissions"},
        {"reasoning_effort": "--yes"},
    ],
)
def test_options_that_can_not_work_are_refused_when_given(
    driver: Either, options: dict[str, Any]
) -> None:
    with pytest.raises(ConfigurationError, match=next(iter(options))):
        replace(driver, **options)


def test_a_driver_is_a_value_that_shows_no_environment(driver: Either) -> None:
    environment = {"KEY": "topsecret"}
    made = replace(driver, command=["cli", "x"], environment=environment)
    environment["KEY"] = "changed"

    assert made.environment["KEY"] == "topsecret"
    assert "topsecret" not in repr(made)
    assert made == replace(driver, command=("cli", "x"), environment={"KEY": "topsecret"})
    assert hash(made) == hash(replace(made))
    assert made.provider == made.fingerprint()
