"""Streams in both worlds, and what becomes of a run that nobody waits for."""

from __future__ import annotations

import asyncio
import gc
import threading
import warnings
from collections.abc import Callable, Coroutine, Generator, Iterator
from typing import Any

import pytest

from toolcrib import (
    Agent,
    Dropped,
    RunError,
    RunFinished,
    RunReason,
    System,
    TextDelta,
    Tracer,
    tool,
)
from toolcrib.runtime.tracing import TraceEntry

from .conftest import WAIT, Scripted, left_of

ENDLESS = ({"say": "busy"}, {"hang": True})


@pytest.fixture
def agent(scripted: Scripted, system: System) -> Iterator[Agent]:
    """An Agent whose provider answers and then never ends."""
    with Agent(scripted(*ENDLESS), system=system) as agent:
        yield agent


def ended(tracer: Tracer) -> None:
    tracer.wait_for(lambda entry: entry.kind == "RunEnded", WAIT)


def test_leaving_an_iteration_early_ends_the_run(
    agent: Agent, system: System, tracer: Tracer
) -> None:
    def leave_early() -> None:
        for event in agent.stream("hello"):
            if isinstance(event, TextDelta):
                return

    leave_early()
    gc.collect()
    ended(tracer)
    assert left_of(system.host) == []


def test_leaving_the_context_of_a_stream_ends_the_run(agent: Agent, system: System) -> None:
    with agent.stream("hello") as stream:
        assert any(isinstance(event, TextDelta) for event in stream)
    assert left_of(system.host) == []
    with pytest.raises(RunError) as caught:
        stream.result(0.1)
    assert caught.value.reason is RunReason.CANCELLED
    assert caught.value.result.text == "busy"


def test_a_cancelled_run_finishes_its_stream(agent: Agent) -> None:
    stream = agent.stream("hello")
    events = []
    for event in stream:
        events.append(event)
        if isinstance(event, TextDelta):
            stream.cancel()
    last = events[-1]
    assert isinstance(last, RunFinished)
    assert (last.ok, last.reason, last.text) == (False, "cancelled", "busy")


def test_a_run_has_a_total_time(agent: Agent) -> None:
    with pytest.raises(RunError) as caught:
        agent.run("hello", timeout=1.0)
    assert caught.value.reason is RunReason.TIMED_OUT
    assert "1 s" in str(caught.value)


def test_one_stream_serves_async_for_too(scripted: Scripted, system: System) -> None:
    async def main() -> tuple[list[str], str]:
        async with Agent(scripted({"say": "hi"}), system=system) as agent:
            stream = agent.stream("hello")
            kinds = [type(event).__name__ async for event in stream]
            return kinds, (await stream.aresult()).text

    kinds, text = asyncio.run(main())
    assert kinds[0] == "RunStarted"
    assert kinds[-1] == "RunFinished"
    assert text == "hi"


def test_runs_of_one_agent_go_side_by_side_in_a_loop(scripted: Scripted, system: System) -> None:
    async def main() -> set[str]:
        async with Agent(scripted({"say": "{{prompt}}"}), system=system) as agent:
            results = await asyncio.gather(*(agent.arun(f"p{n}") for n in range(4)))
            return {result.text for result in results}

    assert asyncio.run(main()) == {"p0", "p1", "p2", "p3"}


def test_the_sync_calls_work_inside_a_running_loop(scripted: Scripted, system: System) -> None:
    @tool.define()
    async def host_echo(value: str) -> str:
        """Say it again."""
        await asyncio.sleep(0)
        return value

    driver = scripted(
        {"call": "host_echo", "arguments": {"value": "x"}, "save": "e"}, {"say": "{{results.e}}"}
    )

    async def main() -> str:
        with Agent(driver, tools=[host_echo], system=system) as agent:
            return agent.run("hello").text

    assert "x" in asyncio.run(main())


def test_cancelling_the_task_that_waits_cancels_the_run(
    scripted: Scripted, system: System, tracer: Tracer
) -> None:
    async def main() -> None:
        async with Agent(scripted(*ENDLESS), system=system) as agent:
            task = asyncio.create_task(agent.arun("hello"))
            started = asyncio.to_thread(
                tracer.wait_for, lambda entry: entry.kind == "EventsRead", WAIT
            )
            await started
            task.cancel()
            with pytest.raises(asyncio.CancelledError):
                await task
            await asyncio.to_thread(ended, tracer)
            assert left_of(system.host) == []

    with warnings.catch_warnings():
        warnings.simplefilter("error")
        asyncio.run(main())


def test_cancelling_the_task_that_iterates_loses_no_event_and_no_process(
    scripted: Scripted, system: System
) -> None:
    async def main() -> None:
        async with Agent(scripted(*ENDLESS), system=system) as agent:
            async with agent.stream("hello") as stream:
                async for event in stream:
                    if isinstance(event, TextDelta):
                        break

                async def further() -> None:
                    async for _ in stream:
                        pass

                task = asyncio.create_task(further())
                await asyncio.sleep(0)
                task.cancel()
                with pytest.raises(asyncio.CancelledError):
                    await task
            assert left_of(system.host) == []

    asyncio.run(main())


