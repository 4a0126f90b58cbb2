from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from pathlib import Path, PurePosixPath
from typing import Any

import pytest

from toolcrib.errors import (
    ConfigurationError,
    ProfileError,
    ProviderNotFoundError,
    ServerConflictError,
)
from toolcrib.messages.results import RunReason
from toolcrib.messages.secret import Secret
from toolcrib.messages.turn import HostedServer, Launch, ProcessExit, TurnOutcome
from toolcrib.runtime.drivers.cursor import Cursor
from toolcrib.runtime.drivers.interface import Emit, Preflight, TurnRequest, Write
from toolcrib.runtime.profiles.clone import Clone
from toolcrib.runtime.profiles.clones import CloneStore

TOKEN = "s3cret-t0ken"
VARIABLE = "TOOLCRIB_TOKEN_" + "A" * 32
SERVER = HostedServer(
    key="toolcrib",
    url="http://127.0.0.1:1/mcp",
    variable=VARIABLE,
    token=Secret(TOKEN),
    tools=("lookup_issue",),
    deadline=120.0,
)


@dataclass(frozen=True)
class World:
    """A user with a home, a workspace and an installed command."""

    home: Path
    workspace: Path
    environment: Mapping[str, str]
    store: CloneStore

    @property
    def profile(self) -> Path:
        return self.home / ".cursor"

    def preflight(self, driver: Cursor, *, tools: bool = True) -> None:
        driver.preflight(
            Preflight(
                environment=self.environment,
                workspace=self.workspace,
                server_key="toolcrib" if tools else None,
                variable=VARIABLE if tools else None,
            )
        )

    def clone(self, driver: Cursor) -> Clone:
        return self.store.create("a", "k", lambda clone: driver.seed(clone, self.environment))

    def request(self, clone: Clone, **changes: Any) -> TurnRequest:
        request = TurnRequest(
            run_id="run-1",
            prompt="Hi",
            workspace=self.workspace,
            clone=clone,
            environment=self.environment,
            server=SERVER,
            resume=None,
        )
        return replace(request, **changes)


@pytest.fixture
def world(tmp_path: Path) -> Iterator[World]:
    home = tmp_path / "home"
    for path in (home / ".cursor", tmp_path / "work", tmp_path / "bin"):
        path.mkdir(parents=True)
    command = tmp_path / "bin" / "agent"
    command.write_text("#!/bin/sh\n")
    command.chmod(0o755)
    environment = {"HOME": str(home), "PATH": str(tmp_path / "bin"), "TOOLCRIB_HOST": "h"}
    store = CloneStore(tmp_path / "clones")
    yield World(home, tmp_path / "work", environment, store)
    store.close()


def put(path: Path, content: Any = "") -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(content if isinstance(content, str) else json.dumps(content))
    return path


def read(path: Path) -> Any:
    return json.loads(path.read_text())


def tree(root: Path) -> dict[str, tuple[int, bytes]]:
    return {
        str(path.relative_to(root)): (path.lstat().st_mode, path.read_bytes())
        for path in root.rglob("*")
        if path.is_file()
    }


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


@pytest.mark.parametrize(
    "arguments",
    [
        ("--print",),
        ("-p",),
        ("--output-format", "text"),
        ("--output-format=text",),
        ("--stream-partial-output",),
        ("--workspace", "/"),
        ("--workspace=/",),
        ("--resume", "x"),
        ("--resume=x",),
        ("--continue",),
        ("--model", "x"),
        ("-mx",),
        ("--mode", "ask"),
        ("--mode=plan",),
        ("--plan",),
        ("--force",),
        ("-f",),
        ("--force=true",),
        ("-xf",),
        ("--yolo",),
        ("--trust",),
        ("--approve-mcps",),
        ("--approve-mcps=true",),
        ("--sandbox", "disabled"),
        ("--api-key", "k"),
        ("-ak",),
        ("-H", "X: y"),
        ("-c",),
        ("--cloud",),
        ("--",),
        ("-",),
        ("",),
        ("do this instead",),
        ("--verbose=1", "do this instead"),
        ("--fine", "value", "do this instead"),
    ],
)
def test_arguments_that_are_the_drivers_to_decide_are_refused(arguments: tuple[str, ...]) -> None:
    with pytest.raises(ConfigurationError, match=r"extra_args can't hold"):
        Cursor(extra_args=arguments)


def test_the_value_of_a_refused_argument_is_not_shown() -> None:
    with pytest.raises(ConfigurationError) as caught:
        Cursor(extra_args=("--api-key=topsecret",))

    assert "--api-key" in str(caught.value)
    assert "topsecret" not in str(caught.value)


def test_other_arguments_come_last(world: World) -> None:
    clone = world.clone(Cursor())

    launch = Cursor(extra_args=["--timeout", "5", "--quiet"]).prepare(world.request(clone))

    assert launch.argv[-3:] == ("--timeout", "5", "--quiet")


@pytest.mark.parametrize(
    "options",
    [
        {"model": ""},
        {"model": "--force"},
        {"grace": -1.0},
        {"grace": float("nan")},
        {"environment": {"A=B": "x"}},
        {"extra_args": "--timeout 5"},
    ],
)
def test_options_that_can_not_work_are_refused_when_given(options: dict[str, Any]) -> None:
    with pytest.raises(ConfigurationError):
        Cursor(**options)


