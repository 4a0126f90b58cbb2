"""What an application gives a run, laid into a clone that others may share."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from toolcrib.errors import ConfigurationError, ServerConflictError
from toolcrib.messages.resources import HttpServer, McpServer, Skill, StdioServer
from toolcrib.messages.secret import Secret
from toolcrib.messages.turn import HostedServer
from toolcrib.runtime.profiles.clone import Clone
from toolcrib.runtime.profiles.given import lay_skills, lay_text
from toolcrib.runtime.profiles.servers import check_added, json_entries

VARIABLE = "TOOLCRIB_TOKEN_" + "A" * 32
OWN = HostedServer(
    key="toolcrib",
    url="http://127.0.0.1:1/mcp",
    variable=VARIABLE,
    token=Secret("t"),
    tools=(),
    deadline=1.0,
)
NOTES = StdioServer(key="notes", command="notes", args=("-v",), env={"A": "b"})


@pytest.fixture
def clone(tmp_path: Path) -> Clone:
    made = Clone(tmp_path / "clone")
    made.profile.mkdir(parents=True)
    return made


def shown(clone: Clone) -> dict[str, str]:
    folder = clone.profile / "skills"
    return {path.name: (path / "SKILL.md").read_text() for path in folder.iterdir()}


def lay(clone: Clone, *skills: Skill) -> None:
    lay_skills(clone, skills, clone.profile / "skills")


def test_a_text_is_written_once_for_the_user_alone(clone: Clone) -> None:
    first, again = (lay_text(clone, "a.txt", "secret") for _ in range(2))
    other = lay_text(clone, "a.txt", "other")

    assert first == again != other
    assert (first.read_text(), other.read_text()) == ("secret", "other")
    assert first.stat().st_mode & 0o777 == 0o600
    assert clone.given.stat().st_mode & 0o777 == 0o700


def test_runs_of_a_clone_have_their_texts_apart(clone: Clone) -> None:
    one, two = (lay_text(replace(clone, run=run), "a.txt", "same") for run in ("r1", "r2"))

    assert one != two
    assert one.name == two.name
    assert not clone.given.exists()


def test_a_skill_is_a_text_or_a_copied_folder(clone: Clone, tmp_path: Path) -> None:
    source = tmp_path / "source"
    (source / "bin").mkdir(parents=True)
    (source / "SKILL.md").write_text("From a folder.")
    (source / "bin" / "run").write_text("#!/bin/sh\n")
    (source / "bin" / "run").chmod(0o755)

    lay(clone, Skill(name="a", content="From a text."), Skill(name="b", path=source))
    (source / "SKILL.md").write_text("Changed later.")

    assert shown(clone) == {"a": "From a text.", "b": "From a folder."}
    assert (clone.profile / "skills" / "b" / "bin" / "run").stat().st_mode & 0o111


def test_the_next_run_sees_its_own_skills_alone(clone: Clone) -> None:
    own = clone.profile / "skills" / "mine"
    own.mkdir(parents=True)
    (own / "SKILL.md").write_text("Of the profile.")
    lay(clone, Skill(name="a", content="1"), Skill(name="b", content="1"))

    lay(clone, Skill(name="a", content="2"))

    assert shown(clone) == {"a": "2", "mine": "Of the profile."}
    lay(clone)
    assert shown(clone) == {"mine": "Of the profile."}


def test_a_skill_never_hides_one_of_the_profile(clone: Clone) -> None:
    own = clone.profile / "skills" / "mine"
    own.mkdir(parents=True)
    (own / "SKILL.md").write_text("Of the profile.")

    with pytest.raises(ConfigurationError, match="'mine' of its own"):
        lay(clone, Skill(name="mine", content="x"))

    assert shown(clone) == {"mine": "Of the profile."}


def test_a_folder_without_its_text_is_no_skill(clone: Clone, tmp_path: Path) -> None:
    (tmp_path / "empty").mkdir()

    with pytest.raises(ConfigurationError, match=r"no SKILL\.md"):
        lay(clone, Skill(name="a", path=tmp_path / "empty"))

    assert not list(clone.given.iterdir())


def test_without_skills_nothing_is_made(clone: Clone) -> None:
    lay(clone)

    assert not (clone.profile / "skills").exists()
    assert not clone.given.exists()


@pytest.mark.parametrize(
    ("server", "message"),
    [
        (NOTES, "another MCP server 'notes'"),
        (HttpServer(key="ToolCrib", url="http://x"), "the name of the Agent's tools"),
        (HttpServer(key="a", url="http://x", bearer_variable=VARIABLE), "mentions"),
        (StdioServer(key="a", command="x", env={"T": f"${{{VARIABLE}}}"}), "mentions"),
    ],
)
def test_a_server_that_is_in_the_way_is_refused(server: McpServer, message: str) -> None:
    with pytest.raises(ServerConflictError, match=message):
        check_added([server], ["Notes"], OWN, "toolcrib")


def test_servers_that_are_in_nobodys_way_pass() -> None:
    check_added([NOTES, HttpServer(key="b", url="http://x")], ["a"], OWN, "toolcrib")
    check_added([NOTES], [], None, "toolcrib")
    with pytest.raises(ServerConflictError, match="another"):
        check_added([NOTES, NOTES], [], None, "toolcrib")


def test_servers_are_named_as_the_json_files_name_them() -> None:
    http = HttpServer(key="h", url="http://x/mcp", bearer_variable="MINE")

    assert json_entries([NOTES, http, HttpServer(key="o", url="http://y")]) == {
        "notes": {
            "type": "stdio",
            "command": "notes",
            "args": ["-v"],
            "env": {"A": "b"},
            "alwaysLoad": True,
        },
        "h": {
            "type": "http",
            "url": "http://x/mcp",
            "headers": {"Authorization": "Bearer ${MINE}"},
            "alwaysLoad": True,
        },
        "o": {"type": "http", "url": "http://y", "alwaysLoad": True},
    }
