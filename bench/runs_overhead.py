"""Runs per second, and what a run takes above its child's own time."""

from __future__ import annotations

import subprocess
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import psutil

from toolcrib import Agent, ProcessInfo
from toolcrib.testing import scripted_cursor

__all__ = ["ANSWER", "Command", "Pair", "by_hand", "compared", "measured_agent", "runs_at_once"]

ANSWER = "Hello."
"""What every run says."""

_PROMPT = b"hello"  # which the provider reads from its standard input


@dataclass(frozen=True, slots=True)
class Command:
    """How a provider was started."""

    argv: list[str]
    """Its command line."""
    cwd: str
    """Where it ran."""
    environment: dict[str, str]
    """Its environment."""


@dataclass(frozen=True, slots=True)
class Pair:
    """A run, and its child's command by hand just before or after it."""

    run: float
    """Seconds of the run."""
    by_hand: float
    """Seconds of the command alone."""
    worked: float
    """Processor time of this process for the run, in seconds."""

    @property
    def overhead(self) -> float:
        """What the run takes more, in seconds."""
        return self.run - self.by_hand


@contextmanager
def measured_agent(folder: Path) -> Iterator[tuple[Agent, Command]]:
    """Return an Agent that has run once, and how its provider was started.

    Args:
        folder: Where its script and profile go.
    """
    gate = folder / "gate"
    steps = [{"wait_for_file": str(gate)}, {"say": ANSWER}]
    driver = scripted_cursor({"turns": [{"steps": steps}]}, directory=folder)
    with Agent(driver) as agent:
        # Its provider waits, so that it can be looked at.
        with agent.stream(_PROMPT.decode()) as stream:
            pid = next(e.pid for e in stream if isinstance(e, ProcessInfo))
            provider = psutil.Process(pid)
            while not provider.cmdline():  # in the middle of its exec
                time.sleep(0.001)
            command = Command(provider.cmdline(), provider.cwd(), provider.environ())
            gate.touch()
            stream.result()
        yield agent, command


def by_hand(command: Command) -> float:
    """Return the seconds that the command takes when it is run by hand."""
    began = time.perf_counter()
    done = subprocess.run(
        command.argv,
        cwd=command.cwd,
        env=command.environment,
        input=_PROMPT,
        capture_output=True,
        check=True,
    )
    seconds = time.perf_counter() - began
    if ANSWER.encode() not in done.stdout:
        msg = f"by hand the provider printed {done.stdout!r}"
        raise RuntimeError(msg)
    return seconds


def compared(agent: Agent, command: Command, *, hand_first: bool) -> Pair:
    """Run once with the Agent and once by hand."""
    alone = by_hand(command) if hand_first else None
    began, worked = time.perf_counter(), time.process_time()
    _run(agent)
    ended, done = time.perf_counter(), time.process_time()
    return Pair(ended - began, by_hand(command) if alone is None else alone, done - worked)


def runs_at_once(agent: Agent, count: int, at_once: int) -> float:
    """Return how many runs a second end where so many go on at a time."""
    return count / _seconds(lambda: _run_many(agent, count, at_once))


def _run_many(agent: Agent, count: int, at_once: int) -> None:
    with ThreadPoolExecutor(at_once) as pool:
        list(pool.map(lambda _: _run(agent), range(count)))


def _run(agent: Agent) -> None:
    text = agent.run(_PROMPT.decode()).text
    if text != ANSWER:
        msg = f"a run said {text!r}"
        raise RuntimeError(msg)


def _seconds(function: Callable[[], object]) -> float:
    began = time.perf_counter()
    function()
    return time.perf_counter() - began
