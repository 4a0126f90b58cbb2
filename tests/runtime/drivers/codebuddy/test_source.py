from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from toolcrib import CodeBuddy
from toolcrib.errors import ServerConflictError

from ..stream_json.conftest import SESSION, World, put, read


def servers(name: str) -> dict[str, Any]:
    return {"mcpServers": {name: {"command": "x"}}}


@pytest.mark.parametrize(
    "places",
    [
        (".codebuddy/.mcp.json", ".codebuddy/mcp.json", ".codebuddy.json"),
        (".codebuddy/mcp.json", ".codebuddy.json"),
        (".codebuddy.json",),
    ],
)
def test_of_three_files_with_servers_the_first_counts(
    world: World, places: tuple[str, ...]
) -> None:
    for name in places:
        put(world.home / name, servers(f"from {name}"))

    clone = world.clone(CodeBuddy())
    CodeBuddy().prepare(world.request(clone))

    written = read(clone.profile / ".mcp.json")
    assert set(written["mcpServers"]) == {f"from {places[0]}", "toolcrib"}
    assert not (clone.profile / "mcp.json").exists()


def test_the_oldest_file_is_not_one_of_a_profile_elsewhere(world: World, tmp_path: Path) -> None:
    put(world.home / ".codebuddy.json", servers("old"))
    put(tmp_path / "other" / "settings.json", {})

    clone = world.clone(CodeBuddy(profile=tmp_path / "other"))

    assert not (clone.profile / ".mcp.json").exists()


def test_a_conflict_is_found_in_the_file_that_counts(world: World) -> None:
    legacy = put(world.home / ".codebuddy" / "mcp.json", servers("toolcrib"))

    with pytest.raises(ServerConflictError, match="toolcrib") as caught:
        world.preflight(CodeBuddy())

    assert str(legacy) in str(caught.value)
    put(world.home / ".codebuddy" / ".mcp.json", servers("mine"))
    world.preflight(CodeBuddy())


def test_a_conversation_of_another_workspace_is_moved_to_where_the_cli_looks(
    world: World,
) -> None:
    clone = world.clone(CodeBuddy())
    old = clone.profile / "projects" / "somewhere-else"
    put(old / f"{SESSION}.jsonl", "talk")
    put(old / SESSION / "tool-results" / "x.txt", "result")
    put(old / "another.jsonl", "other talk")

    CodeBuddy().prepare(world.request(clone, resume=SESSION))

    name = str(world.workspace.resolve()).strip("/").replace("/", "-")
    home = clone.profile / "projects" / name
    assert (home / f"{SESSION}.jsonl").read_text() == "talk"
    assert (home / SESSION / "tool-results" / "x.txt").read_text() == "result"
    assert (old / "another.jsonl").exists()
    assert len(CodeBuddy().conversation_files(clone, SESSION)) == 2


def test_a_conversation_that_is_in_its_place_stays(world: World) -> None:
    clone = world.clone(CodeBuddy())
    name = str(world.workspace.resolve()).strip("/").replace("/", "-")
    home = put(clone.profile / "projects" / name / f"{SESSION}.jsonl", "talk")
    stray = put(clone.profile / "projects" / "stray" / f"{SESSION}.jsonl", "stray")

    CodeBuddy().prepare(world.request(clone, resume=SESSION))

    assert home.read_text() == "talk"
    assert stray.read_text() == "stray"


def test_a_workspace_with_a_long_path_can_still_be_prepared(world: World) -> None:
    clone = world.clone(CodeBuddy())
    put(clone.profile / "projects" / "old" / f"{SESSION}.jsonl")
    deep = world.workspace.joinpath(*["directory-with-a-long-name"] * 20)
    deep.mkdir(parents=True)

    launch = CodeBuddy().prepare(world.request(clone, workspace=deep, resume=SESSION))

    assert launch.cwd == deep


@pytest.mark.parametrize(
    ("users", "used"),
    [("600000", "600000"), ("1000", "150000"), ("soon", "150000"), ("²", "150000")],
)
def test_the_longer_timeout_of_tools_counts(world: World, users: str, used: str) -> None:
    driver = CodeBuddy(environment={"MCP_TOOL_TIMEOUT": users})

    launch = driver.prepare(world.request(world.clone(driver)))

    assert launch.environment["MCP_TOOL_TIMEOUT"] == used


def test_no_conversation_is_moved_through_a_link(world: World) -> None:
    clone = world.clone(CodeBuddy())
    old = put(clone.profile / "projects" / "old" / f"{SESSION}.jsonl", "talk")
    name = str(world.workspace.resolve()).strip("/").replace("/", "-")
    (clone.profile / "projects" / name).symlink_to(world.home)

    CodeBuddy().prepare(world.request(clone, resume=SESSION))

    assert old.read_text() == "talk"
    assert not (world.home / f"{SESSION}.jsonl").exists()
