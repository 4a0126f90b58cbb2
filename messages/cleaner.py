"""Messages to the profile cleaner, and its answers to Agents.

Its answers to runs are `CloneReady` and `CloneFailed` in ``run``.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path

from .base import Address, Message

__all__ = [
    "ClonesRemaining",
    "ClonesRemoved",
    "MakeClone",
    "OwnerSealed",
    "RemoveClones",
    "ReturnClone",
    "SealOwner",
]


@dataclass(frozen=True, slots=True, kw_only=True)
class MakeClone(Message):
    """Make a clone, or hand out the one that is there for the same key.

    Answered by `CloneReady` or `CloneFailed`.
    """

    agent: str
    """The Agent that owns it."""
    key: str
    """What tells the Agent's clones apart."""
    seed: Callable[[Path], None] = field(repr=False)
    """Fills the clone, given its directory; runs on a worker thread."""
    reply_to: Address
    """The run that needs it."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ReturnClone(Message):
    """A run that asked for a clone is over, whether or not it got one.

    What the clone has for that run alone is removed. A clone that no run uses is
    kept for the next that needs it; of many such the ones that were used longest
    ago are removed.
    """

    agent: str
    """The Agent that owns it."""
    key: str
    """What the run asked for."""
    run: str
    """The run's name, as that of the address that asked."""
    run_id: str
    """The run's id."""


@dataclass(frozen=True, slots=True)
class SealOwner(Message):
    """Make no further clone for this Agent. Answered by `OwnerSealed` as soon
    as those under way have come into being or failed, and none is worked in."""

    agent: str
    """The Agent's name."""
    reply_to: Address
    """The Agent."""


@dataclass(frozen=True, slots=True)
class OwnerSealed(Message):
    """No clone of the Agent is under way, and none will be."""

    agent: str
    """The Agent's name."""
    clones: int
    """How many it has."""


@dataclass(frozen=True, slots=True)
class RemoveClones(Message):
    """Remove all clones of a sealed Agent. Answered by `ClonesRemoved`."""

    agent: str
    """The Agent's name."""
    reply_to: Address
    """The Agent."""


@dataclass(frozen=True, slots=True)
class ClonesRemaining(Message):
    """Some clones could not be removed; the cleaner keeps trying."""

    agent: str
    """The Agent's name."""
    clones: tuple[Path, ...]
    """The directories that are left."""
    reason: str
    """Why the one that was tried last is still there."""


@dataclass(frozen=True, slots=True)
class ClonesRemoved(Message):
    """No clone of the Agent is left."""

    agent: str
    """The Agent's name."""
