"""Agents and settings that Codex finds in the clone."""

from __future__ import annotations

import tomllib
from dataclasses import replace
from typing import Any

import pytest

from toolcrib.errors import ConfigurationError, UnsupportedError
from toolcrib.messages.policy import Approvals, Policy
from toolcrib.messages.resources import AgentDefinition, HttpServer, Resources
from toolcrib.runtime.drivers.codex import Codex
from toolcrib.runtime.drivers.interface import Preflight
from toolcrib.runtime.profiles.clone import Clone

from .conftest import World, put, tree

OKAPI = AgentDefinition(
    name="okapi",
    description='Use it: for "okapis".\nAll.',
    instructions='Be an \'okapi\'.\n\\ """\n',
    model="m",
)


def preflight(world: World, resources: Resources) -> None:
    Codex().preflight(
        Preflight(
            environment=world.environment,
            workspace=world.workspace,
            server_key=None,
            variable=None,
            resources=resources,
        )
    )


def layer(world: World, clone: Clone, **changes: Any) -> dict[str, Any] | None:
    line = Codex().prepare(world.request(clone, **changes)).argv
    if "--profile" not in line:
        return None
    name = line[line.index("--profile") + 1]
    return tomllib.loads((clone.profile / f"{name}.config.toml").read_text())


def test_an_agent_lies_where_codex_looks_for_it(world: World) -> None:
    put(world.profile / "agents" / "zebra.toml", 'name = "zebra"\n')
    before = tree(world.home)
    clone = world.clone(Codex())
    plain = replace(OKAPI, name="plain", model=None)

    for _ in range(2):
        Codex().prepare(world.request(clone, resources=Resources(agents=(OKAPI, plain))))

    laid = {path.stem: tomllib.loads(path.read_text()) for path in clone.profile.glob("agents/*")}
    expected = {
        "name": "okapi",
        "description": OKAPI.description,
        "developer_instructions": OKAPI.instructions,
    }
    assert laid == {
        "okapi": {**expected, "model": "m"},
        "plain": {**expected, "name": "plain"},
        "zebra": {"name": "zebra"},
    }
    assert tree(world.home) == before


@pytest.mark.parametrize(
    ("file", "text"),
    [
        ("agents/okapi.toml", "not = toml ="),
        ("agents/x.toml", 'name = "Okapi"\n'),
        ("config.toml", '[agents.OKAPI]\ndescription = "x"\n'),
    ],
)
def test_an_agent_never_takes_the_name_of_one_of_the_profile(
    world: World, file: str, text: str
) -> None:
    put(world.profile / file, text)
    request = world.request(world.clone(Codex()), resources=Resources(agents=(OKAPI,)))

    with pytest.raises(ConfigurationError, match="'okapi'") as caught:
        Codex().prepare(request)

    assert file.partition("/")[0] in str(caught.value)


def test_an_agent_never_takes_the_name_of_one_of_the_repository(world: World) -> None:
    put(world.workspace / ".codex" / "agents" / "okapi.toml")
    request = world.request(world.clone(Codex()), resources=Resources(agents=(OKAPI,)))

    with pytest.raises(ConfigurationError, match=r"\.codex/agents/okapi\.toml"):
        Codex().prepare(request)


def test_settings_are_a_layer_over_the_profile(world: World) -> None:
    config: dict[str, Any] = {
        "features": {"multi_agent_v2": True},
        "notify": ["touch", "x"],
        "tables": [{"b": [{"c": 1}]}, {"d": {}}],
        "a key": {"b.c": [1, [2.5, "ü"]]},
        "model_verbosity": "low",
    }
    clone = world.clone(Codex())
    server = HttpServer(key="h", url="http://x")
    approved = Policy(approvals=Approvals(permission="auto_approve"))

    alone = layer(world, clone, resources=Resources(config=config))
    both = layer(world, clone, resources=Resources(config=config), mcp=(server,), policy=approved)

    assert alone == config
    assert both is not None
    servers = both.pop("mcp_servers")
    assert both == config
    assert list(servers) == ["h"]
    assert layer(world, clone) is None


def test_the_tools_of_an_agent_are_refused(world: World) -> None:
    with pytest.raises(UnsupportedError, match="the tools of okapi") as caught:
        preflight(world, Resources(agents=(replace(OKAPI, tools=("Read",)),)))

    assert caught.value.provider == "codex"
    preflight(world, Resources(agents=(OKAPI,)))


@pytest.mark.parametrize(
    ("config", "name", "instead"),
    [
        ({"mcp_servers": {"a": {"command": "x"}}}, "mcp_servers.a.command", "the option `mcp`"),
        ({"mcp_servers": {"toolcrib": {"url": "x"}}}, "mcp_servers.toolcrib.url", "hosted tools"),
        ({"model": "m"}, "model", "the option `model`"),
        ({"developer_instructions": "x"}, "developer_instructions", "`instructions`"),
        ({"sandbox_mode": "x"}, "sandbox_mode", "the policy's `sandbox`"),
        ({"web_search": "live"}, "web_search", "the policy's `web_search`"),
        ({"tools": {"web_search": True}}, "tools.web_search", "the policy's `web_search`"),
        ({"approval_policy": "never"}, "approval_policy", "what the agent may do"),
        ({"projects": {"/": {"trust_level": "trusted"}}}, "projects./.trust_level", "may do"),
        ({"hooks": {"state": {"x": {"trusted_hash": "y"}}}}, "hooks.state.x.trusted_hash", "tru"),
        ({"hooks": {"Stop": [{"hooks": [{"type": "command"}]}]}}, "hooks.Stop", "has trusted"),
        ({"shell_environment_policy": {"inherit": "all"}}, "shell_environment_policy.inherit", ""),
        ({"features": {"shell_snapshot": True}}, "features.shell_snapshot", "token"),
        ({"features": 1}, "features", "token"),
        ({"agents": {"okapi": {"config_file": "x"}}}, "agents.okapi.config_file", "Resources"),
        ({"plugins": {"x": {"enabled": True}}}, "plugins.x.enabled", "unchecked"),
        ({"model_provider": "x"}, "model_provider", "where the prompt goes"),
        ({"sqlite_home": "/x"}, "sqlite_home", "stay in the clone"),
        ({"a": {"b": None}}, "a.b", "null"),
        ({"a": [{"b": None}]}, "a.b", "null"),
    ],
)
def test_a_setting_of_the_drivers_own_is_refused(
    world: World, config: dict[str, Any], name: str, instead: str
) -> None:
    with pytest.raises(ConfigurationError, match=f"'{name}'") as caught:
        preflight(world, Resources(config={"notify": ["x"], **config}))

    assert instead in str(caught.value)


def test_other_settings_are_the_applications(world: World) -> None:
    preflight(world, Resources(config={"features": {"x": True}, "tools": {}, "notify": ["x"]}))
