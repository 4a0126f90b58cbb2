"""One turn of a provider's process, as data."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from .numbers import checked_seconds
from .results import RunReason, Usage
from .secret import Secret

__all__ = ["HostedServer", "Launch", "ProcessExit", "TurnOutcome"]


@dataclass(frozen=True, slots=True, kw_only=True)
class HostedServer:
    """The Agent's tools as an MCP server."""

    key: str
    """The server's key in the provider's configuration."""
    url: str
    """Where it listens, such as ``http://127.0.0.1:40123/mcp``."""
    variable: str
    """The environment variable that holds the token."""
    token: Secret
    """The bearer token."""
    tools: tuple[str, ...]
    """The names of the tools, sorted."""
    deadline: float
    """The longest that one of its tools may take, in seconds."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Launch:
    """How to start the provider's process.

    Raises:
        TypeError: The grace is no number.
        ValueError: It is negative, or not finite.
    """

    argv: tuple[str, ...]
    """The command and its arguments, without secrets."""
    environment: Mapping[str, str] = field(repr=False)
    """The child's whole environment."""
    cwd: Path
    """The child's working directory."""
    secrets: tuple[Secret, ...] = ()
    """Values to mask in everything that the process prints."""
    grace: float = 2.0
    """Seconds between asking the process to end and ending its group."""

    def __post_init__(self) -> None:
        checked_seconds("Launch.grace", self.grace)


@dataclass(frozen=True, slots=True, kw_only=True)
class ProcessExit:
    """How the process ended."""

    code: int
    """The exit code; negative for the signal that ended it; 0 where it is not known."""
    stderr: str
    """The last 64 KiB that it wrote to standard error, masked."""
    forced: bool = False
    """Whether toolcrib ended it, by a signal, before it ended by itself: it was
    closed, or stayed too long after its terminal record. The code says then how
    it took the signal and nothing of the turn, so a dialect that has seen a
    terminal success judges a forced end as it judges code 0."""
    stdout: str = field(default="", repr=False)
    """The last 4 MiB of whole lines that it wrote to standard output, masked."""
    known: bool = True
    """Whether the code is known. It is not where the host ignores SIGCHLD, or waits
    for children that are not its own: then only the records tell of the turn."""

    @property
    def known_code(self) -> int | None:
        """The exit code; ``None`` where it is not known."""
        return self.code if self.known else None


@dataclass(frozen=True, slots=True, kw_only=True)
class TurnOutcome:
    """The driver's verdict over a turn whose process has ended."""

    ok: bool
    """Whether the turn succeeded."""
    reason: RunReason | None = None
    """Why it failed; ``None`` where it did not."""
    message: str = ""
    """What happened and the next step; empty where it did not fail."""
    text: str = ""
    """The answer, as far as it came."""
    model: str | None = None
    """The model, where the provider names it."""
    usage: Usage | None = None
    """What the provider reports."""
    session_id: str | None = None
    """The provider's id of the conversation, for a later resume."""
    terminal: Mapping[str, Any] | None = None
    """The terminal record."""
    output: str | None = None
    """The JSON text that answers `TurnRequest.output`, where the provider gives
    one of its own; ``None`` takes the answer's text for it."""
