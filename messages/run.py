"""Messages to a Run actor, apart from `CancelRun`, which it shares with the Agent."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from .base import Message
from .events import Event
from .turn import HostedServer, ProcessExit, TurnOutcome

__all__ = [
    "CloneFailed",
    "CloneReady",
    "EventsRead",
    "ProcessStarted",
    "RunDeadlinePassed",
    "SpawnFailed",
    "ToolsFailed",
    "ToolsReady",
    "TurnEnded",
]


@dataclass(frozen=True, slots=True)
class ToolsReady(Message):
    """The Agent's tools are reachable."""

    server: HostedServer
    """Where and with which token."""


@dataclass(frozen=True, slots=True)
class ToolsFailed(Message):
    """The Agent's tools can't be made reachable."""

    error: Exception
    """Why."""


@dataclass(frozen=True, slots=True)
class CloneReady(Message):
    """The isolated profile is there, seeded from its source."""

    root: Path
    """The clone's directory."""


@dataclass(frozen=True, slots=True)
class CloneFailed(Message):
    """The isolated profile could not be made; nothing of it is left."""

    error: Exception
    """Why."""


@dataclass(frozen=True, slots=True)
class ProcessStarted(Message):
    """The provider's process runs."""

    pid: int
    """Its process id."""


@dataclass(frozen=True, slots=True)
class SpawnFailed(Message):
    """The provider's process could not be started."""

    error: Exception
    """Why."""


@dataclass(frozen=True, slots=True)
class EventsRead(Message):
    """The provider printed something that became events."""

    events: tuple[Event, ...]
    """The events, in order, not yet stamped."""


@dataclass(frozen=True, slots=True)
class TurnEnded(Message):
    """The process is gone and all that it printed has been read."""

    outcome: TurnOutcome
    """The driver's verdict."""
    exit: ProcessExit
    """How the process ended."""


@dataclass(frozen=True, slots=True)
class RunDeadlinePassed(Message):
    """A timer's word that the run's total time is up."""

    timeout: float
    """The time that it had, in seconds."""
