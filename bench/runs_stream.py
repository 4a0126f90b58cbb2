"""Events per second through a stream, ours and claude-agent-sdk's, on the same records."""

from __future__ import annotations

import asyncio
import json
import os
import subprocess
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from toolcrib import Agent, Claude, Stream, TextDelta

from .peers.environments import python_environment
from .runs_records import Prepared

__all__ = ["Peer", "Reading", "agent_of", "peer", "reader_of", "readers"]

_PEER = "claude-agent-sdk"


@dataclass(frozen=True, slots=True)
class Reading:
    """One stream, from its first piece of text to its last."""

    pieces: int
    """How many pieces of text came."""
    seconds: float
    """How long that took."""
    worked: float
    """How long this process's processors worked for it, in seconds."""

    @property
    def rate(self) -> float:
        """Events per second."""
        return self.pieces / self.seconds

    @property
    def cost(self) -> float:
        """Processor time of an event, in microseconds."""
        return self.worked / self.pieces * 1e6


class _Meter:
    """Takes the times of one reading."""

    def __init__(self) -> None:
        self._pieces = 0
        self._first = self._last = (0.0, 0.0)

    def note(self, event: object) -> None:
        if not isinstance(event, TextDelta):
            return
        if event.phase == "end":
            # What follows the last piece, as soon as everything before is read.
            self._last = (time.perf_counter(), time.process_time())
            return
        if not self._pieces:
            self._first = (time.perf_counter(), time.process_time())
        self._pieces += 1

    def reading(self) -> Reading:
        (began, worked), (ended, done) = self._first, self._last
        return Reading(self._pieces, ended - began, done - worked)


Reader = Callable[[Agent], Reading]


def _sync(agent: Agent) -> Reading:
    return _whole(agent.stream("go"), _read)


def _async(agent: Agent) -> Reading:
    async def read(stream: Stream, meter: _Meter) -> None:
        async for event in stream:
            meter.note(event)

    return _whole(agent.stream("go"), lambda stream, meter: asyncio.run(read(stream, meter)))


def _read(stream: Stream, meter: _Meter) -> None:
    for event in stream:
        meter.note(event)


def _whole(stream: Stream, read: Callable[[Stream, _Meter], None]) -> Reading:
    meter = _Meter()
    read(stream, meter)
    stream.result()
    return meter.reading()


def agent_of(prepared: Prepared, folder: Path, *, paces: bool) -> Agent:
    """Return an Agent whose provider prints the records, and that loses none.

    Args:
        prepared: The command.
        folder: Where its profile goes.
        paces: Whether the provider waits for the reader; else all events fit in.
    """
    folder.mkdir(exist_ok=True)
    driver = Claude(
        command=str(prepared.command), profile=folder, environment=prepared.environment
    )
    room = 1024 if paces else prepared.pieces + 1024
    return Agent(driver, event_buffer=room, blocking_events=paces)


@contextmanager
def readers(prepared: Prepared, folder: Path) -> Iterator[dict[str, Callable[[], Reading]]]:
    """Return our ways to read, by name; for a ``with`` block."""
    profile = folder / "profile"
    with (
        agent_of(prepared, profile, paces=False) as free,
        agent_of(prepared, profile, paces=True) as paced,
    ):
        yield {
            "for": reader_of(free, _sync),
            "async for": reader_of(free, _async),
            "for, blocking_events": reader_of(paced, _sync),
            "async for, blocking_events": reader_of(paced, _async),
        }


def reader_of(agent: Agent, reader: Reader) -> Callable[[], Reading]:
    """Return a call that reads once with an Agent."""
    return lambda: reader(agent)


class Peer:
    """A process that reads with claude-agent-sdk.

    Args:
        process: The process, which measures once for each line.
    """

    def __init__(self, process: subprocess.Popen[str]) -> None:
        self._process = process
        self.version: str = self._answer()["version"]

    def read(self) -> Reading:
        """Have it read once."""
        assert self._process.stdin is not None
        self._process.stdin.write("go\n")
        self._process.stdin.flush()
        found = self._answer()
        return Reading(found["pieces"], found["seconds"], found["worked"])

    def _answer(self) -> dict[str, Any]:
        assert self._process.stdout is not None
        answer: dict[str, Any] = json.loads(self._process.stdout.readline())
        return answer


@contextmanager
def peer(prepared: Prepared) -> Iterator[Peer | None]:
    """Start claude-agent-sdk for a ``with`` block; ``None`` where it can't be had."""
    python = python_environment(_PEER, _PEER)
    if python is None:
        yield None
        return
    script = Path(__file__).parent / "peers" / "claude_agent_sdk_stream.py"
    with subprocess.Popen(
        [python, script, str(prepared.command)],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        env={**os.environ, **prepared.environment},
        text=True,
    ) as process:
        yield Peer(process)
        assert process.stdin is not None
        process.stdin.close()
