"""Agents and settings that Claude Code and CodeBuddy find in the clone."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from toolcrib.errors import ConfigurationError, ProfileError
from toolcrib.messages.resources import AgentDefinition, Resources
from toolcrib.runtime.drivers.interface import Preflight
from toolcrib.runtime.drivers.stream_json.resources import agent_text

from .conftest import Either, World, put, read, tree

OKAPI = AgentDefinition(name="okapi", description="Knows okapis.", instructions="Be an okapi.")


def prepare(world: World, driver: Either, resources: Resources, times: int = 1) -> Path:
    clone = world.clone(driver)
    for _ in range(times):
        driver.prepare(world.request(clone, resources=resources))
    return clone.profile


def preflight(world: World, driver: Either, config: dict[str, Any]) -> None:
    driver.preflight(
        Preflight(
            environment=world.environment,
            workspace=world.workspace,
            server_key=None,
            variable=None,
            resources=Resources(config=config),
        )
    )


def test_an_agent_lies_where_the_provider_looks_for_it(world: World, driver: Either) -> None:
    put(world.profile(driver) / "agents" / "zebra.md", "---\nname: zebra\n---\nMine.\n")
    before = tree(world.home)

    profile = prepare(world, driver, Resources(agents=(OKAPI,)), times=2)

    assert sorted(path.name for path in (profile / "agents").iterdir()) == ["okapi.md", "zebra.md"]
    assert (profile / "agents" / "okapi.md").read_text() == agent_text(OKAPI)
    assert tree(world.home) == before


def test_no_agents_leave_the_profile_alone(world: World, driver: Either) -> None:
    profile = prepare(world, driver, Resources())

    assert not (profile / "agents").exists()
    assert not (profile / "settings.json").exists()


def test_what_yaml_could_misread_is_quoted() -> None:
    agent = AgentDefinition(
        name="okapi",
        description='Use it: for "okapis" # all.\nÜber \u2028\x7f\t!',
        instructions="---\nname: other\n",
        model="m: 1",
        tools=("Read", "Bash(git add:*, -p)"),
    )

    assert agent_text(agent) == (
        "---\n"
        'name: "okapi"\n'
        'description: "Use it: for \\"okapis\\" # all.\\nÜber \\u2028\\u007f\\t!"\n'
        'model: "m: 1"\n'
        'tools: ["Read", "Bash(git add:*, -p)"]\n'
        "---\n\n"
        "---\nname: other\n\n"
    )


@pytest.mark.parametrize(
    ("file", "text"),
    [
        ("agents/okapi.md", "No front matter.\n"),
        ("agents/deep/Okapi.md", ""),
        ("agents/x.md", "---\ndescription: x\nname: 'okapi'\n---\nname: other\n"),
        ("agents/x.md", '---\r\nname:  "OKAPI" \r\n---\r\n'),
    ],
)
def test_an_agent_never_takes_the_name_of_one_of_the_profile(
    world: World, driver: Either, file: str, text: str
) -> None:
    put(world.profile(driver) / file, text)

    with pytest.raises(ConfigurationError, match="'okapi'") as caught:
        prepare(world, driver, Resources(agents=(OKAPI,)))

    assert f"{file} of the profile" in str(caught.value)
    prepare(world, driver, Resources(agents=(replace(OKAPI, name="giraffe"),)))


def test_a_name_in_the_text_of_an_agent_is_none(world: World, driver: Either) -> None:
    put(world.profile(driver) / "agents" / "x.md", "---\nmodel: m\n---\nname: okapi\n")

    prepare(world, driver, Resources(agents=(OKAPI,)))


@pytest.mark.parametrize("inside", [True, False])
def test_an_agent_of_the_repository_is_found_up_to_its_root(
    world: World, driver: Either, inside: bool
) -> None:
    put(world.workspace.parent / f".{driver.provider}" / "agents" / "okapi.md", "Theirs.")
    workspace = world.workspace / "src"
    (workspace / ".git" if not inside else workspace).mkdir(parents=True)
    if inside:
        (world.workspace.parent / ".git").mkdir()
    turn = world.request(world.clone(driver), workspace=workspace)

    if inside:
        with pytest.raises(ConfigurationError, match=r"agents/okapi\.md"):
            driver.prepare(replace(turn, resources=Resources(agents=(OKAPI,))))
    else:
        driver.prepare(replace(turn, resources=Resources(agents=(OKAPI,))))


def test_settings_are_merged_over_those_of_the_profile(world: World, driver: Either) -> None:
    source = world.profile(driver) / "settings.json"
    put(source, {"hooks": {"Stop": [1], "PreCompact": [2]}, "language": "x", "permissions": {}})
    before = tree(world.home)
    config = {"hooks": {"Stop": [{"a": None}], "SessionStart": []}, "language": {"b": 1.5}}

    profile = prepare(world, driver, Resources(config=config), times=2)

    assert read(profile / "settings.json") == {
        "hooks": {"Stop": [{"a": None}], "PreCompact": [2], "SessionStart": []},
        "language": {"b": 1.5},
        "permissions": {},
    }
    assert tree(world.home) == before


def test_settings_need_none_in_the_profile(world: World, driver: Either) -> None:
    profile = prepare(world, driver, Resources(config={"language": "x"}))

    assert read(profile / "settings.json") == {"language": "x"}


def test_settings_never_hide_that_those_of_the_profile_are_malformed(
    world: World, driver: Either
) -> None:
    put(world.profile(driver) / "settings.json", "{")

    with pytest.raises(ProfileError, match=r"settings\.json"):
        prepare(world, driver, Resources(config={"language": "x"}))


@pytest.mark.parametrize(
    ("name", "instead"),
    [
        ("model", "the option `model`"),
        ("env", "`environment`"),
        ("effortLevel", "`reasoning_effort`"),
        ("cleanupPeriodDays", "conversations"),
        ("mcpServers", "the option `mcp`"),
        ("enableAllProjectMcpServers", "the option `mcp`"),
        ("deniedMcpServers", "the option `mcp`"),
        ("permissions", "the option `policy`"),
        ("skipDangerousModePermissionPrompt", "the option `policy`"),
        ("autoMode", "the option `policy`"),
        ("autoApprove", "the option `policy`"),
        ("trustAll", "the option `policy`"),
        ("sandbox", "the option `policy`"),
        ("enabledPlugins", "`mcp` and `skills`"),
        ("extraKnownMarketplaces", "`mcp` and `skills`"),
        ("remoteControlAtStartup", "stay in this process"),
    ],
)
def test_a_setting_of_the_drivers_own_is_refused(
    world: World, driver: Either, name: str, instead: str
) -> None:
    with pytest.raises(ConfigurationError, match=f"'{name}'") as caught:
        preflight(world, driver, {"language": "x", name: {}})

    assert instead in str(caught.value)


def test_other_settings_are_the_applications(world: World, driver: Either) -> None:
    preflight(world, driver, {"hooks": {"Stop": []}, "outputStyle": "x", "language": "y"})
