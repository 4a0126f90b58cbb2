"""What the handles promise of themselves."""

from __future__ import annotations

import asyncio
import contextvars
import signal
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from third_party import Echo, Gate

from toolcrib import (
    Agent,
    AgentClosedError,
    AskTimeout,
    Attachment,
    MemoryStore,
    RunError,
    RunInfo,
    RunService,
    System,
    ToolcribError,
    Tracer,
    tool,
)

from .conftest import WAIT, Scripted, left_of

WHO = contextvars.ContextVar("who", default="nobody")


@pytest.mark.parametrize(
    ("options", "error"),
    [
        ({"timeout": "5"}, TypeError),
        ({"timeout": True}, TypeError),
        ({"timeout": 0}, ValueError),
        ({"timeout": float("nan")}, ValueError),
        ({"event_buffer": 1.5}, TypeError),
        ({"event_buffer": 0}, ValueError),
        ({"driver": "cursor"}, TypeError),
    ],
)
def test_wrong_options_are_refused_at_once(
    options: dict[str, Any], error: type[Exception]
) -> None:
    driver: Any = options.get("driver", Echo())
    with pytest.raises(error):
        Agent(driver, **{name: value for name, value in options.items() if name != "driver"})


def test_wrong_arguments_of_a_run_are_refused_before_anything_starts(
    system: System, tracer: Tracer
) -> None:
    with Agent(Echo(), system=system) as agent:
        with pytest.raises(TypeError):
            agent.run("hi", timeout="5")  # type: ignore[arg-type]
        with pytest.raises(TypeError):
            agent.run(7)  # type: ignore[arg-type]
        with pytest.raises(TypeError):
            agent.run("hi", tools=[])  # type: ignore[call-arg]
        with pytest.raises(ValueError, match="key is empty"):
            agent.thread("")
    assert not any(entry.kind == "StartRun" for entry in tracer.entries())


def test_hosted_handlers_see_the_context_of_the_agents_construction(
    scripted: Scripted, system: System
) -> None:
    @tool.define()
    def who() -> str:
        """Say who is here."""
        seen = WHO.get()
        WHO.set("the handler")
        return seen

    WHO.set("at construction")
    driver = scripted({"call": "who", "arguments": {}, "save": "w"}, {"say": "{{results.w}}"})
    with Agent(driver, tools=[who], system=system) as agent:
        WHO.set("later")
        assert "at construction" in agent.run("hello").text
        assert "at construction" in agent.run("hello").text  # nothing leaks between calls
    assert WHO.get() == "later"


