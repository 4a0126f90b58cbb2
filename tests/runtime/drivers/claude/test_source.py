from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from toolcrib import Claude
from toolcrib.errors import ProfileError, ServerConflictError

from ..stream_json.conftest import VARIABLE, World, put, read


def servers(name: str) -> dict[str, Any]:
    return {"mcpServers": {name: {"command": "x"}}}


def cloned(world: World, driver: Claude) -> set[str]:
    return set(read(world.clone(driver).profile / ".claude.json")["mcpServers"])


def test_the_users_configuration_lies_beside_the_profile(world: World) -> None:
    put(world.home / ".claude.json", servers("beside"))
    put(world.home / ".claude" / ".claude.json", servers("inside"))

    assert cloned(world, Claude()) == {"beside"}


def test_a_profile_that_was_moved_has_it_inside(world: World, tmp_path: Path) -> None:
    put(world.home / ".claude.json", servers("beside"))
    put(tmp_path / "moved" / ".claude.json", servers("inside"))

    assert cloned(world, Claude(profile=tmp_path / "moved")) == {"inside"}
    moved = {"CLAUDE_CONFIG_DIR": str(tmp_path / "moved")}
    assert cloned(world, Claude(environment=moved)) == {"inside"}


def test_the_users_profile_by_its_name_is_the_users_profile(world: World) -> None:
    put(world.home / ".claude.json", servers("beside"))
    named = Claude(profile=world.home / ".claude")

    assert cloned(world, named) == {"beside"}
    put(world.home / ".claude" / ".claude.json", servers("inside"))
    assert cloned(world, named) == {"inside"}


@pytest.mark.parametrize("here", [".", ".."])
def test_a_server_for_this_workspace_alone_can_be_in_the_way(world: World, here: str) -> None:
    project = str((world.workspace / here).resolve())
    config = put(world.home / ".claude.json", {"projects": {project: servers("toolcrib")}})

    with pytest.raises(ServerConflictError, match="toolcrib") as caught:
        world.preflight(Claude())

    assert str(config) in str(caught.value)


def test_a_server_of_a_workspace_that_takes_our_variable_is_in_the_way(world: World) -> None:
    thief = {"mcpServers": {"thief": {"headers": {"X": "${" + VARIABLE + "}"}}}}
    put(world.home / ".claude.json", {"projects": {str(world.workspace): thief}})

    with pytest.raises(ServerConflictError, match="thief"):
        world.preflight(Claude())


def test_servers_of_other_workspaces_are_nobodys_business(world: World) -> None:
    projects = {"/elsewhere": servers("toolcrib"), str(world.workspace): {"mcpServers": None}}
    put(world.home / ".claude.json", {"projects": projects})

    world.preflight(Claude())


def test_projects_of_an_unknown_form_are_found_out_early(world: World) -> None:
    put(world.home / ".claude.json", {"projects": []})

    with pytest.raises(ProfileError, match="projects in"):
        world.preflight(Claude())


def test_a_longer_wait_of_the_users_own_is_kept(world: World) -> None:
    driver = Claude(environment={"CLAUDE_CODE_MCP_STARTUP_WAIT_MS": "60000"})

    launch = driver.prepare(world.request(world.clone(driver)))

    assert launch.environment["CLAUDE_CODE_MCP_STARTUP_WAIT_MS"] == "60000"
