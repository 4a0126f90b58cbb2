"""Options reach the provider, the run and its result, and nothing starts with wrong ones."""

from __future__ import annotations

import itertools
from pathlib import Path
from typing import Any

import pytest
from json_provider import Able
from third_party import Echo

from toolcrib import (
    Agent,
    AgentOptions,
    Attachment,
    Claude,
    ConfigurationError,
    HttpServer,
    Identity,
    MemoryStore,
    Options,
    Policy,
    Resources,
    RunError,
    RunInfo,
    RunReason,
    RunService,
    Skill,
    StdioServer,
    System,
    TextDelta,
    ThreadError,
    ThreadIncompatibleError,
    ToolCall,
    ToolResult,
    Tracer,
    UnsupportedError,
)
from toolcrib.testing import scripted_claude

from .conftest import WAIT


def test_the_provider_is_asked_with_the_nearest_options(
    system: System, workspace: Path, tmp_path: Path
) -> None:
    driver, near = Able(), tmp_path / "near"
    near.mkdir()
    server, other = HttpServer(key="k", url="http://h/"), StdioServer(key="o", command="c")
    first, second = Skill(name="a", content="x"), Skill(name="b", content="y")
    common = Options(model="large", instructions="Be kind.", skills=[first], mcp=[server])
    policy = Policy(sandbox="read_only")

    with Agent(driver, common, workspace=workspace, system=system, policy=policy) as agent:
        agent.run("hello")
        agent.run("hello", Options(model="small", skills=[second]), workspace=near, mcp=[other])
        agent.run("hello", model=None, instructions=None, skills=None, mcp=(), policy=None)

    told = [
        (r.model, r.instructions, r.skills, r.mcp, r.workspace, r.policy) for r in driver.requests
    ]
    assert told == [
        ("large", "Be kind.", (first,), (server,), workspace, policy),
        ("small", "Be kind.", (first, second), (other,), near, policy),
        (None, None, (), (), workspace, Policy()),
    ]


def test_a_call_that_never_returns_does_not_hold_the_idle_limit_for_good(
    system: System, workspace: Path, tmp_path: Path
) -> None:
    use = {"type": "tool_use", "id": "lost", "name": "Bash", "input": {"command": "ls"}}
    call = {"type": "assistant", "message": {"id": "m", "role": "assistant", "content": [use]}}
    steps = [{"record": call}, {"say": "I go on without it."}, {"hang": True}]
    driver = scripted_claude({"turns": [{"steps": steps}]}, directory=tmp_path)
    # Longer than a provider takes to start, on a machine that has much else to do.
    with Agent(driver, workspace=workspace, system=system, idle_timeout=3.0) as agent:
        stream = agent.stream("hello")
        events = list(stream)
        with pytest.raises(RunError) as caught:
            stream.result(WAIT)
    assert caught.value.reason is RunReason.IDLE
    assert [event.call_id for event in events if isinstance(event, ToolCall)] == ["lost"]
    assert not [event for event in events if isinstance(event, ToolResult)]
    assert caught.value.result.text == "I go on without it."


def test_instructions_leave_the_clone_with_the_run_that_had_them(
    system: System, workspace: Path, clones: Path, tracer: Tracer, tmp_path: Path
) -> None:
    stays = {"when": {"prompt": "stay"}, "steps": [{"say": "Here."}, {"hang": True}]}
    driver = scripted_claude({"turns": [stays, {"steps": [{"say": "Done."}]}]}, directory=tmp_path)

    def wait_until_cleared(runs: int) -> None:
        number = itertools.count(1)
        tracer.wait_for(lambda e: e.kind == "_Cleared" and next(number) == runs, WAIT)

    def texts() -> list[str]:
        return [path.read_text() for path in clones.rglob("*-instructions.txt")]

    with Agent(driver, workspace=workspace, system=system) as agent:
        with agent.stream("stay", instructions="Stay.") as stream:
            next(event for event in stream if isinstance(event, TextDelta))
            for number in range(4):
                agent.run("hello", instructions=f"You are number {number}.")
            wait_until_cleared(4)
            assert texts() == ["Stay."]
        wait_until_cleared(5)
        assert texts() == []
        assert list(clones.rglob("profile"))


def test_a_thread_takes_the_options_of_its_agent_and_its_own(
    system: System, workspace: Path
) -> None:
    driver = Able()
    with Agent(driver, workspace=workspace, system=system, model="m", timeout=WAIT) as agent:
        result = agent.thread("t").run("hello", instructions="i", metadata={"a": "b"})
    (request,) = driver.requests
    assert (request.model, request.instructions) == ("m", "i")
    assert (result.thread_key, result.metadata) == ("t", {"a": "b"})


def test_metadata_come_back_merged_in_result_and_error(system: System, workspace: Path) -> None:
    with Agent(Able(), metadata={"team": "a"}, workspace=workspace, system=system) as agent:
        assert agent.run("hello", metadata={"ticket": "7"}).metadata == {
            "team": "a",
            "ticket": "7",
        }
        assert agent.run("hello").metadata == {"team": "a"}
        with pytest.raises(RunError) as caught:
            agent.run_as(int, "hello", metadata={"team": "b"})
        assert caught.value.result.metadata == {"team": "b"}


