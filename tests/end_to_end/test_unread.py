"""A flood of what is never left out: a run that nobody reads ends, others go on."""

from __future__ import annotations

import sys
import threading
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, ClassVar

import pytest
from third_party import Echo, EchoDialect

from toolcrib import (
    Agent,
    Dropped,
    Notice,
    ProcessInfo,
    RunError,
    RunFinished,
    RunReason,
    System,
    tool,
)
from toolcrib.messages.events import TextDelta
from toolcrib.runtime.drivers.interface import Dialect, Emit, Step, TurnRequest

from .conftest import WAIT, Scripted, left_of

LIMIT = 100_000
LITTLE_MORE = 2_000
"""What a process may have on its way when the run decides, and some more."""

# Goes on when it is asked to end, as a provider may that is out of its mind.
FLOOD = """
import signal, sys
signal.signal(signal.SIGTERM, signal.SIG_IGN)
print("so far", flush=True)
while True:
    sys.stdout.write("notice\\n" * 1000)
"""


class FloodDialect(EchoDialect):
    def line(self, text: str) -> tuple[Step, ...]:
        if text == "notice":
            return (Emit(Notice(kind="flood", message="")),)
        return super().line(text)


@dataclass(frozen=True)
class Flood(Echo):
    """Says something, and then sends notices without end."""

    provider: ClassVar[str] = "flood"
    command: tuple[str, ...] = (sys.executable, "-I", "-c", FLOOD)

    def dialect(self, request: TurnRequest) -> Dialect:
        return FloodDialect(request)


def printed(count: int) -> Mapping[str, Any]:
    """Return a step that prints so many records that the driver does not know."""
    return {"print": '{"type":"x"}\n' * 10, "repeat": count // 10}


def test_a_run_that_nobody_reads_ends_before_it_fills_memory(system: System) -> None:
    with Agent(Flood(), system=system) as agent:
        stream = agent.stream("hello")
        with pytest.raises(RunError, match=r"^1\d{5} events wait to be read") as caught:
            stream.result(WAIT)
        assert left_of(system.host) == []
        assert caught.value.reason is RunReason.UNREAD
        assert caught.value.result.text == "so far"
        assert "discard()" in str(caught.value)

        events = [*stream]
    assert LIMIT < len(events) < LIMIT + LITTLE_MORE
    assert [event.sequence for event in events] == [*range(1, len(events) + 1)]
    exited, last = events[-2:]
    assert isinstance(exited, ProcessInfo)
    assert isinstance(last, RunFinished)
    assert (exited.kind, last.reason) == ("exited", RunReason.UNREAD)
    assert any(isinstance(event, TextDelta) for event in events)


def test_a_reader_that_is_far_behind_but_reads_gets_everything(
    scripted: Scripted, system: System
) -> None:
    called, go_on = threading.Event(), threading.Event()

    @tool.define()
    def host_gate() -> str:
        """Wait for the reader."""
        called.set()
        assert go_on.wait(WAIT)
        return "open"

    half = LIMIT * 52 // 100
    driver = scripted(printed(half), {"call": "host_gate"}, printed(half), {"say": "end"})
    with Agent(driver, tools=[host_gate], system=system) as agent:
        stream = agent.stream("hello")
        assert called.wait(WAIT)
        events = [next(stream) for _ in range(half)]
        go_on.set()
        assert stream.result(WAIT).text == "end"
        events += stream
    assert len(events) > 2 * half
    assert not any(isinstance(event, Dropped) for event in events)


def test_a_run_without_a_reader_may_print_as_much_as_it_likes(
    scripted: Scripted, system: System
) -> None:
    with Agent(scripted(printed(LIMIT + 10_000), {"say": "end"}), system=system) as agent:
        stream = agent.stream("hello")
        stream.discard()
        assert stream.result(WAIT).text == "end"


def test_a_provider_that_waits_for_its_reader_is_not_ended(
    scripted: Scripted, system: System
) -> None:
    driver = scripted(printed(LIMIT + 10_000), {"say": "end"})
    with Agent(driver, system=system, blocking_events=True) as agent:
        stream = agent.stream("hello")
        events = [*stream]
        assert stream.result(WAIT).text == "end"
    assert len(events) > LIMIT + 10_000
    assert not any(isinstance(event, Dropped) for event in events)
