"""What a run leaves behind."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum
from typing import Any

__all__ = ["Result", "RunReason", "Usage"]


class RunReason(StrEnum):
    """Why a run failed; a closed list to branch on."""

    PROVIDER_FAILED = "provider_failed"
    """The provider reported a failure, or exited non-zero."""
    PROVIDER_DIED = "provider_died"
    """The provider's process ended before its terminal record."""
    PROTOCOL_ERROR = "protocol_error"
    """The provider printed what its protocol does not allow."""
    LAUNCH_FAILED = "launch_failed"
    """The provider's process could not be started."""
    TOOLS_UNAVAILABLE = "tools_unavailable"
    """The provider ran without the Agent's tools."""
    RESUME_REJECTED = "resume_rejected"
    """The provider does not know the conversation any more."""
    CANCELLED = "cancelled"
    """The run was cancelled by the host or by close."""
    TIMED_OUT = "timed_out"
    """The run's total time was up."""
    INFRASTRUCTURE = "infrastructure"
    """Something of the host's side failed: disk, store, or a fault of ours."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Usage:
    """Tokens as the provider counts them. ``None`` is unknown, not zero."""

    input_tokens: int | None = None
    """Tokens read."""
    output_tokens: int | None = None
    """Tokens written."""
    cached_tokens: int | None = None
    """Tokens of the input that came from a cache."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Result:
    """The outcome of one run, whole or as far as it came."""

    run_id: str
    """The run's id."""
    thread_key: str | None
    """The key of its thread; ``None`` outside a thread."""
    provider: str
    """The driver's provider name."""
    model: str | None
    """The model, where the provider names it."""
    text: str
    """The final text."""
    usage: Usage | None
    """What the provider reports; ``None`` is unknown."""
    session_id: str | None
    """The provider's own id of the conversation."""
    exit_code: int | None
    """The process's exit code, negative for a signal; ``None`` without process."""
    terminal: Mapping[str, Any] | None
    """The provider's terminal record, ``None`` where none came."""
    stderr: str
    """The last 64 KiB that the process wrote to standard error."""
