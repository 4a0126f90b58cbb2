"""The main job, end to end: public API, real child, real sockets, real files."""

from __future__ import annotations

import json
import socket
import subprocess
import sys
import threading
from pathlib import Path

import pytest

from toolcrib import Agent, MemoryStore, System, TextDelta, ToolCall, ToolResult, tool

from .conftest import Scripted, Seen, left_of, observe, seen, snapshot, status

calls: list[str] = []


@tool.define(revision="v1")
def host_echo(value: str) -> str:
    """Say it again."""
    calls.append(value)
    return value


class Turns:
    """An Agent whose provider's surroundings are noted."""

    def __init__(
        self, scripted: Scripted, system: System, store: MemoryStore, folder: Path, workspace: Path
    ) -> None:
        notes = folder / "notes.txt"
        # The name of the variable is minted with the Agent, so the script that
        # names it can be written only then; the driver reads it at each start.
        driver = scripted({"say": "not written yet"})
        path = Path(driver.command[-1])  # type: ignore[index]
        self.agent = Agent(
            driver, tools=[host_echo], store=store, workspace=workspace, system=system
        )
        variable = self.agent.token_variable
        steps = [
            observe(notes, variable),
            {"call": "host_echo", "arguments": {"value": "{{prompt}}"}, "save": "echo"},
            {"say": "turn {{turn}} after “{{history.last}}”: {{results.echo}}"},
        ]
        path.write_text(json.dumps({"turns": [{"steps": steps}]}))
        self._notes, self._variable = notes, variable

    def turn(self, prompt: str) -> tuple[str, Seen]:
        text = self.agent.thread("conversation").run(prompt).text
        return text, seen(self._notes, self._variable)


def test_a_thread_goes_on_over_turns_and_agents_and_nothing_is_left(
    scripted: Scripted, system: System, source: Path, tmp_path: Path, workspace: Path
) -> None:
    before = snapshot(source)
    threads = set(threading.enumerate())
    store = MemoryStore()
    calls.clear()

    first = Turns(scripted, system, store, tmp_path, workspace)
    with first.agent:
        text, one = first.turn("one")
        assert "turn 1" in text
        text, two = first.turn("two")
        assert one == two  # endpoint, token, variable and clone
        assert "turn 2 after “turn 1" in text  # resumed, with its history
        assert calls == ["one", "two"]
        assert status(one.url, None) == 401
        assert status(one.url, "wrong") == 401
        assert status(one.url, one.token) == 200
        assert one.clone.is_dir()
        assert snapshot(source) == before

    assert not one.clone.exists()
    assert snapshot(source) == before
    host, port = one.url.removeprefix("http://").removesuffix("/mcp").split(":")
    with socket.socket() as occupied:
        occupied.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        occupied.bind((host, int(port)))  # free, and now taken by something else
        occupied.listen()

        second = Turns(scripted, system, store, tmp_path, workspace)
        with second.agent:
            text, three = second.turn("three")
            assert "turn 3 after “turn 2" in text
            assert calls == ["one", "two", "three"]
            assert three.url != one.url
            assert three.token != one.token
            assert three.variable != one.variable
            assert three.clone != one.clone
            assert status(three.url, one.token) == 401
            assert status(three.url, three.token) == 200

    assert not three.clone.exists()
    with pytest.raises(ConnectionRefusedError):
        status(three.url, three.token)
    assert snapshot(source) == before
    assert left_of(system.host) == []
    added = {thread.name for thread in set(threading.enumerate()) - threads}
    assert all(name.startswith("toolcrib-system") for name in added), added


def test_the_provider_sees_our_server_beside_the_users_own(
    scripted: Scripted, system: System, source: Path, tmp_path: Path, workspace: Path
) -> None:
    turns = Turns(scripted, system, MemoryStore(), tmp_path, workspace)
    with turns.agent:
        _, where = turns.turn("one")
        text = (where.home / ".cursor" / "mcp.json").read_text()
        servers = json.loads(text)["mcpServers"]
        assert set(servers) == {"other", "toolcrib"}
        assert where.token not in text
        assert where.home.stat().st_mode & 0o077 == 0
        login = where.home / ".cursor" / "auth.json"
        assert login.is_symlink()
        assert login.resolve() == (source / "auth.json").resolve()


def test_events_come_as_they_happen_and_quote_the_call(
    scripted: Scripted, system: System, workspace: Path
) -> None:
    driver = scripted(
        {"call": "host_echo", "arguments": {"value": "hi"}, "save": "echo"},
        {"say": "the tool said {{results.echo}}"},
    )
    with Agent(driver, tools=[host_echo], workspace=workspace, system=system) as agent:
        stream = agent.stream("say hi")
        events = list(stream)
        kinds = [type(event).__name__ for event in events]
        assert kinds[0] == "RunStarted"
        assert kinds[-1] == "RunFinished"
        assert kinds.count("RunStarted") == kinds.count("RunFinished") == 1
        assert [event.sequence for event in events] == list(range(1, len(events) + 1))
        assert {event.run_id for event in events} == {stream.run_id}
        call = next(event for event in events if isinstance(event, ToolCall))
        answer = next(event for event in events if isinstance(event, ToolResult))
        assert (call.name, dict(call.arguments), call.hosted) == (
            "host_echo",
            {"value": "hi"},
            True,
        )
        assert (answer.call_id, answer.is_error) == (call.call_id, False)
        assert "hi" in answer.text
        text = "".join(event.text for event in events if isinstance(event, TextDelta))
        assert text == stream.result().text
        assert "the tool said" in text


def test_another_host_process_goes_on_from_the_saved_store(
    scripted: Scripted, system: System, tmp_path: Path, workspace: Path
) -> None:
    store = MemoryStore()
    turns = Turns(scripted, system, store, tmp_path, workspace)
    with turns.agent:
        turns.turn("one")
    store.save(tmp_path / "threads.json")
    command = turns.agent.driver.command  # type: ignore[attr-defined]
    program = tmp_path / "other_host.py"
    program.write_text(
        f"""
from toolcrib import Agent, Cursor, MemoryStore, tool

@tool.define(revision="v1")
def host_echo(value: str) -> str:
    '''Say it again.'''
    return value

store = MemoryStore.load_from({str(tmp_path / "threads.json")!r})
driver = Cursor(command={tuple(command)!r}, profile={str(tmp_path / "source")!r})
with Agent(driver, tools=[host_echo], store=store, workspace={str(workspace)!r}) as agent:
    print(agent.thread("conversation").run("two").text)
"""
    )
    done = subprocess.run(
        [sys.executable, program], capture_output=True, text=True, timeout=60, check=False
    )
    assert done.returncode == 0, done.stderr
    assert "turn 2 after “turn 1" in done.stdout
