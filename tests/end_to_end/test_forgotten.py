"""Hosts that forget to close, or die: nothing of theirs outlives them for long."""

from __future__ import annotations

import contextlib
import gc
import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import psutil
import pytest

from toolcrib import Agent, MemoryStore, System, TextDelta, ThreadBusyError, Tracer

from .conftest import WAIT, Scripted, left_of

HOST = """
import sys, threading
from toolcrib import Agent, Cursor, System, TextDelta
system = System(clones={clones!r})
agent = Agent(Cursor(command={command!r}, profile={profile!r}), system=system)
stream = agent.stream("hello")
next(event for event in stream if isinstance(event, TextDelta))
print(system.host, flush=True)
{end}
"""


@contextlib.contextmanager
def host(scripted: Scripted, tmp_path: Path, end: str) -> Iterator[subprocess.Popen[str]]:
    driver = scripted({"spawn": "child"}, {"spawn": "detached"}, {"say": "busy"}, {"hang": True})
    program = tmp_path / "host.py"
    program.write_text(
        HOST.format(
            clones=str(tmp_path / "clones"),
            command=driver.command,
            profile=str(tmp_path / "source"),
            end=end,
        )
    )
    with subprocess.Popen(
        [sys.executable, "-W", "default", program],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    ) as process:
        try:
            yield process
        finally:
            process.kill()  # where the test failed, it would be waited for in vain


def test_an_interpreter_that_forgets_to_close_exits_promptly_and_leaves_nothing(
    scripted: Scripted, tmp_path: Path
) -> None:
    with host(scripted, tmp_path, "") as process:
        out, err = process.communicate(timeout=WAIT)
    assert process.returncode == 0, err
    assert left_of(out.strip()) == []
    assert list(tmp_path.glob("clones/*/*/owner.json")) == []
    assert "ResourceWarning" in err
    assert "was never closed" in err


def test_an_interpreter_that_raises_leaves_nothing(scripted: Scripted, tmp_path: Path) -> None:
    with host(scripted, tmp_path, "raise SystemExit(3)") as process:
        out, err = process.communicate(timeout=WAIT)
    assert process.returncode == 3, err
    assert left_of(out.strip()) == []
    assert list(tmp_path.glob("clones/*/*/owner.json")) == []


def test_a_host_that_is_killed_leaves_nothing_for_long(scripted: Scripted, tmp_path: Path) -> None:
    with host(scripted, tmp_path, "threading.Event().wait()") as process:
        assert process.stdout is not None
        marker = process.stdout.readline().strip()
        # The provider, its child, and its detached child; who is just becoming another
        # program shows no marker for a moment.
        end = time.monotonic() + WAIT
        while len(pids := left_of(marker)) < 3 and time.monotonic() < end:
            threading.Event().wait(0.01)
        assert len(pids) >= 3
        left = [psutil.Process(pid) for pid in pids]
        guards = psutil.Process(process.pid).children()
        os.kill(process.pid, signal.SIGKILL)
        process.wait(WAIT)
    _, alive = psutil.wait_procs([*left, *guards], WAIT)
    assert alive == []
    assert list(tmp_path.glob("clones/*/*/owner.json")) == []


def test_an_agent_that_is_dropped_warns_and_is_closed(
    scripted: Scripted, system: System, tracer: Tracer
) -> None:
    agent = Agent(scripted({"say": "hi"}), system=system)
    agent.run("hello")
    agents = [agent]
    del agent
    with pytest.warns(ResourceWarning, match="was never closed"):
        agents.clear()
    tracer.wait_for(lambda entry: entry.kind == "AgentClosed", WAIT)
    assert left_of(system.host) == []


def make_unhealthy(system: System) -> None:
    for _ in range(3):
        system._take_note("system-registry", RuntimeError("a fault"))
    assert not system.healthy


def leave_alone(system: System) -> None:
    assert system.healthy


@pytest.mark.filterwarnings("ignore:.*was never closed:ResourceWarning")
@pytest.mark.parametrize("befall", [leave_alone, make_unhealthy])
def test_a_thread_is_free_again_when_the_agent_that_ran_it_is_dropped(
    scripted: Scripted, system: System, tracer: Tracer, befall: Callable[[System], None]
) -> None:
    store = MemoryStore()
    agent = Agent(scripted({"say": "busy"}, {"hang": True}), system=system, store=store)
    stream = agent.thread("t").stream("hello")
    next(event for event in stream if isinstance(event, TextDelta))
    with pytest.raises(ThreadBusyError):
        store.acquire("t", "another")
    befall(system)
    agents: list[object] = [agent, stream]
    del agent, stream
    agents.clear()
    gc.collect()
    tracer.wait_for(lambda entry: entry.kind == "RunEnded", WAIT)
    store.release(store.acquire("t", "another"))
    tracer.wait_for(lambda entry: entry.kind == "AgentClosed", WAIT)
    assert left_of(system.host) == []


def test_a_system_that_stops_closes_its_agents(scripted: Scripted, tmp_path: Path) -> None:
    system = System(clones=tmp_path / "clones")
    agent = Agent(scripted({"say": "busy"}, {"hang": True}), system=system)
    stream = agent.stream("hello")
    next(iter(stream))
    assert system.stop() == ()
    assert left_of(system.host) == []
    assert list(tmp_path.glob("clones/*/*/owner.json")) == []
    agent.close()
