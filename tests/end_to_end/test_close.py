"""Each phase of close, held by a real obstacle, and the way on from there."""

from __future__ import annotations

import threading
import time
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from third_party import Echo, Gate

from toolcrib import (
    Agent,
    AgentClosedError,
    CloseTimeout,
    Driver,
    MemoryStore,
    RunError,
    RunReason,
    Stream,
    System,
    Tracer,
    tool,
)
from toolcrib.runtime.threads.interface import Lease

from .conftest import WAIT, Scripted, left_of

TOO_SHORT = 0.3


class Held:
    """An Agent with a run under way and something that holds its close."""

    def __init__(self, agent: Agent, stream: Stream | None, lift: Callable[[], None]) -> None:
        self.agent, self.stream, self.lift = agent, stream, lift


class House:
    """What the obstacles are made with."""

    def __init__(
        self, system: System, tracer: Tracer, scripted: Scripted, folder: Path, workspace: Path
    ) -> None:
        self.system, self.tracer, self.scripted = system, tracer, scripted
        self.folder, self.workspace = folder, workspace

    def agent(self, driver: Driver, **options: object) -> Agent:
        return Agent(driver, workspace=self.workspace, system=self.system, **options)  # type: ignore[arg-type]

    def wait_for(self, kind: str) -> None:
        self.tracer.wait_for(lambda entry: entry.kind == kind, WAIT)


@pytest.fixture
def house(
    system: System, tracer: Tracer, scripted: Scripted, tmp_path: Path, workspace: Path
) -> House:
    return House(system, tracer, scripted, tmp_path, workspace)


def a_driver_that_prepares_for_ever(house: House) -> Held:
    driver = Echo()
    driver.preparing.hold()
    agent = house.agent(driver)
    stream = agent.stream("hello")
    assert driver.preparing.entered.wait(WAIT)
    return Held(agent, stream, driver.preparing.release.set)


def a_process_that_ignores_being_told_to_end(house: House) -> Held:
    gate = house.folder / "gate"
    driver = house.scripted(
        {"ignore_sigterm": True}, {"say": "busy"}, {"wait_for_file": str(gate)}, grace=60.0
    )
    agent = house.agent(driver)
    stream = agent.stream("hello")
    assert any(type(event).__name__ == "TextDelta" for event in stream)
    return Held(agent, stream, gate.touch)


def a_store_that_does_not_let_go(house: House) -> Held:
    gate = Gate()
    gate.hold()

    class Store(MemoryStore):
        def release(self, lease: Lease) -> None:
            gate.go_through()
            super().release(lease)

    agent = house.agent(house.scripted({"say": "busy"}, {"hang": True}), store=Store())
    stream = agent.thread("t").stream("hello")
    assert any(type(event).__name__ == "TextDelta" for event in stream)
    return Held(agent, stream, gate.release.set)


def a_clone_that_takes_its_time(house: House) -> Held:
    driver = Echo()
    driver.seeding.hold()
    agent = house.agent(driver)
    stream = agent.stream("hello")
    assert driver.seeding.entered.wait(WAIT)
    return Held(agent, stream, driver.seeding.release.set)


def a_clone_whose_owner_can_not_be_read(house: House) -> Held:
    agent = house.agent(house.scripted({"say": "done"}))
    agent.run("hello")
    (record,) = house.folder.glob("clones/*/*/owner.json")
    aside = house.folder / "aside"
    record.rename(aside)

    def put_back() -> None:
        aside.rename(record)

    return Held(agent, None, put_back)


def a_handler_that_does_not_return(house: House) -> Held:
    gate = Gate()
    gate.hold()

    def stay() -> None:
        gate.go_through()

    tools = [tool.define("stay", "Stay for a long time.", stay)]
    agent = house.agent(house.scripted({"call": "stay", "arguments": {}}), tools=tools)
    stream = agent.stream("hello")
    assert gate.entered.wait(WAIT)
    return Held(agent, stream, gate.release.set)


