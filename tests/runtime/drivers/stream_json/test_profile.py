from __future__ import annotations

import os
from dataclasses import replace
from pathlib import Path, PurePosixPath
from typing import Any

import pytest

from toolcrib.errors import ProfileError, ProviderNotFoundError, ServerConflictError

from .conftest import SESSION, VARIABLE, Either, World, put, read, tree

SERVERS = {"claude": ".claude.json", "codebuddy": ".mcp.json"}
MOVED = {"claude": "CLAUDE_CONFIG_DIR", "codebuddy": "CODEBUDDY_CONFIG_DIR"}


def servers_of(world: World, driver: Either) -> Path:
    """Where the user's own servers are."""
    beside = world.home if driver.provider == "claude" else world.profile(driver)
    return beside / SERVERS[driver.provider]


def test_settings_are_copied_and_conversations_are_not(world: World, driver: Either) -> None:
    profile = world.profile(driver)
    kept = ("settings.json", "agents/a.md", "skills/s/SKILL.md", "commands/c.md", "hooks/h.sh")
    for name in (*kept, "projects/p/x.jsonl", "history.jsonl", "plugins/p", "logs/l"):
        put(profile / name, "{}")
    put(servers_of(world, driver), {"mcpServers": {}, "mine": 1})
    before = tree(world.home)

    clone = world.clone(driver)
    (clone.profile / "agents" / "a.md").write_text("changed by the provider")

    copied = {path.name for path in clone.profile.iterdir()}
    assert copied == {
        *("settings.json", "agents", "skills", "commands", "hooks"),
        SERVERS[driver.provider],
    }
    assert tree(world.home) == before


def test_a_run_leaves_the_source_byte_for_byte_as_it_was(world: World, driver: Either) -> None:
    put(servers_of(world, driver), '{ "mcpServers": {"mine": {"command": "x"}} }')
    put(world.profile(driver) / ".credentials.json", "{}")
    before = tree(world.home)

    clone = world.clone(driver)
    driver.prepare(world.request(clone))
    world.store.remove(clone)

    assert tree(world.home) == before


@pytest.mark.parametrize("name", [".credentials.json", "credentials.json"])
def test_a_login_is_linked_so_that_a_renewal_counts(
    world: World, driver: Either, name: str
) -> None:
    login = put(world.profile(driver) / name, "old")

    clone = world.clone(driver)
    login.write_text("renewed")

    link = clone.profile / name
    assert link.is_symlink()
    assert link.read_text() == "renewed"


def test_the_default_profile_may_be_missing(world: World, driver: Either) -> None:
    world.profile(driver).rmdir()

    world.preflight(driver)
    clone = world.clone(driver)

    assert list(clone.profile.iterdir()) == []
    driver.prepare(world.request(clone))
    assert set(read(clone.profile / SERVERS[driver.provider])["mcpServers"]) == {"toolcrib"}


@pytest.mark.parametrize("how", ["option", "variable", "option over variable"])
def test_a_profile_elsewhere_is_taken_in_place_of_the_users(
    world: World, driver: Either, tmp_path: Path, how: str
) -> None:
    put(world.profile(driver) / "settings.json", {"whose": "user"})
    put(servers_of(world, driver), {"mcpServers": {"users": {}}})
    put(tmp_path / "other" / "settings.json", {"whose": "other"})
    put(tmp_path / "other" / SERVERS[driver.provider], {"mcpServers": {"others": {}}})
    moved = "/nowhere" if how == "option over variable" else str(tmp_path / "other")
    environment = {} if how == "option" else {MOVED[driver.provider]: moved}
    profile = None if how == "variable" else tmp_path / "other"

    clone = world.clone(replace(driver, profile=profile, environment=environment))

    assert read(clone.profile / "settings.json") == {"whose": "other"}
    assert set(read(clone.profile / SERVERS[driver.provider])["mcpServers"]) == {"others"}


@pytest.mark.parametrize("how", ["option", "variable"])
def test_a_profile_that_was_named_must_be_there(
    world: World, driver: Either, tmp_path: Path, how: str
) -> None:
    missing = str(tmp_path / "nothere")
    changes: dict[str, Any] = (
        {"profile": missing}
        if how == "option"
        else {"environment": {MOVED[driver.provider]: missing}}
    )
    named = replace(driver, **changes)

    with pytest.raises(ProfileError, match="nothere is not a directory"):
        world.preflight(named)
    with pytest.raises(ProfileError, match="nothere is not a directory"):
        world.clone(named)
    assert list(world.store.host_directory.iterdir()) == []


def test_without_a_home_there_is_no_profile_to_find(world: World, driver: Either) -> None:
    homeless = replace(world, environment={"PATH": world.environment["PATH"]})

    with pytest.raises(ProfileError, match="HOME is not set"):
        homeless.preflight(driver)


