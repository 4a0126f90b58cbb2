"""What goes wrong is named, keeps what it has, and leaves nothing behind."""

from __future__ import annotations

import dataclasses
import json
import socket
from collections.abc import Iterator
from pathlib import Path

import pytest

from toolcrib import (
    Agent,
    ConfigurationError,
    Cursor,
    GatewayError,
    MemoryStore,
    ProfileError,
    ProviderNotFoundError,
    ResumeRejectedError,
    RunError,
    RunReason,
    ServerConflictError,
    System,
    ThreadIncompatibleError,
    ThreadRecord,
    ToolcribError,
    Tracer,
    tool,
)

from .conftest import Scripted, left_of, snapshot


@tool.define(revision="v1")
def host_echo(value: str) -> str:
    """Say it again."""
    return value


@pytest.fixture(autouse=True)
def nothing_left(system: System, source: Path, clones: Path) -> Iterator[None]:
    """Hold every test of this file to the promise that nothing is left."""
    before = snapshot(source)
    yield
    assert left_of(system.host) == []
    assert list(clones.glob("*/*/owner.json")) == []
    assert {name: seen for name, seen in snapshot(source).items() if name != "mcp.json"} == {
        name: seen for name, seen in before.items() if name != "mcp.json"
    }


def refuse(agent: Agent, kind: type[ToolcribError], *words: str, tracer: Tracer) -> None:
    """Run, expect this error before any process, and close."""
    with agent, pytest.raises(kind) as caught:
        agent.run("hello")
    for word in words:
        assert word in str(caught.value)
    assert not any(entry.kind == "StartProcess" for entry in tracer.entries())


def declare(path: Path, key: str, text: str = "http://127.0.0.1:9/mcp") -> bytes:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps({"mcpServers": {key: {"url": text}}}))
    return path.read_bytes()


def test_our_server_key_in_the_source_profile_is_refused_and_kept(
    scripted: Scripted, system: System, source: Path, tracer: Tracer
) -> None:
    written = declare(source / "mcp.json", "toolcrib")
    agent = Agent(scripted({"say": "x"}), tools=[host_echo], system=system)
    refuse(agent, ServerConflictError, "toolcrib", str(source / "mcp.json"), tracer=tracer)
    assert (source / "mcp.json").read_bytes() == written


def test_our_server_key_in_the_workspace_is_refused_and_kept(
    scripted: Scripted, system: System, workspace: Path, tracer: Tracer
) -> None:
    path = workspace / ".cursor" / "mcp.json"
    written = declare(path, "toolcrib")
    agent = Agent(scripted({"say": "x"}), tools=[host_echo], workspace=workspace, system=system)
    refuse(agent, ServerConflictError, "toolcrib", str(path), tracer=tracer)
    assert path.read_bytes() == written


def test_a_server_that_names_our_token_variable_is_refused(
    scripted: Scripted, system: System, source: Path, tracer: Tracer
) -> None:
    agent = Agent(scripted({"say": "x"}), tools=[host_echo], system=system)
    declare(source / "mcp.json", "thief", f"http://127.0.0.1:9/${{env:{agent.token_variable}}}")
    refuse(agent, ServerConflictError, "thief", agent.token_variable, tracer=tracer)


def test_a_command_that_is_not_there_is_named(
    system: System, source: Path, tracer: Tracer
) -> None:
    agent = Agent(Cursor(command="/no/such/agent", profile=source), system=system)
    refuse(agent, ProviderNotFoundError, "/no/such/agent", tracer=tracer)


def test_a_source_profile_that_is_not_there_is_named(
    scripted: Scripted, system: System, tmp_path: Path, tracer: Tracer
) -> None:
    agent = Agent(scripted({"say": "x"}, profile=tmp_path / "nowhere"), system=system)
    refuse(agent, ProfileError, str(tmp_path / "nowhere"), tracer=tracer)


def test_a_workspace_that_is_not_there_is_named(
    scripted: Scripted, system: System, tmp_path: Path, tracer: Tracer
) -> None:
    agent = Agent(scripted({"say": "x"}), workspace=tmp_path / "nowhere", system=system)
    refuse(agent, ConfigurationError, str(tmp_path / "nowhere"), tracer=tracer)


