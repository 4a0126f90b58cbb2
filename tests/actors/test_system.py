"""The system: order of start and stop, supervision, and what did not stop."""

from __future__ import annotations

import logging
import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from third_party import Echo

from toolcrib import Agent, System, ToolcribError, Tracer
from toolcrib.actors.inbox import Inbox
from toolcrib.messages.base import Message
from toolcrib.messages.registry import MintToken

from .conftest import WAIT


@pytest.fixture
def tracer() -> Tracer:
    return Tracer()


@pytest.fixture
def system(tmp_path: Path, tracer: Tracer) -> Iterator[System]:
    system = System(clones=tmp_path / "clones", tracer=tracer)
    yield system
    system.stop()


KILLED = """
import ctypes, pathlib, sys
from toolcrib import System, ToolcribError
from toolcrib.actors.inbox import Inbox
from toolcrib.messages.gateway import CloseListener

system = System(clones=pathlib.Path(sys.argv[1]))
thread = system._gateway.thread
ctypes.pythonapi.PyThreadState_SetAsyncExc(
    ctypes.c_ulong(thread.ident), ctypes.py_object(SystemExit)
)
system._gateway.deliver(CloseListener(Inbox()), "test")  # wakes it, to its death
thread.join(10)
print("healthy" if system.healthy else "not healthy")
again = Inbox()
try:
    again.ask(system._gateway, CloseListener(again), 10)
except ToolcribError as error:
    print(error)
"""


def broken(inbox: Inbox) -> Message:
    """A request that its actor can't expect."""
    return MintToken(agent="a", catalog=None, context=None, reply_to=inbox)  # type: ignore[arg-type]


def test_an_idle_system_stops_and_says_so(system: System) -> None:
    assert system.healthy
    assert system.stop() == ()
    assert not system.healthy
    assert system.stop() == ()


def test_a_stopped_system_takes_no_agent(system: System) -> None:
    system.stop()
    agent = Agent(Echo(), system=system)
    with pytest.raises(ToolcribError, match="This system has stopped"):
        agent.run("hello")
    agent.close()


def test_actors_stop_in_the_reverse_order_of_their_start(
    system: System, tracer: Tracer, tmp_path: Path
) -> None:
    agent = Agent(Echo(), system=system, workspace=tmp_path)
    agent.run("hello")
    order = [system._registry, system._gateway, system._cleaner]
    alive: list[list[bool]] = []
    for actor in order:
        original = actor.join

        def join(timeout: float, original: object = original) -> bool:
            done: bool = original(timeout)  # type: ignore[operator]
            alive.append([each.is_alive() for each in order])
            return done

        actor.join = join  # type: ignore[method-assign]
    assert system.stop() == ()
    assert alive == [[False, True, True], [False, False, True], [False, False, False]]


def test_what_does_not_stop_is_reported(
    system: System, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    driver = Echo()
    driver.preparing.hold()
    agent = Agent(driver, system=system, workspace=tmp_path)
    stream = agent.stream("hello")
    assert driver.preparing.entered.wait(WAIT)
    try:
        (late,) = system.stop(timeout=0.3)
        assert late.startswith("agent-")
        errors = [r.getMessage() for r in caplog.records if r.levelno == logging.ERROR]
        assert any("did not stop" in error and late in error for error in errors)
    finally:
        driver.preparing.release.set()
    with pytest.raises(ToolcribError):
        stream.result(WAIT)
    assert system.stop() == ()  # goes on from there
    agent.close()


def test_an_actor_whose_thread_was_killed_is_noticed(tmp_path: Path) -> None:
    # In a process of its own, since a pending exception of another thread makes
    # Python 3.11 spin for ever in a thread that is traced for coverage.
    done = subprocess.run(
        [sys.executable, "-c", KILLED, tmp_path / "clones"],
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.stdout.splitlines() == [
        "not healthy",
        "system-gateway has stopped, so CloseListener reached nobody.",
    ], done.stderr


def test_an_actor_that_fails_again_and_again_makes_its_system_unhealthy(system: System) -> None:
    for _ in range(3):
        assert system.healthy
        inbox = Inbox()
        with pytest.raises(ToolcribError, match="failed on MintToken"):
            inbox.ask(system._registry, broken(inbox), WAIT)
    assert not system.healthy


def test_the_default_system_is_replaced_when_it_is_no_good() -> None:
    first = System.default()
    assert System.default() is first
    first.stop()
    second = System.default()
    assert second is not first
    second.stop()


def test_a_forked_child_does_not_take_the_parents_system(system: System) -> None:
    read, write = os.pipe()
    child = os.fork()
    if child == 0:
        os.write(write, b"healthy" if system.healthy else b"not mine")
        os._exit(0)
    os.close(write)
    try:
        assert os.read(read, 100) == b"not mine"
    finally:
        os.close(read)
        os.waitpid(child, 0)