def test_what_the_driver_can_not_do_is_refused_before_anything_starts(
    system: System, workspace: Path, tracer: Tracer
) -> None:
    driver = Echo()
    with Agent(driver, workspace=workspace, system=system) as agent:
        for options in (
            Options(model="m"),
            Options(instructions="i"),
            Options(skills=[Skill(name="a", content="x")]),
            Options(mcp=[HttpServer(key="k", url="http://h/")]),
            Options(policy=Policy(web_search="deny")),
            Options(resources=Resources(config={"a": 1})),
        ):
            with pytest.raises(UnsupportedError) as caught:
                agent.run("hello", options)
            assert caught.value.provider == "echo"
            assert caught.value.option in str(caught.value)
    assert not driver.checking.entered.is_set()
    assert not any(entry.kind in {"MakeClone", "StartProcess"} for entry in tracer.entries())


def test_a_setting_of_the_drivers_own_is_refused_before_anything_starts(
    system: System, workspace: Path, tracer: Tracer
) -> None:
    resources = Resources(config={"permissions": {"allow": ["Bash"]}})
    driver = Claude(command="true", profile=workspace)
    with (
        Agent(driver, workspace=workspace, system=system, resources=resources) as agent,
        pytest.raises(ConfigurationError, match="'permissions'.*option `policy`"),
    ):
        agent.run("hello")
    assert not any(entry.kind in {"MakeClone", "StartProcess"} for entry in tracer.entries())


def test_misuse_starts_nothing(system: System, workspace: Path, tracer: Tracer) -> None:
    with Agent(Able(), workspace=workspace, system=system) as agent:
        runners: tuple[Any, Any] = (agent, agent.thread("t"))
        for runner in runners:
            for call, arguments, keywords in (
                (runner.run, ("hi",), {"tools": []}),
                (runner.stream, ("hi", AgentOptions(max_runs=1)), {}),
                (runner.run_as, (int, "hi"), {"store": None}),
                (runner.run, ("hi",), {"timeout": "5"}),
                (runner.run, (b"hi",), {}),
            ):
                with pytest.raises(TypeError):
                    call(*arguments, **keywords)
    assert not any(entry.kind == "StartRun" for entry in tracer.entries())


def test_a_service_of_the_options_is_attached_to_each_run(system: System, workspace: Path) -> None:
    class Database(RunService):
        def __init__(self) -> None:
            self.attached: list[RunInfo] = []
            self.detached: list[RunInfo] = []

        def attach(self, run: RunInfo) -> Attachment:
            self.attached.append(run)
            return Attachment(environment={"DATABASE_LOGIN": "of this run"})

        def detach(self, run: RunInfo) -> None:
            self.detached.append(run)

    database, driver = Database(), Able()
    identity = Identity(id="me", tenant="us")
    with Agent(driver, services=[database], workspace=workspace, system=system) as agent:
        agent.run("hello", identity=identity, metadata={"a": "b"}, services=[database])
        agent.run("hello", services=None)
    (info,) = database.attached
    assert database.detached == [info]
    assert (info.provider, info.workspace, info.identity) == ("able", workspace, identity)
    assert info.metadata == {"a": "b"}
    first, second = driver.requests
    assert first.environment["DATABASE_LOGIN"] == "of this run"
    assert "DATABASE_LOGIN" not in second.environment


def test_a_thread_goes_on_for_the_identity_that_began_it_alone(
    system: System, workspace: Path
) -> None:
    store, me, you = MemoryStore(), Identity(id="me"), Identity(id="you")
    with Agent(Able(), store=store, workspace=workspace, system=system, identity=me) as agent:
        agent.thread("t").run("hello")
        with pytest.raises(ThreadIncompatibleError):
            agent.thread("t").run("hello", identity=you)
        agent.thread("t").run("hello", identity=Identity(id="me", name="Me"))
    assert issubclass(ThreadIncompatibleError, ThreadError)


def test_more_runs_than_allowed_wait_their_turn(system: System, workspace: Path) -> None:
    driver = Echo()
    driver.preparing.hold()
    with Agent(driver, workspace=workspace, system=system, max_runs=1) as agent:
        first = agent.stream("one")
        assert driver.preparing.entered.wait(WAIT)
        driver.preparing.entered.clear()
        second = agent.stream("two")
        third = agent.stream("three")
        third.cancel()
        with pytest.raises(RunError) as caught:
            third.result(WAIT)
        assert caught.value.reason is RunReason.CANCELLED
        assert not driver.preparing.entered.is_set()
        driver.preparing.release.set()
        assert first.result(WAIT).text == "you said one"
        assert second.result(WAIT).text == "you said two"


def test_eight_runs_go_at_the_same_time_where_nothing_else_is_said(
    system: System, workspace: Path, tracer: Tracer
) -> None:
    def starting() -> int:
        return sum(entry.kind == "ProviderStarting" for entry in tracer.entries())

    with Agent(Echo(), workspace=workspace, system=system) as agent:
        streams = [agent.stream("stay") for _ in range(9)]
        for stream in streams[:8]:
            assert any(isinstance(event, TextDelta) for event in stream)
        assert starting() == 8
        streams[0].cancel()
        assert any(isinstance(event, TextDelta) for event in streams[8])
        assert starting() == 9
