"""The steps of a run, and what its workers report of them to the Run actor."""

from __future__ import annotations

from dataclasses import dataclass, field
from enum import StrEnum

from ..errors import ToolcribError
from ..messages.base import Message
from ..messages.turn import Launch
from ..runtime.attachments import Attached
from ..runtime.drivers.interface import Dialect
from ..runtime.threads.interface import Lease, ThreadRecord

__all__ = [
    "CallbackReturned",
    "Checked",
    "GracePassed",
    "Kept",
    "OutputLoaded",
    "Prepared",
    "Released",
    "ServicesAttached",
    "Step",
    "StepFailed",
    "ThreadOpened",
    "describe",
    "step_failed",
]


class Step(StrEnum):
    """What the run waits for."""

    CHECKING = "checking the configuration"
    """A worker looks for what would fail."""
    OPENING_THREAD = "opening the thread"
    """A worker takes the thread's lease."""
    ATTACHING = "attaching the services"
    """A worker attaches the run's services."""
    AWAITING_TOOLS = "waiting for the tools' gateway"
    """The Agent makes the tools reachable."""
    AWAITING_CLONE = "waiting for the profile's clone"
    """The cleaner makes the clone."""
    PREPARING = "preparing the provider"
    """A worker has the driver write the turn's configuration."""
    RUNNING = "running the provider"
    """There is a process."""
    LOADING = "reading the answer"
    """A worker makes the value that was asked for of the answer."""
    KEEPING = "keeping the conversation"
    """A worker stores the thread."""
    RELEASING = "releasing what it held"
    """A worker detaches the services and gives the thread back."""
    ENDED = "ended"
    """The run is over."""


@dataclass(frozen=True, slots=True)
class Checked(Message):
    """A worker has checked what can be checked without creating anything."""


@dataclass(frozen=True, slots=True)
class ThreadOpened(Message):
    """A worker has taken the thread's lease and read its record."""

    lease: Lease
    """The lease, to be released in any case."""
    record: ThreadRecord | None
    """The record to resume; ``None`` starts a new conversation."""
    notice: str
    """What the application should know about that; may be empty."""


@dataclass(frozen=True, slots=True)
class ServicesAttached(Message):
    """A worker has attached the run's services."""

    attached: Attached = field(repr=False)
    """What they brought; to be detached in any case."""


@dataclass(frozen=True, slots=True)
class Prepared(Message):
    """A worker has written the turn's configuration into the clone."""

    launch: Launch = field(repr=False)
    """How to start the process."""
    dialect: Dialect = field(repr=False)
    """How to talk with it."""


@dataclass(frozen=True, slots=True)
class OutputLoaded(Message):
    """A worker has made a value of the answer."""

    value: object = field(repr=False)
    """The value."""


@dataclass(frozen=True, slots=True)
class Kept(Message):
    """A worker has stored the conversation with its checkpoint."""


@dataclass(frozen=True, slots=True)
class Released(Message):
    """A worker has detached the services and given the thread back."""

    detaching: tuple[Exception, ...]
    """What the services raised."""
    releasing: Exception | None
    """What the store raised, if anything."""


@dataclass(frozen=True, slots=True)
class CallbackReturned(Message):
    """The application's approval callback has returned; it may settle later."""

    request_id: str
    """The request that it was called with."""


@dataclass(frozen=True, slots=True)
class StepFailed(Message):
    """What a worker did for the run failed."""

    error: Exception
    """Why."""
    text: str
    """The same in words, written where foreign code may run."""


@dataclass(frozen=True, slots=True)
class GracePassed(Message):
    """A timer's word that the caller has waited long enough for a stopped run."""


def step_failed(error: Exception) -> StepFailed:
    """Return the report of a failed step; runs on the worker's thread."""
    return StepFailed(error, describe(error))


def describe(error: Exception) -> str:
    """Return an error in words: those of ours are written for people."""
    return str(error) if isinstance(error, ToolcribError) else repr(error)
