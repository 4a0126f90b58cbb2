from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from toolcrib.errors import ProfileError, ServerConflictError
from toolcrib.messages.secret import Secret
from toolcrib.runtime.drivers.codex import Codex
from toolcrib.runtime.drivers.codex import config as config_files

from .conftest import SERVER, TOKEN, VARIABLE, World, put, read, settings, tree

ENTRY = {
    "url": "http://127.0.0.1:1/mcp",
    "bearer_token_env_var": VARIABLE,
    "required": True,
    "default_tools_approval_mode": "approve",
    "startup_timeout_sec": 30,
    "tool_timeout_sec": 150.0,
}
USERS = {
    "no file": "",
    "tables": '[mcp_servers.mine]\ncommand = "x"\n',
    "table of tables": '[mcp_servers]\n[mcp_servers.mine]\ncommand = "x"\n[tui]\na = 1\n',
    "apart": "[mcp_servers.mine]\na = 1\n[tui]\nb = 2\n[mcp_servers.other]\nc = 3\n",
    "inline": 'mcp_servers = { mine = { command = "x" } }\nmodel = "m"\n',
    "inline in table": '[mcp_servers]\nmine = { command = "x" }\n',
    "dotted": 'mcp_servers.mine.command = "x"\nmodel = "m"\n[tui]\nb = 2\n',
    "empty table": "[mcp_servers]\n",
    "odd names": '[mcp_servers."my \\"odd\\".server"]\nenv = { "A.B" = "ü\\n" }\n'
    "[projects.\"/a b/c'd\"]\ntrust_level = 'trusted'\n",
    "no last line end": '[mcp_servers.mine]\ncommand = "x"',
    "windows line ends": '[mcp_servers.mine]\r\ncommand = "x"\r\n',
}


@pytest.mark.parametrize("text", USERS.values(), ids=USERS)
def test_the_hosted_server_is_written_beside_whatever_the_user_has(
    world: World, text: str
) -> None:
    put(world.config, text)
    clone = world.clone(Codex())
    before = read(world.config)

    for _ in range(2):
        Codex().prepare(world.request(clone))

    servers = before.pop("mcp_servers", {})
    written = read(clone.profile / "config.toml")
    assert written.pop("mcp_servers") == {**servers, "toolcrib": ENTRY}
    assert written == before


def test_comments_and_the_order_of_the_users_file_stay(world: World) -> None:
    text = '# Mine.\nmodel = "m" # the best\n\n[mcp_servers.mine]\n# Local.\ncommand = "x"\n'
    put(world.config, text)
    clone = world.clone(Codex())

    Codex().prepare(world.request(clone))

    written = (clone.profile / "config.toml").read_text()
    assert written.startswith(text)
    assert (clone.profile / "config.toml").stat().st_mode & 0o777 == 0o644


def test_a_new_file_is_private(world: World) -> None:
    clone = world.clone(Codex())

    Codex().prepare(world.request(clone))

    assert (clone.profile / "config.toml").stat().st_mode & 0o777 == 0o600


def test_every_turn_is_prepared_from_its_own_request(world: World) -> None:
    clone = world.clone(Codex())
    Codex().prepare(world.request(clone))
    other = "TOOLCRIB_TOKEN_" + "B" * 32
    server = replace(SERVER, url="http://127.0.0.1:2/mcp", variable=other, token=Secret("another"))

    launch = Codex().prepare(world.request(clone, server=server))

    written = (clone.profile / "config.toml").read_text()
    assert read(clone.profile / "config.toml")["mcp_servers"]["toolcrib"]["url"] == server.url
    assert VARIABLE not in written + " ".join(launch.argv)
    assert "127.0.0.1:1/" not in written
    assert launch.environment[other] == "another"
    assert VARIABLE not in launch.environment


@pytest.mark.parametrize(
    "servers", [{}, {"mcp_servers": {"mine": {"command": "x"}}}], ids=["none", "one"]
)
def test_a_turn_without_tools_finds_none_from_an_earlier_turn(
    world: World, servers: dict[str, Any]
) -> None:
    put(world.config, '[mcp_servers.mine]\ncommand = "x"\n' if servers else "")
    clone = world.clone(Codex())
    Codex().prepare(world.request(clone))

    launch = Codex().prepare(world.request(clone, server=None))

    assert read(clone.profile / "config.toml") == servers
    assert launch.secrets == ()
    assert set(settings(launch)) == {"sqlite_home", "log_dir"}
    assert not any(name.startswith("TOOLCRIB_TOKEN_") for name in launch.environment)


def test_the_tools_may_take_as_long_as_the_gateway_lets_them(world: World) -> None:
    clone = world.clone(Codex())

    Codex().prepare(world.request(clone, server=replace(SERVER, deadline=900.0)))

    entry = read(clone.profile / "config.toml")["mcp_servers"]["toolcrib"]
    assert entry["tool_timeout_sec"] > 900


def test_the_source_is_byte_for_byte_as_it_was(world: World) -> None:
    put(world.config, '[mcp_servers.mine]\ncommand = "x"')
    put(world.profile / "auth.json", "{}")
    put(world.workspace / ".codex" / "config.toml", 'model = "theirs"')
    before = tree(world.home), tree(world.workspace)

    clone = world.clone(Codex())
    Codex().prepare(world.request(clone))
    world.store.remove(clone)

    assert (tree(world.home), tree(world.workspace)) == before


def test_a_file_that_became_a_link_is_not_written_through(world: World) -> None:
    clone = world.clone(Codex())
    source = put(world.config, 'model = "m"\n')
    (clone.profile / "config.toml").symlink_to(source)

    with pytest.raises(ProfileError, match="symbolic link"):
        Codex().prepare(world.request(clone))

    assert source.read_text() == 'model = "m"\n'


