"""Messages to a Driver actor, the owner of one provider process."""

from __future__ import annotations

from dataclasses import dataclass

from .base import Message

__all__ = ["CloseProcess", "EventsTaken", "StartProcess"]


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