def test_a_port_that_is_taken_is_named_and_poisons_nothing(
    scripted: Scripted, clones: Path
) -> None:
    driver = scripted(
        {"call": "host_echo", "arguments": {"value": "x"}, "save": "e"}, {"say": "{{results.e}}"}
    )
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        port = taken.getsockname()[1]
        tracer = Tracer()
        with System(port=port, clones=clones, tracer=tracer) as system:
            agent = Agent(driver, tools=[host_echo], system=system)
            with pytest.raises(GatewayError) as caught:
                agent.run("hello")
            assert str(port) in str(caught.value)
            assert not any(entry.kind == "StartProcess" for entry in tracer.entries())
            taken.close()
            assert "x" in agent.run("hello").text
            agent.close()


def test_a_tool_without_revision_is_refused_in_a_thread(
    scripted: Scripted, system: System, tracer: Tracer
) -> None:
    @tool.define()
    def unversioned(value: str) -> str:
        """Say it again."""
        return value

    with Agent(scripted({"say": "x"}), tools=[unversioned], system=system) as agent:
        with pytest.raises(ThreadIncompatibleError, match="unversioned"):
            agent.thread("t").run("hello")
        assert not any(entry.kind == "StartProcess" for entry in tracer.entries())
        assert agent.run("hello").text == "x"  # outside a thread it is fine


FAULTS: dict[str, tuple[list[dict[str, object]], RunReason]] = {
    "garbage": ([{"say": "so far"}, {"print": "{not json"}], RunReason.PROTOCOL_ERROR),
    "death": ([{"say": "so far"}, {"die": "SIGKILL"}], RunReason.PROVIDER_DIED),
    "silence": ([{"say": "so far"}, {"exit": 0}], RunReason.PROVIDER_DIED),
    "exit code": ([{"say": "so far"}, {"exit": 3}], RunReason.PROVIDER_DIED),
    "late exit code": (
        [{"say": "so far"}, {"after_result": [{"exit": 3}]}],
        RunReason.PROVIDER_FAILED,
    ),
}


@pytest.mark.parametrize("fault", list(FAULTS))
def test_a_provider_that_fails_keeps_the_partial_result(
    fault: str, scripted: Scripted, system: System
) -> None:
    steps, reason = FAULTS[fault]
    with Agent(scripted(*steps), system=system) as agent:
        with pytest.raises(RunError) as caught:
            agent.run("hello")
        assert caught.value.reason is reason
        assert caught.value.result.text == "so far"
        assert caught.value.result.provider == "cursor"
        assert len(str(caught.value)) > 20


def test_a_provider_that_fails_says_what_it_wrote_to_standard_error(
    scripted: Scripted, system: System
) -> None:
    with Agent(scripted({"fail": "You are not logged in."}), system=system) as agent:
        with pytest.raises(RunError, match="You are not logged in") as caught:
            agent.run("hello")
        assert caught.value.result.exit_code == 1
        assert "You are not logged in" in caught.value.result.stderr


def test_a_conversation_that_the_provider_does_not_know_is_said(
    scripted: Scripted, system: System
) -> None:
    class Forgetful(MemoryStore):
        def load(self, key: str) -> ThreadRecord | None:
            record = super().load(key)
            return record and dataclasses.replace(record, files=())

    turns = [
        {"when": {"prompt": "first"}, "steps": [{"say": "hi"}]},
        {"steps": [{"say": "never"}]},
    ]
    store = Forgetful()
    with Agent(scripted(turns=turns), store=store, system=system) as first:
        session = first.thread("t").run("first").session_id
        assert session is not None
    with Agent(scripted(turns=turns), store=store, system=system) as agent:
        with pytest.raises(ResumeRejectedError) as caught:
            agent.thread("t").run("second")
        assert caught.value.reason is RunReason.RESUME_REJECTED


def test_the_next_run_works_after_a_failed_one(scripted: Scripted, system: System) -> None:
    turns = [
        {"when": {"prompt": "die"}, "steps": [{"die": "SIGKILL"}]},
        {"steps": [{"say": "turn {{turn}}"}]},
    ]
    with Agent(scripted(turns=turns), system=system) as agent:
        thread = agent.thread("t")
        assert thread.run("hello").text == "turn 1"
        with pytest.raises(RunError):
            thread.run("die")
        assert thread.run("hello").text == "turn 2"  # the failed turn is no history
