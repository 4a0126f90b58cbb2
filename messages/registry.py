"""Messages to the tool registry, and its answers to Agents."""

from __future__ import annotations

from contextvars import Context
from dataclasses import dataclass
from typing import Protocol

from .base import Address, Message
from .secret import Secret

__all__ = [
    "HandlersDrained",
    "MintToken",
    "RetireToken",
    "TokenMinted",
    "TokenRefused",
    "TokenRetired",
    "TokenRetiring",
    "ToolCatalog",
]


class ToolCatalog(Protocol):
    """An immutable set of tools, as far as messages look into it."""

    @property
    def names(self) -> tuple[str, ...]:
        """The tools' names, sorted."""
        ...

    @property
    def fingerprint(self) -> str:
        """What tells this set from another."""
        ...


@dataclass(frozen=True, slots=True, kw_only=True)
class MintToken(Message):
    """Put an Agent's catalog on the counter. Answered by `TokenMinted`/`TokenRefused`."""

    agent: str
    """The Agent's name."""
    catalog: ToolCatalog
    """Its tools, for good."""
    context: Context
    """The context that its handlers run in."""
    reply_to: Address
    """The Agent."""


@dataclass(frozen=True, slots=True)
class TokenMinted(Message):
    """The Agent's tools are reachable."""

    url: str
    """The gateway's address."""
    token: Secret
    """The bearer token that selects the Agent's catalog."""


@dataclass(frozen=True, slots=True)
class TokenRefused(Message):
    """The gateway could not start; asking again is allowed."""

    error: Exception
    """Why."""


@dataclass(frozen=True, slots=True)
class RetireToken(Message):
    """Take an Agent's catalog off the counter. Answered by `TokenRetired`.

    The token is refused first, then its handlers are cancelled, then drained.
    """

    agent: str
    """The Agent's name; one that holds no token is answered at once."""
    reply_to: Address
    """The Agent."""


@dataclass(frozen=True, slots=True)
class TokenRetiring(Message):
    """The token is refused by now, but handlers still run."""

    running: tuple[str, ...]
    """The names of the tools whose handlers run."""


@dataclass(frozen=True, slots=True)
class TokenRetired(Message):
    """The token is refused, no handler of the Agent runs, and with the last
    Agent's token the listener has closed."""

    agent: str
    """The Agent's name."""


@dataclass(frozen=True, slots=True)
class HandlersDrained(Message):
    """The last handler of a retired Agent has returned."""

    agent: str
    """The Agent's name."""
