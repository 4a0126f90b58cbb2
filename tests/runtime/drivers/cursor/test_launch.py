from __future__ import annotations

from dataclasses import replace

import pytest

from toolcrib.errors import (
    ConfigurationError,
    ProfileError,
)
from toolcrib.messages.secret import Secret
from toolcrib.runtime.drivers.cursor import Cursor

from .conftest import SERVER, TOKEN, VARIABLE, World, put, read


def test_the_launch_says_where_everything_is(world: World) -> None:
    clone = world.clone(Cursor())

    launch = Cursor(model="gpt", grace=0.5, environment={"EXTRA": "1"}).prepare(
        world.request(clone)
    )

    assert launch.argv == (
        str(world.workspace.parent / "bin" / "agent"),
        "-p",
        "--output-format",
        "stream-json",
        "--workspace",
        str(world.workspace),
        "--model",
        "gpt",
        "--trust",
        "--approve-mcps",
    )
    assert launch.cwd == world.workspace
    assert launch.grace == 0.5
    assert launch.secrets == (Secret(TOKEN),)
    assert launch.environment == {
        "PATH": world.environment["PATH"],
        "TOOLCRIB_HOST": "h",
        "EXTRA": "1",
        "HOME": str(clone.home),
        "CURSOR_CONFIG_DIR": str(clone.profile),
        "CURSOR_DATA_DIR": str(clone.profile),
        "TMPDIR": str(clone.temp),
        "TMP": str(clone.temp),
        "TEMP": str(clone.temp),
        "NO_PROXY": "127.0.0.1",
        "no_proxy": "127.0.0.1",
        VARIABLE: TOKEN,
    }


def test_the_token_is_in_the_environment_and_nowhere_else(world: World) -> None:
    clone = world.clone(Cursor())

    launch = Cursor().prepare(world.request(clone))

    assert TOKEN not in " ".join(launch.argv)
    assert TOKEN not in repr(launch)
    for path in clone.root.rglob("*"):
        if path.is_file():
            assert TOKEN.encode() not in path.read_bytes()


def test_the_hosted_server_is_written_beside_the_users(world: World) -> None:
    put(world.profile / "mcp.json", {"mcpServers": {"mine": {"command": "x"}}})
    clone = world.clone(Cursor())

    Cursor().prepare(world.request(clone))

    assert read(clone.home / ".cursor" / "mcp.json") == {
        "mcpServers": {
            "mine": {"command": "x"},
            "toolcrib": {
                "type": "http",
                "url": "http://127.0.0.1:1/mcp",
                "headers": {"Authorization": "Bearer ${env:" + VARIABLE + "}"},
            },
        }
    }


def test_every_turn_is_prepared_from_its_own_request(world: World) -> None:
    clone = world.clone(Cursor())
    Cursor().prepare(world.request(clone))
    other = "TOOLCRIB_TOKEN_" + "B" * 32
    # What an earlier turn, or the model in it, left must not count.
    (clone.home / ".cursor").unlink()
    (clone.home / ".cursor").symlink_to(world.profile)
    server = replace(SERVER, url="http://127.0.0.1:2/mcp", variable=other, token=Secret("another"))

    launch = Cursor().prepare(world.request(clone, server=server, resume="s1"))

    written = (clone.profile / "mcp.json").read_text()
    assert "http://127.0.0.1:2/mcp" in written
    assert other in written
    assert VARIABLE not in written
    assert "127.0.0.1:1/" not in written
    assert launch.environment[other] == "another"
    assert VARIABLE not in launch.environment
    assert launch.argv[launch.argv.index("--resume") + 1] == "s1"
    assert (clone.home / ".cursor").resolve() == clone.profile.resolve()


def test_a_turn_without_tools_finds_none_from_an_earlier_turn(world: World) -> None:
    put(world.profile / "mcp.json", {"mcpServers": {"mine": {"command": "x"}}})
    clone = world.clone(Cursor())
    Cursor().prepare(world.request(clone))

    launch = Cursor().prepare(world.request(clone, server=None))

    assert read(clone.profile / "mcp.json") == {"mcpServers": {"mine": {"command": "x"}}}
    assert read(clone.profile / "cli-config.json")["permissions"] == {"allow": [], "deny": []}
    assert launch.secrets == ()
    assert "--approve-mcps" not in launch.argv
    assert not any(name.startswith("TOOLCRIB_TOKEN_") for name in launch.environment)


def test_a_file_that_became_a_link_is_not_written_through(world: World) -> None:
    clone = world.clone(Cursor())
    source = put(world.profile / "mcp.json", {})
    (clone.profile / "mcp.json").symlink_to(source)

    with pytest.raises(ProfileError, match="symbolic link"):
        Cursor().prepare(world.request(clone))

    assert source.read_text() == "{}"


def test_hosted_tools_are_allowed_beside_what_the_user_allows(world: World) -> None:
    put(
        world.profile / "cli-config.json",
        {"version": 1, "model": "m", "permissions": {"allow": ["Shell(ls)"], "deny": ["Read(x)"]}},
    )
    clone = world.clone(Cursor())

    for _ in range(2):
        Cursor().prepare(world.request(clone))

    assert read(clone.profile / "cli-config.json") == {
        "version": 1,
        "editor": {"vimMode": False},
        "model": "m",
        "permissions": {"allow": ["Shell(ls)", "Mcp(toolcrib:*)"], "deny": ["Read(x)"]},
    }


def test_permissions_of_an_unknown_form_are_not_overwritten(world: World) -> None:
    put(world.profile / "cli-config.json", {"permissions": ["all"]})
    clone = world.clone(Cursor())

    with pytest.raises(ProfileError, match="permissions in"):
        Cursor().prepare(world.request(clone))


@pytest.mark.parametrize("where", [".", ".."])
def test_servers_of_a_repository_are_never_approved_along_with_ours(
    world: World, where: str
) -> None:
    clone = world.clone(Cursor())
    repository = put(
        world.workspace / where / ".cursor" / "mcp.json", {"mcpServers": {"theirs": {}}}
    )

    launch = Cursor().prepare(world.request(clone))

    assert "--approve-mcps" not in launch.argv
    (approvals,) = clone.profile.glob("projects/*/mcp-approvals.json")
    (approval,) = read(approvals)
    assert approval.startswith("toolcrib-")
    assert read(repository) == {"mcpServers": {"theirs": {}}}

    repository.write_text('{"mcpServers": {}}')
    assert "--approve-mcps" in Cursor().prepare(world.request(clone)).argv


def test_a_workspace_with_a_long_path_can_still_be_prepared(world: World) -> None:
    clone = world.clone(Cursor())
    deep = world.workspace.joinpath(*["directory-with-a-long-name"] * 20)
    deep.mkdir(parents=True)

    launch = Cursor().prepare(world.request(clone, workspace=deep))

    assert launch.cwd == deep


@pytest.mark.parametrize("resume", ["--force", "-f", "a b", "../x", "", "x" * 201, "a\n"])
def test_a_conversation_id_can_not_become_a_flag(world: World, resume: str) -> None:
    clone = world.clone(Cursor())

    with pytest.raises(ConfigurationError, match="no conversation"):
        Cursor().prepare(world.request(clone, resume=resume))


def test_other_arguments_come_last(world: World) -> None:
    clone = world.clone(Cursor())

    launch = Cursor(extra_args=["--timeout", "5", "--quiet"]).prepare(world.request(clone))

    assert launch.argv[-3:] == ("--timeout", "5", "--quiet")
