"""The thread store interface: where conversations outlive their process.

A store keeps, for each thread key, one record: the checkpoint and the
conversation's files together, so that either both are new or neither is. One
run at a time may hold a thread, by a lease with a fencing token: a number that
grows with each lease of the same key, so that a writer that lost its lease
without noticing is refused.

A store is host code: its methods run on worker threads, never on an actor's,
and may block.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from datetime import datetime
from pathlib import PurePosixPath
from typing import Protocol

__all__ = ["ConversationFile", "Lease", "ThreadRecord", "ThreadStore"]


@dataclass(frozen=True, slots=True)
class ConversationFile:
    """A file that the provider needs to go on with a conversation."""

    path: PurePosixPath
    """Where it lies, relative to the profile; never absolute, never above it."""
    data: bytes = field(repr=False)
    """Its bytes, with live tokens masked."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ThreadRecord:
    """What a thread is made of between its runs."""

    key: str
    """The thread's key."""
    provider: str
    """The provider whose conversation it is."""
    fingerprint: str
    """What must be equal for the conversation to go on: driver and catalog.
    Holds no endpoint, token, variable name or path."""
    session_id: str
    """The provider's id of the conversation."""
    files: tuple[ConversationFile, ...]
    """The conversation's files."""
    turns: int
    """How many turns succeeded."""
    updated: datetime
    """When the last of them was stored, in UTC."""


@dataclass(frozen=True, slots=True)
class Lease:
    """The right of one run to write one thread."""

    key: str
    """The thread's key."""
    owner: str
    """The run that holds it."""
    fence: int
    """Grows with each lease of the key."""


class ThreadStore(Protocol):
    """Keeps threads. Implementations are safe to call from any thread."""

    def acquire(self, key: str, owner: str) -> Lease:
        """Take the thread for one run, at once or not at all.

        Raises:
            ThreadBusyError: Another run holds it.
            StoreError: The store can't be used.
        """
        ...

    def load(self, key: str) -> ThreadRecord | None:
        """Return the thread's record, ``None`` where it has none yet.

        Raises:
            StoreError: The store can't be read.
        """
        ...

    def commit(self, lease: Lease, record: ThreadRecord) -> None:
        """Store the record in place of the older one, as a whole.

        Raises:
            LeaseLostError: The lease is no longer the newest; nothing is stored.
            StoreError: The store can't be written; nothing is stored.
        """
        ...

    def release(self, lease: Lease) -> None:
        """Give the thread back. Does nothing where the lease is not current."""
        ...
