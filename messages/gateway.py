"""Messages to the gateway actor, and its answers to the registry."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Protocol

from .base import Address, Message

__all__ = [
    "CloseListener",
    "Counter",
    "ListenerClosed",
    "PublishTable",
    "TablePublished",
    "TableRefused",
]


class Counter(Protocol):
    """One Agent's place at the counter, as far as messages look into it."""

    @property
    def agent(self) -> str:
        """The Agent's name."""
        ...


@dataclass(frozen=True, slots=True)
class PublishTable(Message):
    """Let HTTP threads see this token table, and no other, from now on.

    Opens the listener where none is open and the table has an entry.
    """

    version: int
    """Grows with each table; echoed in the answer."""
    table: Mapping[bytes, Counter] = field(repr=False)
    """From a token's digest to its Agent's place; immutable."""
    reply_to: Address
    """The registry."""


@dataclass(frozen=True, slots=True)
class TablePublished(Message):
    """The table is the one that HTTP threads read."""

    version: int
    """Which table."""
    url: str | None
    """The listener's address; ``None`` where none is open."""


@dataclass(frozen=True, slots=True)
class TableRefused(Message):
    """The listener could not open; no table is published."""

    version: int
    """Which table."""
    error: Exception
    """Why."""


@dataclass(frozen=True, slots=True)
class CloseListener(Message):
    """Close the listener: nobody holds a token any more. Answered by `ListenerClosed`."""

    reply_to: Address
    """The registry."""


@dataclass(frozen=True, slots=True)
class ListenerClosed(Message):
    """No listener is open; its port is free and its connections are cut."""
