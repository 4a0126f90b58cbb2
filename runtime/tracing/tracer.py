"""The recorder of an actor system's messages."""

from __future__ import annotations

import threading
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from time import monotonic

from ...errors import AskTimeout
from ...messages.base import Message
from ...messages.numbers import checked_count
from ..signals import bounded
from .fields import public_fields

__all__ = ["TraceEntry", "Tracer"]


@dataclass(frozen=True, slots=True)
class TraceEntry:
    """One message, as recorded."""

    sender: str
    """The sender's name."""
    receiver: str
    """The receiver's name."""
    kind: str
    """The message's type name."""
    fields: Mapping[str, str]
    """Its public fields as short text; a secret is ``***``."""
    time: datetime
    """When it was recorded, in UTC."""
    sequence: int
    """Its position among all recorded messages, from 1."""


class Tracer:
    """Records messages. Every method may be called in any thread.

    Args:
        capacity: How many messages are kept; later ones are only counted.

    Raises:
        TypeError: The capacity is no whole number.
        ValueError: It is below 1.
    """

    def __init__(self, capacity: int = 100_000) -> None:
        self._capacity = checked_count("capacity", capacity, "messages")
        self._recorded = threading.Condition()
        self._entries: list[TraceEntry] = []
        self._beyond = 0

    @property
    def beyond(self) -> int:
        """How many messages came when the capacity was used up."""
        with self._recorded:
            return self._beyond

    def record(self, sender: str, receiver: str, message: Message) -> None:
        """Keep what a message says, but not the message. Never blocks for long.

        Args:
            sender: The sender's name.
            receiver: The receiver's name.
            message: The message.
        """
        kind, fields = type(message).__name__, public_fields(message)
        with self._recorded:
            if len(self._entries) >= self._capacity:
                self._beyond += 1
                return
            number = len(self._entries) + 1
            entry = TraceEntry(sender, receiver, kind, fields, datetime.now(UTC), number)
            self._entries.append(entry)
            self._recorded.notify_all()

    def entries(self) -> tuple[TraceEntry, ...]:
        """Return what has been recorded so far, in order."""
        with self._recorded:
            return tuple(self._entries)

    def wait_for(self, predicate: Callable[[TraceEntry], bool], timeout: float) -> TraceEntry:
        """Return the first entry that fits, an older one included; else wait for it.

        Args:
            predicate: Whether an entry fits. Runs in this thread, once for
                each entry, and holds up nobody else.
            timeout: The longest to wait, in seconds.

        Raises:
            AskTimeout: None came in time; the message names the latest ones.
            TypeError: The timeout is no number.
            ValueError: It is negative, or not a number (NaN).
        """
        deadline = monotonic() + bounded(timeout)
        seen = 0
        while True:
            fresh = self._after(seen, deadline)
            if not fresh:
                raise AskTimeout(self._nothing_fits(timeout))
            for entry in fresh:
                if predicate(entry):
                    return entry
            seen += len(fresh)

    def _after(self, seen: int, deadline: float) -> list[TraceEntry]:
        with self._recorded:
            self._recorded.wait_for(
                lambda: len(self._entries) > seen, max(0.0, deadline - monotonic())
            )
            return self._entries[seen:]

    def _nothing_fits(self, timeout: float) -> str:
        with self._recorded:
            latest = [f"{e.sender} -> {e.receiver}: {e.kind}" for e in self._entries[-5:]]
            beyond = self._beyond
        text = "; ".join(latest) or "none"
        more = f" {beyond} more were not kept; give the tracer more capacity." if beyond else ""
        return f"no recorded message fits after {timeout:g} s; the latest: {text}.{more}"