@pytest.mark.parametrize(
    ("text", "line"),
    [
        ('model = "m"\n[broken\n', 2),
        ("a = 1\n\nb = \n", 3),
        ('a = "unfinished\n', 1),
        ("a = 1\na = 2\n", None),
        ("[t]\nb = 1\n[t]\n", None),
    ],
)
@pytest.mark.parametrize("tools", [True, False])
def test_a_malformed_file_is_found_out_early_with_its_line(
    world: World, text: str, line: int | None, tools: bool
) -> None:
    put(world.config, text)

    with pytest.raises(ProfileError, match="is not valid TOML") as caught:
        world.preflight(Codex(), tools=tools)

    assert str(world.config) in str(caught.value)
    if line is not None:
        assert f"line {line}:" in str(caught.value)


def test_a_file_that_is_no_text_is_found_out_early(world: World) -> None:
    world.config.write_bytes(b'a = 1\nb = "\xff"\n')

    with pytest.raises(ProfileError, match="line 2: it is not UTF-8"):
        world.preflight(Codex())


@pytest.mark.parametrize(
    ("text", "named"),
    [
        ("mcp_servers = 3\n", "mcp_servers in"),
        ("shell_environment_policy = []\n", "shell_environment_policy in"),
        ("[shell_environment_policy]\nexclude = 'A'\n", "shell_environment_policy.exclude"),
        ("[shell_environment_policy]\nexclude = [1]\n", "shell_environment_policy.exclude"),
    ],
)
def test_settings_of_an_unknown_form_are_not_overwritten(
    world: World, text: str, named: str
) -> None:
    put(world.config, text)

    with pytest.raises(ProfileError, match=named):
        world.preflight(Codex())


@pytest.mark.parametrize("where", ["profile", "workspace", "above"])
@pytest.mark.parametrize(
    ("text", "named"),
    [
        ('[mcp_servers.toolcrib]\nurl = "http://x"\n', "toolcrib"),
        ('mcp_servers.ToolCrib.url = "http://x"\n', "ToolCrib"),
        (f'[mcp_servers.thief]\nbearer_token_env_var = "{VARIABLE}"\n', VARIABLE),
        (f'[mcp_servers.thief]\ncommand = "x"\nenv_vars = ["{VARIABLE}"]\n', VARIABLE),
        (f'[shell_environment_policy]\nset = {{ "{VARIABLE}" = "x" }}\n', VARIABLE),
        (f'notify = ["x", "\\u0054{VARIABLE[1:]}"]\n', VARIABLE),
    ],
)
def test_a_setting_in_our_way_is_refused_and_nothing_is_written(
    world: World, where: str, text: str, named: str
) -> None:
    places = {
        "profile": world.config,
        "workspace": world.workspace / ".codex" / "config.toml",
        "above": world.workspace.parent / ".codex" / "config.toml",
    }
    path = put(places[where], text)

    with pytest.raises(ServerConflictError, match=named) as caught:
        world.preflight(Codex())

    assert str(path) in str(caught.value)
    assert path.read_text() == text
    assert not world.store.root.exists()
    world.preflight(Codex(), tools=False)


def test_a_server_that_a_repository_gets_between_two_turns_is_refused(world: World) -> None:
    clone = world.clone(Codex())
    world.preflight(Codex())
    Codex().prepare(world.request(clone))
    put(world.workspace / ".codex" / "config.toml", '[mcp_servers.toolcrib]\nurl = "http://x"\n')

    with pytest.raises(ServerConflictError, match="toolcrib"):
        Codex().prepare(world.request(clone))


def test_the_users_own_file_is_not_taken_for_a_projects(world: World) -> None:
    put(world.config, "[shell_environment_policy]\nexclude = ['A']\n")
    inside = replace(world, workspace=world.home / "project")
    inside.workspace.mkdir()
    clone = inside.clone(Codex())
    # Only the clone's counts, as the source was copied when the Agent began.
    put(world.config, "[shell_environment_policy]\nexclude = ['B']\n")

    launch = Codex().prepare(inside.request(clone))

    assert settings(launch)["shell_environment_policy.exclude"] == ["A", VARIABLE]


def test_what_anybody_keeps_out_of_the_models_shell_is_kept_out_with_the_token(
    world: World, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    policy = "[shell_environment_policy]\nexclude = {}\n"
    monkeypatch.setattr(config_files, "SYSTEM", put(tmp_path / "sys", policy.format(["ADMIN_*"])))
    put(world.config, policy.format(["MY_KEY", "AWS_*"]) + "inherit = 'core'\n")
    put(world.workspace / ".codex" / "config.toml", policy.format(["AWS_*", 'A"B']))
    clone = world.clone(Codex())

    launch = Codex().prepare(world.request(clone))

    assert settings(launch)["shell_environment_policy.exclude"] == [
        "MY_KEY",
        "AWS_*",
        "ADMIN_*",
        'A"B',
        VARIABLE,
    ]


def test_nothing_of_a_run_lies_outside_the_clone_and_the_token_in_no_file(world: World) -> None:
    put(world.config, 'sqlite_home = "/elsewhere"\nlog_dir = "/elsewhere"\n')
    clone = world.clone(Codex())

    launch = Codex().prepare(world.request(clone))

    wanted: dict[str, Any] = {
        "sqlite_home": str(clone.profile),
        "log_dir": str(clone.profile / "log"),
        "shell_environment_policy.exclude": [VARIABLE],
        "features.shell_snapshot": False,
    }
    assert settings(launch) == wanted
    assert TOKEN not in " ".join(launch.argv) + repr(launch)
    for path in clone.root.rglob("*"):
        assert path.is_dir() or TOKEN.encode() not in path.read_bytes()
