"""Many Agents with many runs each: what they hold while they run, and after."""

from __future__ import annotations

import gc
import os
import threading
from collections.abc import Iterable, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

import psutil
import pytest

from toolcrib import Agent, Cursor, Event, RunFinished, RunStarted, Stream, System, TextDelta

from .conftest import WAIT, Scripted

AGENTS, FEW = 50, 10
RUNS, AT_ONCE = 10, 2

# What one more run may hold while it goes on.
THREADS = 5  # actors of run and process, the pump, a worker, its part of the Agent's
DESCRIPTORS = 7  # three pipes, a waker's two ends, a selector, the process
MEMORY = 0.5  # MiB: its threads' stacks, its buffers, and four runs that wait

# What may stay: of our own objects next to none, since one for each of the 500 runs
# would be a leak. The memory is what the C library's allocator keeps of what hundreds
# of threads had asked it for.
OBJECTS_KEPT = 20
MEMORY_KEPT = 40

_PROC = Path("/proc/self")


@dataclass(frozen=True)
class Held:
    """What this process holds at a moment."""

    threads: int
    descriptors: int
    children: int
    memory: float  # MiB
    objects: int  # of our own types, as the garbage collector knows them

    @classmethod
    def now(cls) -> Held:
        gc.collect()
        held = gc.get_objects()
        return cls(
            threads=threading.active_count(),
            descriptors=len(os.listdir(_PROC / "fd")),
            children=_children(),
            memory=psutil.Process().memory_info().rss / 2**20,
            objects=sum(str(type(one).__module__).startswith("toolcrib") for one in held),
        )


def _children() -> int:
    count = 0
    for listing in (_PROC / "task").glob("*/children"):
        with suppress(FileNotFoundError, ProcessLookupError):  # its thread has just ended
            count += len(listing.read_text().split())
    return count


@dataclass(frozen=True)
class Asked:
    """One of the runs."""

    prompt: str
    stream: Stream


def ask(agent: Agent, name: str) -> list[Asked]:
    """Ask an Agent for all its runs at once; the first ones begin."""
    prompts = [f"run {number} of {name}" for number in range(RUNS)]
    return [Asked(prompt, agent.stream(prompt)) for prompt in prompts]


def read_first_words(asked: Asked) -> list[Event]:
    """Read up to the first words of the provider, which then waits."""
    events: list[Event] = []
    for event in asked.stream:
        events.append(event)
        if isinstance(event, TextDelta):
            break
    return events


def check(asked: Asked, events: Iterable[Event]) -> None:
    """Check a run from its start to its result."""
    kinds = [type(event) for event in events]
    assert kinds[0] is RunStarted
    assert kinds[-1] is RunFinished
    assert (kinds.count(RunStarted), kinds.count(RunFinished)) == (1, 1)
    assert asked.stream.result(WAIT).text == f"Begun. It was {asked.prompt}."


class Crowd:
    """Agents that are asked step by step, whose providers wait at a gate.

    Args:
        agents: All of them.
        gate: The file that lets the providers go on.
    """

    def __init__(self, agents: Sequence[Agent], gate: Path) -> None:
        self._agents = agents
        self._gate = gate
        self._asked: list[list[Asked]] = []
        self._read: dict[str, list[Event]] = {}

    def grow_to(self, count: int) -> Held:
        """Let so many Agents have their runs admitted, and the first of them begun."""
        new = range(len(self._asked), count)
        self._asked += [ask(self._agents[number], f"agent {number}") for number in new]
        for number in new:
            for asked in self._asked[number][:AT_ONCE]:
                self._read[asked.prompt] = read_first_words(asked)
        return Held.now()

    def finish(self) -> int:
        """Let all go on, and check each; return the most processes that were there."""
        self._gate.touch()
        most = _children()
        for of_agent in self._asked:
            for asked in of_agent:
                check(asked, [*self._read.get(asked.prompt, ()), *asked.stream])
            most = max(most, _children())
        return most


@dataclass(frozen=True)
class Course:
    """What was held at each stage."""

    few: Held
    many: Held
    closed: Held
    most_children: int


def course(system: System, driver: Cursor, gate: Path) -> Course:
    """Let many Agents come, run and go, and then the system."""
    agents = [Agent(driver, system=system, max_runs=AT_ONCE) for _ in range(AGENTS)]
    crowd = Crowd(agents, gate)
    few, many = crowd.grow_to(FEW), crowd.grow_to(AGENTS)
    most = crowd.finish()
    for agent in agents:
        agent.close(WAIT)
    closed = Held.now()
    assert system.stop() == ()
    for thread in threading.enumerate():
        if thread.name.startswith("toolcrib"):
            thread.join(WAIT)
    return Course(few, many, closed, most)


def warm_up(system: System, driver: Cursor) -> None:
    """Let happen what happens once: imports, caches."""
    with system, Agent(driver, system=system) as agent:
        assert agent.run("hello").text == "hi"


@pytest.mark.skipif(not (_PROC / "fd").exists(), reason="this machine lacks /proc")
@pytest.mark.timeout(300)
def test_many_runs_hold_little_each_and_leave_nothing(
    scripted: Scripted, tmp_path: Path, clones: Path
) -> None:
    gate = tmp_path / "gate"
    waiting = scripted(
        {"say": "Begun. "}, {"wait_for_file": str(gate)}, {"say": "It was {{prompt}}."}
    )
    warm_up(System(clones=clones), scripted({"say": "hi"}))
    before = Held.now()

    found = course(System(clones=clones), waiting, gate)

    stopped = Held.now()
    few, many, closed = found.few, found.many, found.closed
    for held, running in ((few, FEW * AT_ONCE), (many, AGENTS * AT_ONCE)):
        assert held.children == running + 1  # with the guard
        assert held.descriptors - before.descriptors <= running * DESCRIPTORS
        assert held.threads - before.threads <= running * THREADS
        assert held.memory - before.memory <= running * MEMORY
    assert found.most_children <= many.children
    # The guard and the system's own descriptors stay until the system stops.
    assert closed.children == 1
    assert closed.descriptors - before.descriptors <= DESCRIPTORS
    assert (stopped.threads, stopped.children) == (before.threads, before.children)
    assert stopped.descriptors == before.descriptors
    assert stopped.objects - before.objects <= OBJECTS_KEPT
    assert stopped.memory - before.memory <= MEMORY_KEPT
