"""The same handles in a loop of trio, and under anyio in both."""

from __future__ import annotations

import subprocess
import sys
import warnings
from collections.abc import Callable, Iterator
from pathlib import Path

import anyio
import pytest
import trio
from third_party import Echo

from toolcrib import Agent, RunError, RunReason, System, TextDelta, Tracer, tool

from .conftest import WAIT, Scripted, left_of

Make = Callable[[], Agent]


@pytest.fixture
def make(system: System, workspace: Path) -> Iterator[Make]:
    """Make Agents of a provider that repeats a prompt, or stays where it says so."""
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        yield lambda: Agent(Echo(), system=system, workspace=workspace)


def test_runs_and_streams_work_in_trio(make: Make) -> None:
    async def main() -> tuple[str, list[str], str]:
        async with make() as agent:
            text = (await agent.arun("one")).text
            stream = agent.stream("two")
            kinds = [type(event).__name__ async for event in stream]
            return text, kinds, (await stream.aresult()).text

    text, kinds, second = trio.run(main)
    assert (text, second) == ("you said one", "you said two")
    assert (kinds[0], kinds[-1]) == ("RunStarted", "RunFinished")


def test_async_tools_are_called_although_the_application_runs_trio(
    scripted: Scripted, system: System
) -> None:
    @tool.define()
    async def host_echo(value: str) -> str:
        """Say it again."""
        return value

    driver = scripted(
        {"call": "host_echo", "arguments": {"value": "x"}, "save": "e"}, {"say": "{{results.e}}"}
    )

    async def main() -> str:
        async with Agent(driver, tools=[host_echo], system=system) as agent:
            return (await agent.arun("hello")).text

    assert "x" in trio.run(main)


def test_a_run_in_trio_fails_with_its_own_error(make: Make) -> None:
    async def main() -> None:
        async with make() as agent:
            await agent.arun("stay", timeout=0.5)

    with pytest.raises(RunError) as caught:
        trio.run(main)
    assert caught.value.reason is RunReason.TIMED_OUT


@pytest.mark.parametrize("backend", ["trio", "asyncio"])
def test_a_cancelled_scope_ends_run_and_agent_inside_it(
    make: Make, system: System, tracer: Tracer, backend: str
) -> None:
    async def main() -> None:
        with anyio.CancelScope() as scope:
            async with make() as agent, agent.stream("stay") as stream:
                async for event in stream:
                    if isinstance(event, TextDelta):
                        scope.cancel()
        assert scope.cancelled_caught

    anyio.run(main, backend=backend)
    kinds = [entry.kind for entry in tracer.entries()]
    assert kinds.count("RunEnded") == 1
    assert "AgentClosed" in kinds  # it was waited for, although the scope was cancelled
    assert left_of(system.host) == []


@pytest.mark.parametrize("backend", ["trio", "asyncio"])
def test_a_deadline_of_a_scope_cancels_the_run(
    make: Make, system: System, tracer: Tracer, backend: str
) -> None:
    async def main() -> None:
        async with make() as agent:
            await agent.arun("first")
            with anyio.move_on_after(0.3) as scope:
                await agent.arun("stay")
            assert scope.cancelled_caught
            done = (await agent.arun("next")).text
            assert done == "you said next"

    anyio.run(main, backend=backend)
    cancel = tracer.wait_for(lambda entry: entry.kind == "CancelRun", WAIT)
    assert cancel.fields["reason"] == "cancelled"
    assert left_of(system.host) == []


def test_trio_is_not_loaded_for_those_who_do_not_use_it(tmp_path: Path) -> None:
    code = """
import asyncio, sys
from toolcrib.runtime.signals import in_thread, new_signal, shielded
async def main():
    signal = new_signal()
    await in_thread(signal.set)
    assert await signal.wait(5)
    assert not await new_signal().wait(0.01)
    with shielded():
        pass
asyncio.run(main())
assert not {"trio", "anyio"} & set(sys.modules)
"""
    done = subprocess.run([sys.executable, "-c", code], cwd=tmp_path, check=False)
    assert done.returncode == 0
