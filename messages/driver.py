"""Messages to a Driver actor, the owner of one provider process."""

from __future__ import annotations

from dataclasses import dataclass

from .approvals import Decision
from .base import Message

__all__ = ["AnswerAsk", "CloseProcess", "EventsTaken", "SayHowSilent", "StartProcess"]


@dataclass(frozen=True, slots=True)
class StartProcess(Message):
    """Start the provider's process, once."""


@dataclass(frozen=True, slots=True)
class EventsTaken(Message):
    """The run has published events: the process's output may be read on."""

    count: int
    """How many."""


@dataclass(frozen=True, slots=True)
class CloseProcess(Message):
    """End the process and its children. The Agent gets `ProcessClosed`.

    Sent again, or after the end, it changes nothing.
    """


@dataclass(frozen=True, slots=True)
class AnswerAsk(Message):
    """Tell the provider what was decided about something that it asked."""

    ask_id: str
    """The id of what it had asked."""
    decision: Decision
    """What was decided."""


@dataclass(frozen=True, slots=True)
class SayHowSilent(Message):
    """The run wants to know how long the provider has printed nothing.

    Answered to the run by `ProviderSilent`, while there is a process.
    """
