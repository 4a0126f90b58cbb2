"""Messages to a Run actor, apart from `CancelRun`, which it shares with the Agent."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from .approvals import Ask, Decider, Decision
from .base import Message
from .events import Event
from .turn import HostedServer, ProcessExit, TurnOutcome

__all__ = [
    "ApprovalDeadlinePassed",
    "ApprovalDecided",
    "AskWithdrawn",
    "Asked",
    "CallbackFailed",
    "CloneFailed",
    "CloneReady",
    "EventsConsumed",
    "EventsRead",
    "IdleTimePassed",
    "ProcessStarted",
    "ProviderSilent",
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


@dataclass(frozen=True, slots=True)
class EventsConsumed(Message):
    """The application has read events of a stream that may not run ahead."""

    count: int
    """How many."""


@dataclass(frozen=True, slots=True)
class IdleTimePassed(Message):
    """A timer's word to see whether the provider has been silent for too long."""


@dataclass(frozen=True, slots=True)
class ProviderSilent(Message):
    """The process has printed nothing for a while; time in which nobody read
    what it prints does not count."""

    seconds: float
    """For how long."""


@dataclass(frozen=True, slots=True)
class Asked(Message):
    """The provider waits for a decision."""

    ask: Ask
    """What it asks."""


@dataclass(frozen=True, slots=True)
class AskWithdrawn(Message):
    """The provider does not wait for a decision any more."""

    ask_id: str
    """The id of what it had asked."""


@dataclass(frozen=True, slots=True)
class ApprovalDecided(Message):
    """A responder's word that the application has settled a request."""

    request_id: str
    """Which request."""
    decision: Decision
    """What was decided."""
    by: Decider
    """Who did."""


@dataclass(frozen=True, slots=True)
class ApprovalDeadlinePassed(Message):
    """A timer's word that a request has waited long enough."""

    request_id: str
    """Which request."""


@dataclass(frozen=True, slots=True)
class CallbackFailed(Message):
    """The application's approval callback raised."""

    request_id: str
    """The request that it was called with."""
    error: Exception
    """What it raised."""
    text: str
    """The same in words, written where foreign code may run."""