class CancelledAt:
    """Awaits a coroutine, and cancels it at one of the places where it waits."""

    def __init__(self, coroutine: Coroutine[Any, Any, None], place: int) -> None:
        self._coroutine, self._place = coroutine, place
        self.waited = 0

    def __await__(self) -> Generator[Any, Any, None]:
        steps = self._coroutine.__await__()
        try:
            awaited = next(steps)
            while self.waited < self._place:
                self.waited += 1
                yield awaited
                awaited = next(steps)
            while True:  # what cleans up may wait for as long as it likes
                awaited = steps.throw(asyncio.CancelledError())
                while True:
                    yield awaited
                    awaited = next(steps)
        except StopIteration:
            return


async def _run(agent: Agent) -> None:
    async with agent:
        await agent.arun("hello")


async def _read(agent: Agent) -> None:
    async with agent:
        async for _ in agent.stream("hello"):
            await asyncio.sleep(0)


async def _hold(agent: Agent) -> None:
    async with agent, agent.stream("hello") as stream:
        async for _ in stream:
            pass
        await stream.aresult()


@pytest.mark.parametrize("use", [_run, _read, _hold])
def test_a_task_can_be_cancelled_wherever_it_waits(
    scripted: Scripted, system: System, use: Callable[[Agent], Coroutine[Any, Any, None]]
) -> None:
    async def cancelled_at(place: int) -> bool:
        agent = Agent(scripted({"say": "a"}, {"say": "b"}), system=system)
        attempt = CancelledAt(use(agent), place)
        try:
            await attempt
        except asyncio.CancelledError:
            pass
        finally:
            await agent.aclose()
        return attempt.waited < place  # it came to its end before

    async def main() -> int:
        place = 0
        while not await cancelled_at(place):
            place += 1
            assert place < 100
        return place

    with warnings.catch_warnings():
        warnings.simplefilter("error")
        places = asyncio.run(main())
        gc.collect()
    assert places >= 3
    assert left_of(system.host) == []


def test_a_run_ends_by_itself_wherever_its_caller_was_cancelled(
    agent: Agent, tracer: Tracer
) -> None:
    async def run() -> None:
        await agent.arun("hello")

    async def main() -> list[BaseException]:
        errors: list[BaseException] = []
        agent.stream("hello").cancel()  # so that it is started
        for place in (0, 1):  # the admission, the end
            try:
                await CancelledAt(run(), place)
            except asyncio.CancelledError as error:
                errors.append(error)  # which holds on to the run's stream
        return errors

    errors = asyncio.run(main())
    asked = [entry for entry in tracer.entries() if entry.kind == "StartRun"]
    left = {entry.fields["run_id"] for entry in asked}

    def is_last_end(entry: TraceEntry) -> bool:
        if entry.kind == "RunEnded":
            left.discard(entry.fields["run_id"])
        return not left

    tracer.wait_for(is_last_end, WAIT)
    assert (len(errors), len(asked)) == (2, 3)


def test_a_paced_run_waits_for_its_reader_and_loses_nothing(
    scripted: Scripted, system: System, tracer: Tracer
) -> None:
    driver = scripted({"flood": 5000}, {"say": "end"})
    with Agent(driver, system=system, event_buffer=1, blocking_events=True) as agent:
        stream = agent.stream("hello")
        first = next(stream)
        tracer.wait_for(lambda entry: entry.kind == "EventsRead", WAIT)
        assert not any(entry.kind == "TurnEnded" for entry in tracer.entries())
        events = [first, *stream]
    assert not any(isinstance(event, Dropped) for event in events)
    assert [event.sequence for event in events] == [*range(1, len(events) + 1)]
    assert len(events) > 5000


def test_a_paced_run_that_nobody_reads_can_be_closed_and_one_without_events_ends(
    scripted: Scripted, system: System
) -> None:
    driver = scripted({"flood": 5000}, {"say": "end"})
    with Agent(driver, system=system, blocking_events=True) as agent:
        assert agent.run("hello").text.endswith("end")
        unread = agent.stream("hello")
        next(unread)
    with pytest.raises(RunError) as caught:
        unread.result(WAIT)
    assert caught.value.reason is RunReason.CANCELLED
    assert left_of(system.host) == []


def test_a_consumer_that_never_reads_holds_neither_run_nor_close(
    scripted: Scripted, system: System
) -> None:
    driver = scripted({"flood": 5000}, {"say": "end"})
    agent = Agent(driver, system=system, event_buffer=16)
    stream = agent.stream("hello")
    assert stream.result(WAIT).text.endswith("end")
    agent.close(WAIT)
    kinds = [type(event).__name__ for event in stream]
    assert "Dropped" in kinds
    assert len(kinds) < 100


def test_runs_from_many_threads_share_clone_and_token(
    scripted: Scripted, system: System, tracer: Tracer
) -> None:
    results: list[str] = []
    with Agent(scripted({"say": "{{prompt}}"}), system=system) as agent:
        threads = [
            threading.Thread(target=lambda n=n: results.append(agent.run(f"p{n}").text))
            for n in range(5)
        ]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join(WAIT)
    assert sorted(results) == [f"p{n}" for n in range(5)]
    made = {str(e.fields["root"]) for e in tracer.entries() if e.kind == "CloneReady"}
    assert len(made) == 1
