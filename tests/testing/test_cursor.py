"""`scripted_cursor`: the real driver with the scripted provider as its CLI."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from toolcrib.errors import ConfigurationError
from toolcrib.messages.secret import Secret
from toolcrib.messages.turn import HostedServer, ProcessExit, TurnOutcome
from toolcrib.runtime.drivers.cursor import Cursor
from toolcrib.runtime.drivers.interface import TurnRequest
from toolcrib.runtime.profiles.clone import Clone
from toolcrib.runtime.profiles.clones import CloneStore
from toolcrib.testing import scripted_claude, scripted_cursor

DEADLINE = 30.0
TOKEN = "a-token-of-this-test"
VARIABLE = "TOOLCRIB_TOKEN_0123456789ABCDEF0123456789ABCDEF"


def saying(*steps: dict[str, Any]) -> dict[str, Any]:
    return {"turns": [{"steps": list(steps)}]}


@pytest.fixture
def clones(tmp_path: Path) -> Iterator[CloneStore]:
    store = CloneStore(tmp_path / "clones")
    yield store
    store.close()


@pytest.fixture
def environment(tmp_path: Path) -> dict[str, str]:
    home = tmp_path / "home"
    home.mkdir()
    return {"PATH": os.environ["PATH"], "HOME": str(home)}


def run(
    driver: Cursor,
    clone: Clone,
    environment: dict[str, str],
    *,
    resume: str | None = None,
    server: HostedServer | None = None,
) -> TurnOutcome:
    workspace = clone.root.parent.parent / "workspace"
    workspace.mkdir(exist_ok=True)
    request = TurnRequest(
        run_id="run-1",
        prompt="Hello",
        workspace=workspace,
        clone=clone,
        environment=environment,
        server=server,
        resume=resume,
    )
    launch = driver.prepare(request)
    ended = subprocess.run(
        launch.argv,
        input=request.prompt.encode(),
        capture_output=True,
        env=dict(launch.environment),
        cwd=launch.cwd,
        timeout=DEADLINE,
        check=False,
    )
    dialect = driver.dialect(request)
    for line in ended.stdout.decode().splitlines():
        dialect.line(line)
    return dialect.ended(ProcessExit(code=ended.returncode, stderr=ended.stderr.decode()))


def test_a_driver_runs_the_script_and_reads_its_records(
    tmp_path: Path, clones: CloneStore, environment: dict[str, str]
) -> None:
    driver = scripted_cursor(
        saying({"think": "hm"}, {"say": "Turn {{turn}}. {{history.last}}", "pieces": 2}),
        directory=tmp_path,
        model="some-model",
    )
    clone = clones.create("agent", "key", lambda clone: driver.seed(clone, environment))

    first = run(driver, clone, environment)
    second = run(driver, clone, environment, resume=first.session_id)

    assert (first.ok, first.text, first.model) == (True, "Turn 1. ", "some-model")
    assert (second.ok, second.text) == (True, "Turn 2. Turn 1. ")
    assert second.session_id == first.session_id
    assert first.session_id is not None
    assert driver.conversation_files(clone, first.session_id)
    clones.remove(clone)


def test_a_conversation_that_is_gone_is_told_as_such(
    tmp_path: Path, clones: CloneStore, environment: dict[str, str]
) -> None:
    driver = scripted_cursor(saying({"say": "hi"}), directory=tmp_path)
    clone = clones.create("agent", "key", lambda clone: driver.seed(clone, environment))

    outcome = run(driver, clone, environment, resume="no-such-conversation")

    assert outcome.reason == "resume_rejected"
    clones.remove(clone)


@pytest.mark.parametrize("repository_has_servers", [False, True])
def test_the_hosted_server_is_found_and_approved(
    tmp_path: Path,
    clones: CloneStore,
    environment: dict[str, str],
    tool_server: Any,
    repository_has_servers: bool,
) -> None:
    driver = scripted_cursor(
        saying({"call": "say_plainly", "save": "words"}, {"say": "{{results.words}}"}),
        directory=tmp_path,
    )
    clone = clones.create("agent", "key", lambda clone: driver.seed(clone, environment))
    server = HostedServer(
        key="toolcrib",
        url=tool_server.url,
        variable=VARIABLE,
        token=Secret(TOKEN),
        tools=("say_plainly",),
        deadline=10,
    )
    if repository_has_servers:
        own = clone.root.parent.parent / "workspace" / ".cursor" / "mcp.json"
        own.parent.mkdir(parents=True)
        own.write_text('{"mcpServers": {"theirs": {"url": "http://127.0.0.1:1/mcp"}}}')

    outcome = run(driver, clone, environment, server=server)

    assert (outcome.ok, outcome.text) == (True, "just words"), outcome.message
    clones.remove(clone)


def test_the_users_own_profile_is_left_out(
    tmp_path: Path, clones: CloneStore, environment: dict[str, str]
) -> None:
    users = Path(environment["HOME"]) / ".cursor"
    users.mkdir()
    (users / "mcp.json").write_text('{"mcpServers": {"users": {"url": "http://127.0.0.1:1"}}}')
    driver = scripted_cursor(saying({"say": "hi"}), directory=tmp_path)

    clone = clones.create("agent", "key", lambda clone: driver.seed(clone, environment))

    assert not (clone.profile / "mcp.json").exists()
    clones.remove(clone)


def test_a_script_file_and_a_profile_of_the_callers_are_used_as_they_are(tmp_path: Path) -> None:
    script = tmp_path / "mine.json"
    script.write_text('{"turns": [{"steps": []}]}')
    profile = tmp_path / "profile"
    profile.mkdir()

    driver = scripted_cursor(script, profile=profile)

    assert driver.profile == profile
    assert driver.command is not None
    assert driver.command[-1] == str(script)
    assert sorted(tmp_path.iterdir()) == [script, profile]


def test_two_drivers_in_one_directory_keep_two_scripts(tmp_path: Path) -> None:
    first = scripted_cursor(saying({"say": "one"}), directory=tmp_path)
    second = scripted_cursor(saying({"say": "two"}), directory=tmp_path)

    assert first.command != second.command
    assert first.profile != second.profile


def test_a_wrong_script_is_refused_before_anything_runs(tmp_path: Path) -> None:
    with pytest.raises(ConfigurationError, match=r"turns\[0\]\.steps\[0\]\.say: must be a string"):
        scripted_cursor(saying({"say": 1}), directory=tmp_path)


def test_a_script_that_asks_is_refused_since_cursor_can_not(tmp_path: Path) -> None:
    script = saying({"say": "hi"}, {"call": "x", "on_error": [{"ask": "Bash"}]})

    where = r"turns\[0\]\.steps\[1\]\.on_error\[0\]\.ask"
    with pytest.raises(ConfigurationError, match=where):
        scripted_cursor(script, directory=tmp_path)
    assert scripted_claude(script, directory=tmp_path).command is not None


def test_what_it_wrote_of_its_own_is_gone_when_the_interpreter_ends(tmp_path: Path) -> None:
    code = (
        "from toolcrib.testing import scripted_cursor\n"
        "driver = scripted_cursor({'turns': [{'steps': []}]})\n"
        "print(driver.command[-1])"
    )

    ended = subprocess.run(
        [sys.executable, "-c", code],
        capture_output=True,
        text=True,
        check=True,
        cwd=tmp_path,
        env={**os.environ, "TMPDIR": str(tmp_path)},
        timeout=DEADLINE,
    )

    assert ended.stdout.startswith(str(tmp_path))
    assert list(tmp_path.iterdir()) == []


def test_a_module_in_the_workspace_does_not_shadow_what_the_provider_imports(
    tmp_path: Path, clones: CloneStore, environment: dict[str, str]
) -> None:
    driver = scripted_cursor(saying({"say": "hi"}), directory=tmp_path)
    clone = clones.create("agent", "key", lambda clone: driver.seed(clone, environment))
    workspace = clone.root.parent.parent / "workspace"
    workspace.mkdir()
    (workspace / "json.py").write_text("raise SystemExit('shadowed')")

    assert run(driver, clone, environment).text == "hi"
    clones.remove(clone)
