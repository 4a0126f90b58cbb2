"""What a run of a thread does, decided before anything is created."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Literal

from ...errors import ThreadIncompatibleError
from ...messages.resources import Identity
from .interface import ThreadRecord

__all__ = [
    "Fresh",
    "Plan",
    "Rebind",
    "Resume",
    "ThreadMode",
    "check_revisions",
    "fingerprint",
    "plan_run",
]

ThreadMode = Literal["continue_or_start", "continue_only"]
"""Whether a run may start a new conversation where it can't go on with one."""


@dataclass(frozen=True, slots=True)
class Fresh:
    """Start the thread's first conversation."""


@dataclass(frozen=True, slots=True)
class Resume:
    """Go on with the stored conversation."""

    record: ThreadRecord
    """The thread as stored."""


@dataclass(frozen=True, slots=True)
class Rebind:
    """Start a new conversation; it replaces the stored one if the run succeeds."""

    previous: ThreadRecord
    """The thread as stored, which stays so until then."""
    reason: str
    """One sentence: why the stored conversation can't go on."""


Plan = Fresh | Resume | Rebind
"""What a run of a thread does."""


def plan_run(
    key: str,
    record: ThreadRecord | None,
    *,
    provider: str,
    fingerprint: str,
    mode: ThreadMode = "continue_or_start",
) -> Plan:
    """Decide whether a run goes on with a thread's conversation or starts one.

    Args:
        key: The thread's key.
        record: What the store holds of the thread.
        provider: The provider that the Agent drives.
        fingerprint: What `fingerprint` gives for the Agent.
        mode: ``continue_only`` never starts a conversation.

    Raises:
        ThreadIncompatibleError: Only going on is allowed, and it is not possible;
            or the thread was begun for another identity.
    """
    if record is None:
        if mode == "continue_only":
            msg = (
                f"thread {key!r} has no conversation to continue; check the key, or run it "
                "without insisting on one."
            )
            raise ThreadIncompatibleError(msg)
        return Fresh()
    if _identity_in(record.fingerprint) != _identity_in(fingerprint):
        msg = (
            f"thread {key!r} was begun for another identity; run it for that one, or use "
            "a key for each identity."
        )
        raise ThreadIncompatibleError(msg)
    reason = _difference(record, provider, fingerprint)
    if not reason:
        return Resume(record)
    if mode == "continue_only":
        msg = (
            f"thread {key!r} can't be continued: {reason} Use an Agent like the one that "
            "stored it, or another key."
        )
        raise ThreadIncompatibleError(msg)
    return Rebind(record, reason)


def _difference(record: ThreadRecord, provider: str, fingerprint: str) -> str:
    if record.provider != provider:
        return f"Its conversation is one of {record.provider}, and this Agent drives {provider}."
    if not record.session_id:
        return "Its record has no conversation id."
    if not record.fingerprint or record.fingerprint != fingerprint:
        return "The driver's settings or the tools are not those that it was stored with."
    return ""


def fingerprint(
    provider_fingerprint: str, catalog_fingerprint: str, identity: Identity | None = None
) -> str:
    """Return what must be equal for a stored conversation to go on.

    Args:
        provider_fingerprint: What the driver's ``fingerprint`` gives.
        catalog_fingerprint: The catalog's; empty for an Agent without tools.
        identity: On whose behalf the runs are made; a part of its own, since
            another one is an error and no reason to begin anew.
    """
    whole = _digest("toolcrib-thread/v1", provider_fingerprint, catalog_fingerprint)
    if identity is None:
        return whole
    return f"{whole}:{_digest('toolcrib-identity/v1', identity.tenant, identity.id)}"


def _identity_in(fingerprint: str) -> str:
    return fingerprint.partition(":")[2]


def _digest(*parts: str) -> str:
    digest = hashlib.sha256()
    for part in parts:
        data = part.encode("utf-8", "surrogatepass")
        # Lengths keep "a" + "bc" and "ab" + "c" apart.
        digest.update(len(data).to_bytes(8) + data)
    return digest.hexdigest()


def check_revisions(names_without_revision: Iterable[str]) -> None:
    """Refuse a run of a thread with tools that have no revision.

    A later run could not tell whether such a tool still is what the
    conversation knows.

    Args:
        names_without_revision: The names of those tools.

    Raises:
        ThreadIncompatibleError: There is one; all are named.
    """
    names = sorted(names_without_revision)
    if names:
        msg = (
            f"a thread needs tools with a revision, which is missing in: {', '.join(names)}. "
            'Add revision="v1" to each, and change it when the tool changes.'
        )
        raise ThreadIncompatibleError(msg)
