"""What a run leaves behind."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Any, Literal

from .frozen import FrozenMap

__all__ = ["Result", "RunReason", "TranscriptItem", "TranscriptKind", "Usage"]

TranscriptKind = Literal["user", "assistant", "thinking", "tool_call", "tool_result", "left_out"]
"""What a piece of a transcript is; ``left_out`` stands where there was too much."""


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
    IDLE = "idle"
    """The provider was silent for longer than the run's idle limit."""
    UNREAD = "unread"
    """More events waited than a run may keep for a reader that does not come."""
    APPROVAL_DENIED = "approval_denied"
    """Something that the provider asked for was denied."""
    APPROVAL_TIMED_OUT = "approval_timed_out"
    """Nobody decided in time what the provider asked for."""
    INVALID_OUTPUT = "invalid_output"
    """The answer is not what `run_as` asked for."""
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
    cost: float | None = None
    """What it cost, in US dollars, as the provider reckons."""


@dataclass(frozen=True, slots=True, kw_only=True)
class TranscriptItem:
    """One whole piece of what was said and done."""

    kind: TranscriptKind
    """What it is."""
    text: str
    """What was said; the arguments of a call and its result as text; for
    ``left_out`` how many pieces were."""
    name: str = ""
    """The tool's name, for a call and its result."""
    call_id: str = ""
    """The provider's id of the call, for a call and its result."""
    is_error: bool = False
    """Whether a result is reported as failed."""


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
    stdout: str = field(default="", repr=False)
    """The last 4 MiB of whole lines that it wrote to standard output, masked."""
    metadata: Mapping[str, str] = field(default_factory=FrozenMap[str])
    """The application's own labels of the run."""
    transcript: tuple[TranscriptItem, ...] = field(default=(), repr=False)
    """What was said and done, in order, whether or not events were read. Of more
    than 64 million characters the beginning and the end, with a ``left_out`` between."""
    output: Any = None
    """The value that `run_as` asked for; ``None`` without it."""
