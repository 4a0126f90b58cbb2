from __future__ import annotations

import os
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from toolcrib.errors import (
    ProfileError,
    ProviderNotFoundError,
    ServerConflictError,
)
from toolcrib.runtime.drivers.cursor import Cursor

from .conftest import VARIABLE, World, put, read, tree


def test_settings_are_copied_and_conversations_are_not(world: World) -> None:
    for name in (
        "cli-config.json",
        "config.json",
        "settings.json",
        "mcp.json",
        "hooks.json",
        "permissions.json",
    ):
        put(world.profile / name, {})
    for name in ("skills/s/SKILL.md", "agents/a.md", "rules/r.mdc", "hooks/h.sh", "commands/c.md"):
        put(world.profile / name, name)
    put(world.profile / "chats" / "x" / "s1" / "store.db")
    put(world.profile / "projects" / "p" / "mcp-approvals.json", [])
    put(world.profile / "ide_state.json")
    (world.profile / "mcp.json").chmod(0o640)
    before = tree(world.home)

    clone = world.clone(Cursor())
    (clone.profile / "skills" / "s" / "SKILL.md").write_text("changed by the provider")

    copied = {path.name for path in clone.profile.iterdir()}
    assert copied == {
        "cli-config.json",
        "config.json",
        "settings.json",
        "mcp.json",
        "hooks.json",
        "permissions.json",
        "skills",
        "agents",
        "rules",
        "hooks",
        "commands",
    }
    assert (clone.profile / "mcp.json").stat().st_mode & 0o777 == 0o640
    assert tree(world.home) == before


def test_a_run_leaves_the_source_byte_for_byte_as_it_was(world: World) -> None:
    put(world.profile / "mcp.json", '{ "mcpServers": {"mine": {"command": "x"}} }')
    put(world.profile / "cli-config.json", '{"version": 1}')
    put(world.profile / "auth.json", {"accessToken": "a"})
    before = tree(world.home)

    clone = world.clone(Cursor())
    Cursor().prepare(world.request(clone))
    world.store.remove(clone)

    assert tree(world.home) == before


@pytest.mark.parametrize(
    "place", [".cursor/auth.json", ".config/cursor/auth.json", ".cursor/credentials.json"]
)
def test_a_login_is_linked_wherever_it_is(world: World, place: str) -> None:
    login = put(world.home / place, "old")

    clone = world.clone(Cursor())
    login.write_text("renewed")

    link = clone.profile / login.name
    assert link.is_symlink()
    assert link.read_text() == "renewed"


def test_a_login_below_xdg_config_home_is_found(world: World, tmp_path: Path) -> None:
    put(tmp_path / "xdg" / "cursor" / "auth.json", "login")
    put(tmp_path / "xdg" / "cursor" / "cli-config.json", {"version": 7})
    moved = replace(
        world, environment={**world.environment, "XDG_CONFIG_HOME": str(tmp_path / "xdg")}
    )

    clone = moved.clone(Cursor())

    assert (clone.profile / "auth.json").read_text() == "login"
    assert read(clone.profile / "cli-config.json") == {"version": 7}


def test_a_configuration_directory_of_the_user_wins(world: World, tmp_path: Path) -> None:
    put(tmp_path / "config" / "cli-config.json", {"version": 8})
    put(world.profile / "cli-config.json", {"version": 1})

    clone = world.clone(Cursor(environment={"CURSOR_CONFIG_DIR": str(tmp_path / "config")}))

    assert read(clone.profile / "cli-config.json") == {"version": 8}


def test_the_home_shows_the_users_entries_and_the_clones_profile(world: World) -> None:
    put(world.home / ".gitconfig", "[user]")
    put(world.home / ".ssh" / "known_hosts")
    put(world.profile / "settings.json", {"a": 1})

    clone = world.clone(Cursor())

    assert (clone.home / ".gitconfig").read_text() == "[user]"
    assert (clone.home / ".ssh").readlink() == world.home / ".ssh"
    assert (clone.home / ".cursor").resolve() == clone.profile.resolve()
    assert read(clone.home / ".cursor" / "settings.json") == {"a": 1}