def test_a_profile_that_is_a_file_is_named(world: World, driver: Either) -> None:
    world.profile(driver).rmdir()
    put(world.profile(driver))

    with pytest.raises(ProfileError, match="not a directory"):
        world.preflight(driver)


def test_a_special_file_in_the_profile_is_an_error_and_leaves_no_clone(
    world: World, driver: Either
) -> None:
    (world.profile(driver) / "skills").mkdir()
    os.mkfifo(world.profile(driver) / "skills" / "pipe")

    with pytest.raises(ProfileError, match="pipe"):
        world.clone(driver)

    assert list(world.store.host_directory.iterdir()) == []


def test_a_command_that_is_missing_is_found_out_before_anything_is_made(
    world: World, driver: Either
) -> None:
    with pytest.raises(ProviderNotFoundError, match="nothere"):
        world.preflight(replace(driver, command="nothere"))

    assert not world.store.root.exists()


@pytest.mark.parametrize("where", ["profile", "workspace", "above"])
@pytest.mark.parametrize(
    ("name", "entry"),
    [("Toolcrib", {"url": "http://x"}), ("thief", {"env": {"T": "${" + VARIABLE + "}"}})],
)
def test_a_server_in_our_way_is_refused_and_nothing_is_written(
    world: World, driver: Either, where: str, name: str, entry: dict[str, Any]
) -> None:
    places = {
        "profile": servers_of(world, driver),
        "workspace": world.workspace / ".mcp.json",
        "above": world.workspace.parent / ".mcp.json",
    }
    path = put(places[where], {"mcpServers": {name: entry}})
    before = path.read_bytes()

    with pytest.raises(ServerConflictError, match=name) as caught:
        world.preflight(driver)

    assert str(path) in str(caught.value)
    assert path.read_bytes() == before
    assert not world.store.root.exists()
    world.preflight(driver, tools=False)


def test_a_server_that_a_repository_brings_later_is_refused_too(
    world: World, driver: Either
) -> None:
    clone = world.clone(driver)
    put(world.workspace / ".mcp.json", {"mcpServers": {"toolcrib": {}}})

    with pytest.raises(ServerConflictError, match="toolcrib"):
        driver.prepare(world.request(clone))


def test_a_malformed_file_in_the_profile_is_found_out_early(world: World, driver: Either) -> None:
    put(servers_of(world, driver), "{")

    with pytest.raises(ProfileError, match=SERVERS[driver.provider]):
        world.preflight(driver)


def test_a_conversation_is_found_by_its_id_alone(world: World, driver: Either) -> None:
    clone = world.clone(driver)
    mine = (
        f"projects/-a/{SESSION}.jsonl",
        f"projects/-a/{SESSION}/tool-results/x.txt",
        f"projects/-a/{SESSION}/subagents/agent-1.jsonl",
        f"projects/b/{SESSION}.jsonl",
    )
    for name in (
        *mine,
        f"projects/-a/{SESSION}0.jsonl",
        f"projects/-a/x{SESSION}.jsonl",
        f"projects/{SESSION}/x.jsonl",
        f"elsewhere/{SESSION}.jsonl",
        f"projects/{SESSION}.jsonl",
    ):
        put(clone.profile / name)
    private = put(world.home / "private")
    (clone.profile / "projects" / "-a" / SESSION / "link").symlink_to(private)
    (clone.profile / "projects" / "-c").symlink_to(clone.profile / "projects" / "-a")
    (clone.profile / "projects" / "d").mkdir()
    (clone.profile / "projects" / "d" / SESSION).symlink_to(world.home)
    (clone.profile / "projects" / "d" / f"{SESSION}.jsonl").symlink_to(private)

    found = driver.conversation_files(clone, SESSION)

    assert found == tuple(sorted(PurePosixPath(name) for name in mine))


@pytest.mark.parametrize("session", ["", "..", "a/b", "*", "."])
def test_what_is_no_id_finds_nothing(world: World, driver: Either, session: str) -> None:
    clone = world.clone(driver)
    put(clone.profile / "projects" / "-a" / ".jsonl")
    if "/" not in session:
        put(clone.profile / "projects" / "-a" / f"{session}.jsonl")

    assert driver.conversation_files(clone, session) == ()


def test_no_conversation_is_read_through_a_link(world: World, driver: Either) -> None:
    clone = world.clone(driver)
    put(world.home / "projects" / "p" / f"{SESSION}.jsonl")
    (clone.profile / "projects").symlink_to(world.home / "projects")

    assert driver.conversation_files(clone, SESSION) == ()
    assert driver.conversation_files(world.clone(driver), SESSION) == ()
