from __future__ import annotations

import subprocess
import sys
from pathlib import Path, PurePosixPath
from typing import Any

from toolcrib.messages.results import RunReason
from toolcrib.messages.turn import Launch, ProcessExit, TurnOutcome
from toolcrib.runtime.drivers.cursor import Cursor
from toolcrib.runtime.drivers.interface import Emit, TurnRequest, Write

from .conftest import World, put


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
