"""The numbers that bound the gateway."""

from __future__ import annotations

from dataclasses import dataclass, fields

from ...errors import ConfigurationError
from ...messages.numbers import checked_count, checked_seconds

__all__ = ["Limits"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Limits:
    """What one listener accepts; every number must be positive.

    Raises:
        ConfigurationError: A number is not positive, or not of its kind.
    """

    body_bytes: int = 4 * 1024 * 1024
    """The largest request body, in bytes."""
    output_bytes: int = 4 * 1024 * 1024
    """The largest tool output, in bytes of its JSON."""
    header_bytes: int = 16 * 1024
    """The largest request head, in bytes."""
    header_fields: int = 64
    """The most header fields in one request."""
    running: int = 32
    """The most tool calls that run at a time, in the whole process."""
    reserve: int = 8
    """How many calls more may run, and how many requests more may wait, so that an Agent
    gets through that comes when another has filled every place."""
    waiting: int = 32
    """The most requests that may wait for one of those; further ones get 503."""
    connections: int = 128
    """The most open connections."""
    unread_bytes: int = 64 * 1024 * 1024
    """How much of their answers clients may leave unread, in bytes, all together;
    beyond it requests get 503."""
    head_timeout: float = 5.0
    """How long a request's head may take, in seconds."""
    body_timeout: float = 10.0
    """How long a request's body may take, in seconds."""
    idle_timeout: float = 120.0
    """How long a connection may idle between requests, in seconds."""
    write_timeout: float = 10.0
    """How long a client may take to read an answer, in seconds."""
    deadline: float = 120.0
    """How long a call may take whose tool sets no deadline, in seconds."""
    stream_after: float = 5.0
    """How long a call may take before its answer becomes an event stream, for a client
    that accepts one, in seconds."""
    stream_pause: float = 15.0
    """How long an event stream may be silent, in seconds."""
    silence: float = 240.0
    """How long a call may take whose client accepts no event stream, in seconds. Clients
    give up an answer of which they hear nothing, many after 300 s."""
    shutdown: float = 10.0
    """How long an orderly close may take, in seconds."""

    def __post_init__(self) -> None:
        for each in fields(self):
            name, value = f"Limits.{each.name}", getattr(self, each.name)
            try:
                if each.type == "int":
                    checked_count(name, value)
                else:
                    checked_seconds(name, value, zero=False)
            except (TypeError, ValueError) as error:
                raise ConfigurationError(str(error)) from None