def test_a_driver_is_a_value_that_shows_no_environment() -> None:
    environment = {"CURSOR_API_KEY": "topsecret"}
    driver = Cursor(command=["agent", "x"], environment=environment)
    environment["CURSOR_API_KEY"] = "changed"

    assert driver.environment["CURSOR_API_KEY"] == "topsecret"
    assert "topsecret" not in repr(driver)
    assert driver == Cursor(command=("agent", "x"), environment={"CURSOR_API_KEY": "topsecret"})
    assert hash(driver) == hash(replace(driver))
    assert driver.provider == driver.fingerprint() == "cursor"


def test_conversation_files_are_found_by_the_id(world: World) -> None:
    clone = world.clone(Cursor())
    mine = (
        "chats/s1/transcript.jsonl",
        "chats/0f/s1/meta.json",
        "chats/0f/s1/store.db",
        "chats/0f/s1/store.db-wal",
        "chats/s1.jsonl",
    )
    for name in (*mine, "chats/s10/transcript.jsonl", "chats/0f/s2/store.db", "projects/s1/x"):
        put(clone.profile / name)
    (clone.profile / "chats" / "s1" / "link").symlink_to(world.home)
    (clone.profile / "chats" / "0f" / "s1" / "link").symlink_to(put(world.home / "private"))

    found = Cursor().conversation_files(clone, "s1")

    assert found == tuple(sorted(PurePosixPath(name) for name in mine))
    assert Cursor().conversation_files(clone, "") == ()
    assert Cursor().conversation_files(clone, "..") == ()


def test_no_conversation_is_read_through_a_link(world: World) -> None:
    clone = world.clone(Cursor())
    put(world.home / "chats" / "s1" / "store.db")
    (clone.profile / "chats").symlink_to(world.home / "chats")

    assert Cursor().conversation_files(clone, "s1") == ()
    assert Cursor().conversation_files(world.clone(Cursor()), "s1") == ()


def scripted(tmp_path: Path, turns: list[dict[str, Any]]) -> tuple[str, ...]:
    script = put(tmp_path / "script.json", {"turns": turns})
    module = "toolcrib.testing.scripted_provider"
    return (sys.executable, "-P", "-m", module, "--script", str(script))


def play(driver: Cursor, request: TurnRequest) -> tuple[TurnOutcome, list[object]]:
    launch: Launch = driver.prepare(request)
    dialect = driver.dialect(request)
    opening = dialect.opening()
    done = subprocess.run(
        launch.argv,
        input=b"".join(step.data for step in opening if isinstance(step, Write)),
        env=dict(launch.environment),
        cwd=launch.cwd,
        capture_output=True,
        timeout=50,
        check=False,
    )
    steps = [step for line in done.stdout.decode().splitlines() for step in dialect.line(line)]
    exit = ProcessExit(code=done.returncode, stderr=done.stderr.decode())
    return dialect.ended(exit), [step.event for step in steps if isinstance(step, Emit)]


def test_a_real_process_is_driven_and_resumed_in_a_fresh_clone(
    world: World, tmp_path: Path
) -> None:
    command = scripted(
        tmp_path,
        [
            {"when": {"prompt": ".*", "resumed": True}, "steps": [{"say": "{{history.last}}!"}]},
            {"when": {"prompt": ".*"}, "steps": [{"think": "Hm"}, {"say": "Hello"}]},
        ],
    )
    driver = Cursor(command=command)
    first = world.clone(driver)

    outcome, _events = play(driver, world.request(first))
    assert outcome.ok, outcome.message
    assert outcome.text == "Hello"
    assert outcome.session_id is not None
    files = driver.conversation_files(first, outcome.session_id)
    assert files
    second = world.clone(driver)
    for path in files:
        put(second.profile / path, (first.profile / path).read_text())
    world.store.remove(first)

    resumed, _events = play(driver, world.request(second, resume=outcome.session_id))
    assert resumed.text == "Hello!", resumed.message
    assert resumed.session_id == outcome.session_id

    unknown, _events = play(driver, world.request(second, resume="unknown-id"))
    assert unknown.reason is RunReason.RESUME_REJECTED


def test_a_real_process_finds_our_server_approved_and_a_repositorys_not(
    world: World, tmp_path: Path
) -> None:
    calls = [
        {
            "call": "x",
            "arguments": {},
            "server": "toolcrib",
            "on_error": [{"say": "{{error.code}} "}],
        },
        {
            "call": "x",
            "arguments": {},
            "server": "theirs",
            "on_error": [{"say": "{{error.code}}"}],
        },
    ]
    driver = Cursor(command=scripted(tmp_path, [{"when": {"prompt": ".*"}, "steps": calls}]))
    theirs = {"url": "http://127.0.0.1:1/theirs"}
    put(world.workspace / ".cursor" / "mcp.json", {"mcpServers": {"theirs": theirs}})

    outcome, _events = play(driver, world.request(world.clone(driver)))

    # Nothing listens there, so that ours gets past its approval and no further.
    assert outcome.text == "unreachable not_approved", outcome.message