OBSTACLES = {
    "cancelling_runs": (a_driver_that_prepares_for_ever, "run "),
    "closing_processes": (a_process_that_ignores_being_told_to_end, "the process of driver-"),
    "draining_runs": (a_store_that_does_not_let_go, "run "),
    "reaping_late_writers": (a_clone_that_takes_its_time, "a clone that is being made"),
    "removing_clones": (a_clone_whose_owner_can_not_be_read, "clone /"),
    "revoking_token": (a_handler_that_does_not_return, "a handler of tool stay"),
}
ONCE = ("SealOwner", "RemoveClones", "RetireToken")


def close_until(agent: Agent, phase: str) -> CloseTimeout:
    """Call close with a short deadline until the obstacle's phase is reached."""
    end = time.monotonic() + WAIT
    while True:
        with pytest.raises(CloseTimeout) as caught:
            agent.close(TOO_SHORT)
        if caught.value.phase == phase:
            return caught.value
        assert time.monotonic() < end, f"close is held in {caught.value.phase}"


@pytest.mark.parametrize("phase", list(OBSTACLES))
def test_close_names_the_phase_that_is_held_and_the_next_one_repeats_nothing(
    phase: str, house: House
) -> None:
    obstruct, remaining = OBSTACLES[phase]
    held = obstruct(house)
    error = close_until(held.agent, phase)
    assert error.remaining
    assert error.remaining[0].startswith(remaining)
    assert phase.replace("_", " ") in str(error)
    with pytest.raises(AgentClosedError):
        held.agent.run("one more")

    held.lift()
    held.agent.close(WAIT)

    sent = Counter(entry.kind for entry in house.tracer.entries() if entry.sender != "host")
    assert {kind: sent[kind] for kind in ONCE} == dict.fromkeys(ONCE, 1)
    cancelled = [e for e in house.tracer.entries() if e.kind == "CancelRun"]
    assert len(cancelled) == (0 if held.stream is None else 1)
    assert list(house.folder.glob("clones/*/*/owner.json")) == []
    assert left_of(house.system.host) == []
    if held.stream is not None:
        with pytest.raises(RunError) as failed:
            held.stream.result(WAIT)
        assert failed.value.reason is RunReason.CANCELLED
    held.agent.close(TOO_SHORT)  # a second close after success returns at once


@contextmanager
def in_background(work: Callable[[], None]) -> Iterator[list[BaseException]]:
    raised: list[BaseException] = []

    def run() -> None:
        try:
            work()
        except BaseException as error:
            raised.append(error)

    thread = threading.Thread(target=run)
    thread.start()
    yield raised
    thread.join(WAIT)
    assert not thread.is_alive()


def test_closers_at_the_same_time_share_one_sequence(house: House) -> None:
    held = a_driver_that_prepares_for_ever(house)
    with in_background(held.agent.close) as patient:
        with pytest.raises(CloseTimeout):
            held.agent.close(TOO_SHORT)
        held.lift()
    assert patient == []
    assert sum(entry.kind == "RetireToken" for entry in house.tracer.entries()) == 1


def test_an_agent_that_never_ran_closes_at_once(house: House) -> None:
    agent = house.agent(Echo())
    agent.close(TOO_SHORT)
    with pytest.raises(AgentClosedError):
        agent.run("hello")
    assert [entry for entry in house.tracer.entries() if entry.sender != "worker"] == []


def test_one_agents_close_leaves_the_others_tools_alone(house: House) -> None:
    @tool.define()
    def echo(value: str) -> str:
        """Say it again."""
        return value

    steps = [
        {"call": "echo", "arguments": {"value": "x"}, "save": "echo"},
        {"say": "{{results.echo}}"},
    ]
    first = house.agent(house.scripted(*steps), tools=[echo])
    with house.agent(house.scripted(*steps), tools=[echo]) as second:
        first.run("hello")
        second.run("hello")
        first.close(WAIT)
        assert "x" in second.run("hello").text
