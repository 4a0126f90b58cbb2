"""Messages to an Agent actor, and its answers to the handles."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol

from .base import Address, Message
from .events import Event
from .options import RunOptions
from .results import Result, RunReason

__all__ = [
    "AgentClosed",
    "CancelRun",
    "CloseAgent",
    "CloseDeadlinePassed",
    "CloseTimedOut",
    "EventSink",
    "ProcessClosed",
    "ProviderStarting",
    "RunAdmitted",
    "RunEnded",
    "RunRefused",
    "RunStopping",
    "StartRun",
    "ToolsWanted",
]


class EventSink(Protocol):
    """Where a run's events and its result go; never blocks, safe in any thread."""

    @property
    def paces(self) -> bool:
        """Whether the provider may not run ahead of the consumer."""
        ...

    @property
    def listening(self) -> bool:
        """Whether anybody may still read what is published."""
        ...

    @property
    def overrun(self) -> int:
        """How many events wait to be read, where that is more than a run may keep,
        so that it is to end; else 0. Never more than 0 where it `paces`."""
        ...

    def publish(self, event: Event) -> None:
        """Take one event and stamp it with run, sequence and time."""
        ...

    def publish_all(self, events: Sequence[Event]) -> None:
        """Take some events, in order."""
        ...

    def report_reads(self, to: Address) -> None:
        """Have a sink that `paces` tell its run, as `EventsConsumed`, how many of
        the published events need no more room: each once, when it is read, or
        when it is clear that nobody will read it."""
        ...

    def finish(self, result: Result | None, error: BaseException | None) -> None:
        """End the stream with the result, or with the error to raise."""
        ...


@dataclass(frozen=True, slots=True, kw_only=True)
class StartRun(Message):
    """A handle asks for a run. Answered by `RunAdmitted` or `RunRefused`."""

    run_id: str
    """The new run's id."""
    prompt: str
    """What to ask."""
    options: RunOptions
    """How to run it."""
    thread_key: str | None
    """The thread to go on with; ``None`` outside a thread."""
    sink: EventSink
    """Where events and result go."""
    reply_to: Address
    """Who asks."""


@dataclass(frozen=True, slots=True)
class RunAdmitted(Message):
    """The run exists now, and ends with its sink's `EventSink.finish`."""

    run_id: str
    """The run's id."""


@dataclass(frozen=True, slots=True)
class RunRefused(Message):
    """The run was not admitted; nothing has happened."""

    run_id: str
    """The run's id."""
    error: Exception
    """Why, for the handle to raise."""


@dataclass(frozen=True, slots=True)
class CancelRun(Message):
    """End a run early: to the Agent, which passes it on to the run."""

    run_id: str
    """Which run; the Agent ignores ids that it does not know (any more)."""
    reason: RunReason
    """Why; an earlier reason of the same run wins."""
    message: str
    """One sentence for the `RunError`."""


@dataclass(frozen=True, slots=True)
class RunStopping(Message):
    """A cancelled run promises to start nothing more: no clone, no process."""

    run_id: str
    """The run's id."""


@dataclass(frozen=True, slots=True)
class RunEnded(Message):
    """A run is over: its process is gone, its thread released, its result set."""

    run_id: str
    """The run's id."""
    clone_key: str | None = None
    """The clone that it asked for and needs no more; ``None`` where it asked for none."""


@dataclass(frozen=True, slots=True)
class ToolsWanted(Message):
    """A run needs the Agent's tools to be reachable. Answered to the run."""

    run_id: str
    """The run's id."""
    reply_to: Address
    """The run."""


@dataclass(frozen=True, slots=True)
class ProviderStarting(Message):
    """A run is about to start a provider process."""

    run_id: str
    """The run's id."""
    driver: Address
    """The actor that owns the process."""


@dataclass(frozen=True, slots=True)
class ProcessClosed(Message):
    """A provider's process and all its children are gone, or never came."""

    driver: str
    """The name of the actor that owned it."""


@dataclass(frozen=True, slots=True)
class CloseAgent(Message):
    """Close the Agent, or go on closing. Answered within the timeout."""

    timeout: float
    """How long the asker waits, in seconds."""
    reply_to: Address
    """Gets `AgentClosed` or `CloseTimedOut`."""


@dataclass(frozen=True, slots=True)
class CloseDeadlinePassed(Message):
    """A timer's word that one closer has waited long enough."""

    closer: int
    """Which of the waiting closers."""


@dataclass(frozen=True, slots=True)
class AgentClosed(Message):
    """Nothing of the Agent is left."""

    agent: str
    """The Agent's name."""


@dataclass(frozen=True, slots=True)
class CloseTimedOut(Message):
    """The asker's time is up; the Agent goes on closing."""

    phase: str
    """The phase that it is in."""
    remaining: tuple[str, ...]
    """What it still waits for, one phrase each."""
    timeout: float
    """The time that passed, in seconds."""
