from __future__ import annotations

import sys
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from toolcrib.errors import ConfigurationError, ProfileError, ProviderNotFoundError
from toolcrib.messages.secret import Secret

from .conftest import SERVER, SESSION, TOKEN, VARIABLE, Either, World, put, read

CONFIG = {"claude": ".claude.json", "codebuddy": ".mcp.json"}
PACKAGED = {
    "claude": ("claude_agent_sdk", "_bundled/claude"),
    "codebuddy": ("codebuddy_agent_sdk", "bin/codebuddy-headless"),
}
SPEAK = (
    *("-p", "--input-format", "stream-json", "--output-format", "stream-json", "--verbose"),
    "--include-partial-messages",
)


def test_the_command_line_is_whole_and_holds_no_prompt(world: World, driver: Either) -> None:
    clone = world.clone(driver)
    chosen = replace(
        driver,
        model="m",
        permission_mode="plan",
        reasoning_effort="high",
        extra_args=["--fallback-model", "n"],
    )

    launch = chosen.prepare(world.request(clone, resume=SESSION, prompt="secret plan"))

    assert launch.argv == (
        str(world.workspace.parent / "bin" / driver.provider),
        *("--fallback-model", "n"),
        *SPEAK,
        *("--model", "m"),
        *("--permission-mode", "plan"),
        *("--effort", "high"),
        *("--resume", SESSION),
        *("--allowedTools", "mcp__toolcrib"),
    )
    assert launch.cwd == world.workspace


def test_options_that_are_unset_are_left_to_the_provider(world: World, driver: Either) -> None:
    launch = driver.prepare(world.request(world.clone(driver), server=None))

    assert launch.argv[1:] == SPEAK


def test_the_environment_is_the_users_but_for_what_the_run_needs(
    world: World, driver: Either
) -> None:
    clone = world.clone(driver)

    launch = replace(driver, grace=0.5, environment={"EXTRA": "1"}).prepare(world.request(clone))

    own = {
        "claude": {
            "CLAUDE_CONFIG_DIR": str(clone.profile),
            "CLAUDE_CODE_MCP_STARTUP_WAIT_MS": "30000",
        },
        "codebuddy": {
            "CODEBUDDY_CONFIG_DIR": str(clone.profile),
            "CODEBUDDY_DEFER_TOOL_LOADING": "0",
            "CODEBUDDY_DISABLE_SHELL_SNAPSHOT": "1",
            "MCP_TOOL_TIMEOUT": "150000",
        },
    }
    assert launch.environment == {
        **world.environment,
        **own[driver.provider],
        "EXTRA": "1",
        "TMPDIR": str(clone.temp),
        "TMP": str(clone.temp),
        "TEMP": str(clone.temp),
        "NO_PROXY": "127.0.0.1",
        "no_proxy": "127.0.0.1",
        VARIABLE: TOKEN,
    }
    assert launch.grace == 0.5
    assert launch.secrets == (Secret(TOKEN),)


def test_the_token_is_in_the_environment_and_nowhere_else(world: World, driver: Either) -> None:
    clone = world.clone(driver)

    launch = driver.prepare(world.request(clone))

    assert TOKEN not in " ".join(launch.argv)
    assert TOKEN not in repr(launch)
    for path in clone.root.rglob("*"):
        if path.is_file():
            assert TOKEN.encode() not in path.read_bytes()


def test_the_hosted_server_is_written_beside_the_users(world: World, driver: Either) -> None:
    source = put(world.home / "mine" / CONFIG[driver.provider], "")
    source.write_text('{"mcpServers": {"mine": {"command": "x"}}, "theme": "dark"}')
    chosen = replace(driver, profile=source.parent)
    clone = world.clone(chosen)

    chosen.prepare(world.request(clone))

    entry: dict[str, Any] = {
        "type": "http",
        "url": "http://127.0.0.1:1/mcp",
        "headers": {"Authorization": "Bearer ${" + VARIABLE + "}"},
        "alwaysLoad": True,
    }
    if driver.provider == "claude":
        entry["timeout"] = 150_000
    assert read(clone.profile / CONFIG[driver.provider]) == {
        "mcpServers": {"mine": {"command": "x"}, "toolcrib": entry},
        "theme": "dark",
    }


def test_every_turn_is_prepared_from_its_own_request(world: World, driver: Either) -> None:
    clone = world.clone(driver)
    driver.prepare(world.request(clone))
    other = "TOOLCRIB_TOKEN_" + "B" * 32
    server = replace(SERVER, url="http://127.0.0.1:2/mcp", variable=other, token=Secret("another"))

    launch = driver.prepare(world.request(clone, server=server, resume=SESSION))

    written = (clone.profile / CONFIG[driver.provider]).read_text()
    assert "http://127.0.0.1:2/mcp" in written
    assert other in written
    assert VARIABLE not in written
    assert "127.0.0.1:1/" not in written
    assert launch.environment[other] == "another"
    assert VARIABLE not in launch.environment


def test_a_turn_without_tools_finds_none_from_an_earlier_turn(
    world: World, driver: Either
) -> None:
    clone = world.clone(driver)
    driver.prepare(world.request(clone))

    launch = driver.prepare(world.request(clone, server=None))

    assert read(clone.profile / CONFIG[driver.provider]) == {"mcpServers": {}}
    assert launch.secrets == ()
    assert "--allowedTools" not in launch.argv
    assert not any(name.startswith("TOOLCRIB_TOKEN_") for name in launch.environment)


def test_a_file_that_became_a_link_is_not_written_through(world: World, driver: Either) -> None:
    clone = world.clone(driver)
    source = put(world.home / "target", {})
    (clone.profile / CONFIG[driver.provider]).symlink_to(source)

    with pytest.raises(ProfileError, match="symbolic link"):
        driver.prepare(world.request(clone))

    assert source.read_text() == "{}"


@pytest.mark.parametrize("resume", ["--force", "-f", "a b", "../x", "", "x" * 201, "a\n"])
def test_a_conversation_id_can_not_become_a_flag(
    world: World, driver: Either, resume: str
) -> None:
    clone = world.clone(driver)

    with pytest.raises(ConfigurationError, match="no conversation"):
        driver.prepare(world.request(clone, resume=resume))


def test_without_a_command_on_the_path_the_packaged_one_is_taken(
    world: World, driver: Either, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    package, inside = PACKAGED[driver.provider]
    put(tmp_path / "site" / package / "__init__.py", "raise RuntimeError('imported')")
    binary = put(tmp_path / "site" / package / inside, "#!/bin/sh\n")
    binary.chmod(0o755)
    monkeypatch.setattr(sys, "path", [str(tmp_path / "site"), *sys.path])
    bare = replace(world, environment={**world.environment, "PATH": "/nowhere"})
    clone = bare.clone(driver)

    assert driver.prepare(bare.request(clone)).argv[0] == str(binary)
    assert package not in sys.modules
    binary.unlink()
    with pytest.raises(ProviderNotFoundError, match=f"{driver.provider}.* is not on PATH"):
        driver.prepare(bare.request(clone))
    with pytest.raises(ProviderNotFoundError, match="mine is not on PATH"):
        replace(driver, command="mine").prepare(bare.request(clone))