def test_the_environment_is_that_of_the_construction(
    scripted: Scripted, system: System, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("FLAVOUR", "plain")
    with Agent(scripted({"say": "{{env.FLAVOUR}}"}), system=system) as agent:
        monkeypatch.setenv("FLAVOUR", "salted")
        assert agent.run("hello").text == "plain"


@pytest.fixture
def interruptible() -> Iterator[None]:
    """Let SIGINT interrupt, which a shell's background commands are started without."""
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    yield
    signal.signal(signal.SIGINT, before)


@pytest.mark.usefixtures("interruptible")
def test_an_interrupt_in_a_run_ends_it(scripted: Scripted, system: System, tracer: Tracer) -> None:
    def interrupt() -> None:
        tracer.wait_for(lambda entry: entry.kind == "EventsRead", WAIT)
        signal.pthread_kill(threading.main_thread().ident or 0, signal.SIGINT)

    with Agent(scripted({"say": "busy"}, {"hang": True}), system=system) as agent:
        threading.Thread(target=interrupt).start()
        with pytest.raises(KeyboardInterrupt):
            agent.run("hello")
        tracer.wait_for(lambda entry: entry.kind == "RunEnded", WAIT)
        assert left_of(system.host) == []


def test_a_run_after_the_system_has_stopped_says_that_the_agent_is_closed(
    system: System, workspace: Path
) -> None:
    agent = Agent(Echo(), system=system, workspace=workspace)
    agent.run("hello")
    assert system.stop() == ()
    with pytest.raises(AgentClosedError):
        agent.run("hello")
    agent.close()


def test_a_run_that_races_with_close_is_refused_or_cancelled_never_lost(
    system: System, workspace: Path
) -> None:
    for _ in range(20):
        agent = Agent(Echo(), system=system, workspace=workspace)
        agent.run("hello")
        start = threading.Barrier(2)
        outcome: list[object] = []

        def run(
            agent: Agent = agent, start: threading.Barrier = start, outcome: list[object] = outcome
        ) -> None:
            start.wait(WAIT)
            try:
                outcome.append(agent.run("hello"))
            except (AgentClosedError, RunError) as error:
                outcome.append(error)

        thread = threading.Thread(target=run)
        thread.start()
        start.wait(WAIT)
        agent.close(WAIT)
        thread.join(WAIT)
        assert len(outcome) == 1
    assert left_of(system.host) == []


def test_close_that_failed_inside_is_no_success(system: System, workspace: Path) -> None:
    agent = Agent(Echo(), system=system, workspace=workspace)
    agent.run("hello")
    cleaner, system._cleaner = system._cleaner, system._cleaner
    broken = threading.Event()
    original = cleaner.deliver

    def deliver(message: Any, sender: str) -> None:
        if type(message).__name__ == "SealOwner" and not broken.is_set():
            broken.set()
            original(type(message)(["not", "a", "name"], message.reply_to), sender)
        else:
            original(message, sender)

    cleaner.deliver = deliver  # type: ignore[method-assign]
    with pytest.raises(ToolcribError, match="SealOwner"):
        agent.close(0.3)
    agent.close(WAIT)  # sent once more
    assert left_of(system.host) == []


def test_a_second_turn_of_a_busy_thread_is_refused(system: System, workspace: Path) -> None:
    driver = Echo()
    store = MemoryStore()
    gate: Gate = driver.preparing
    with Agent(driver, store=store, system=system, workspace=workspace) as agent:
        gate.hold()
        stream = agent.thread("t").stream("one")
        assert gate.entered.wait(WAIT)
        with pytest.raises(ToolcribError, match="t"):
            agent.thread("t").run("two")
        gate.release.set()
        assert stream.result(WAIT).text == "you said one"


@pytest.mark.parametrize("timeout", [1e10, float("inf")])
def test_a_close_may_wait_longer_than_a_lock_can(system: System, timeout: float) -> None:
    agent = Agent(Echo(), system=system)
    agent.run("hello")
    agent.close(timeout)
    with pytest.raises(AgentClosedError):
        agent.run("hello")


class _Closed(RunService):
    """Raises what a run on an Agent of its own would, once that is closed."""

    def attach(self, run: RunInfo) -> Attachment:
        msg = "the service's own Agent is closed"
        raise AgentClosedError(msg)


def test_the_error_of_a_block_is_not_replaced_by_that_of_its_run(system: System) -> None:
    def leave(agent: Agent) -> None:
        with agent.stream("hello") as stream:
            with pytest.raises(AgentClosedError):
                stream.result(WAIT)
            raise LookupError

    async def aleave(agent: Agent) -> None:
        async with agent.stream("hello"):
            raise LookupError

    with Agent(Echo(), services=[_Closed()], system=system) as agent:
        with pytest.raises(LookupError):
            leave(agent)
        with pytest.raises(LookupError):
            asyncio.run(aleave(agent))


def test_a_block_whose_run_does_not_end_says_so(
    system: System, monkeypatch: pytest.MonkeyPatch
) -> None:
    driver = Echo()
    driver.preparing.hold()
    monkeypatch.setattr("toolcrib.stream._CLOSE_TIMEOUT", 0.05)
    with Agent(driver, system=system) as agent:
        with pytest.raises(AskTimeout), agent.stream("hello"):
            assert driver.preparing.entered.wait(WAIT)
        driver.preparing.release.set()