def test_the_default_profile_may_be_missing(world: World) -> None:
    world.profile.rmdir()

    world.preflight(Cursor())
    clone = world.clone(Cursor())

    assert list(clone.profile.iterdir()) == []


def test_an_explicit_profile_must_be_there(world: World, tmp_path: Path) -> None:
    driver = Cursor(profile=tmp_path / "nothere")

    with pytest.raises(ProfileError, match="nothere is not a directory"):
        world.preflight(driver)
    with pytest.raises(ProfileError, match="nothere is not a directory"):
        world.clone(driver)
    assert list(world.store.host_directory.iterdir()) == []


def test_an_explicit_profile_is_taken_in_place_of_the_users(world: World, tmp_path: Path) -> None:
    put(world.profile / "settings.json", {"whose": "user"})
    put(world.profile / "rules" / "r.mdc")
    put(tmp_path / "other" / "settings.json", {"whose": "other"})

    clone = world.clone(Cursor(profile=str(tmp_path / "other")))

    assert read(clone.profile / "settings.json") == {"whose": "other"}
    assert not (clone.profile / "rules").exists()


def test_without_a_home_there_is_no_profile_to_find(world: World) -> None:
    homeless = replace(world, environment={"PATH": world.environment["PATH"]})

    with pytest.raises(ProfileError, match="HOME is not set"):
        homeless.preflight(Cursor())


def test_a_special_file_in_the_profile_is_an_error_and_leaves_no_clone(world: World) -> None:
    (world.profile / "skills").mkdir()
    os.mkfifo(world.profile / "skills" / "pipe")

    with pytest.raises(ProfileError, match="pipe"):
        world.clone(Cursor())

    assert list(world.store.host_directory.iterdir()) == []


def test_a_command_that_is_missing_is_found_out_before_anything_is_made(world: World) -> None:
    with pytest.raises(ProviderNotFoundError, match="nothere"):
        world.preflight(Cursor(command="nothere"))

    assert not world.store.root.exists()


@pytest.mark.parametrize("where", ["profile", "workspace", "above"])
@pytest.mark.parametrize(
    ("name", "entry"),
    [("toolcrib", {"url": "http://x"}), ("thief", {"env": {"T": "${env:" + VARIABLE + "}"}})],
)
def test_a_server_in_our_way_is_refused_and_nothing_is_written(
    world: World, where: str, name: str, entry: dict[str, Any]
) -> None:
    places = {
        "profile": world.profile / "mcp.json",
        "workspace": world.workspace / ".cursor" / "mcp.json",
        "above": world.workspace.parent / ".cursor" / "mcp.json",
    }
    path = put(places[where], {"mcpServers": {name: entry}})
    before = path.read_bytes()

    with pytest.raises(ServerConflictError, match=name) as caught:
        world.preflight(Cursor())

    assert str(path) in str(caught.value)
    assert path.read_bytes() == before
    assert not world.store.root.exists()
    world.preflight(Cursor(), tools=False)


@pytest.mark.parametrize("name", ["mcp.json", "cli-config.json"])
def test_a_malformed_file_in_the_profile_is_found_out_early(world: World, name: str) -> None:
    put(world.profile / name, "{")

    with pytest.raises(ProfileError, match=name):
        world.preflight(Cursor())


def test_the_users_own_file_is_not_taken_for_a_repositorys(world: World) -> None:
    put(world.profile / "mcp.json", {"mcpServers": {"mine": {"command": "x"}}})
    inside = replace(world, workspace=world.home / "project")
    inside.workspace.mkdir()
    clone = inside.clone(Cursor())

    inside.preflight(Cursor())

    assert "--approve-mcps" in Cursor().prepare(inside.request(clone)).argv
