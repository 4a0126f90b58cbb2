"""What an application attaches to a run for as long as it lasts."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path

from .events import Event
from .frozen import FrozenMap
from .resources import Identity, McpServer

__all__ = ["Attachment", "RunInfo", "RunService"]


@dataclass(frozen=True, slots=True, kw_only=True)
class RunInfo:
    """The run that a service is attached to."""

    run_id: str
    """Its id."""
    thread_key: str | None
    """The key of its thread; ``None`` outside a thread."""
    provider: str
    """The provider's name."""
    workspace: Path
    """The provider's working directory."""
    metadata: Mapping[str, str]
    """The application's labels."""
    identity: Identity | None
    """On whose behalf it is made."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Attachment:
    """What a service brings to its run."""

    environment: Mapping[str, str] = field(default_factory=FrozenMap[str], repr=False)
    """Variables for the provider's process. Values of eight characters or more
    count as secrets: they are masked in all that the process prints."""
    mcp: tuple[McpServer, ...] = ()
    """MCP servers for this run."""
    observe: Callable[[Event], None] | None = None
    """Called with each event of the run, on a worker thread, in order. What it
    raises is logged once. It has sequence numbers of its own: what a stream
    leaves out it hears of. Nothing waits for it. While 8192 events wait for one
    that is slow, further pieces of text, thinking and standard error are left
    out, and from 16384 all others but the end; `Dropped` tells how many."""


class RunService(ABC):
    """Something that a run needs for as long as it lasts, such as a database.

    Its methods run on worker threads. One that hangs holds its run, and so the
    Agent's close; the caller of a cancelled run does not wait for it.
    """

    @abstractmethod
    def attach(self, run: RunInfo) -> Attachment:
        """Get ready for a run, before its provider starts.

        An exception fails the run; what was attached before is detached.
        """

    def detach(self, run: RunInfo) -> None:
        """Let go of a run, after its provider's end; called once for each attach.

        An exception is logged and told with the run's error, if it has one.
        """
        del run
