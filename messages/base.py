"""What every message and every address has in common."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol

__all__ = ["Address", "LivingAddress", "Message", "RequestFailed", "Undelivered"]


class Message:
    """Base of all messages that actors exchange; each is a frozen dataclass."""

    __slots__ = ()


class Address(Protocol):
    """Somewhere a message can be sent: an actor, a waiting handle or a probe."""

    @property
    def name(self) -> str:
        """The receiver's name, such as ``registry`` or ``run-1``."""
        ...

    def deliver(self, message: Message, sender: str) -> None:
        """Put the message into the receiver's mailbox and return at once.

        Never raises for a receiver that is gone: where the message has a
        ``reply_to``, that address gets `Undelivered` instead.
        """
        ...


class LivingAddress(Address, Protocol):
    """The address of an actor, which tells whether the actor is still there."""

    @property
    def alive(self) -> bool:
        """Whether the actor still handles messages."""
        ...


@dataclass(frozen=True, slots=True)
class Undelivered(Message):
    """A request reached nobody: its receiver had stopped before handling it."""

    receiver: str
    """The name of the actor that is gone."""
    request: str
    """The type name of the message that was lost."""


@dataclass(frozen=True, slots=True)
class RequestFailed(Message):
    """An actor met an unexpected exception while it handled a request."""

    receiver: str
    """The name of the actor that failed."""
    request: str
    """The type name of the message that it was handling."""
    error: BaseException
    """The exception, already logged by the actor."""
