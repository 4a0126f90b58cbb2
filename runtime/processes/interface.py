"""What a provider process tells its owner, and what bounds it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol

from ...messages.approvals import Ask
from ...messages.events import Event
from ...messages.turn import ProcessExit, TurnOutcome

__all__ = ["ProcessLimits", "ProcessListener", "SpawnError"]


class SpawnError(Exception):
    """Raised, or told to a listener, when a process could not be started.

    Args:
        message: What happened and the next step; holds no environment.
        missing: Whether the command itself is not there.
    """

    def __init__(self, message: str, *, missing: bool = False) -> None:
        super().__init__(message)
        self.missing = missing


@dataclass(frozen=True, slots=True, kw_only=True)
class ProcessLimits:
    """How much a process may print, and how much may wait for its listener."""

    line: int = 64 * 1024 * 1024
    """Bytes in one line of standard output; a longer one is a protocol error."""
    stderr_line: int = 1024 * 1024
    """Bytes in one line of standard error; a longer one is cut."""
    events: int = 1024
    """Events and standard error lines that may wait for `acknowledge`."""
    held: int = 16 * 1024 * 1024
    """Bytes of output that those may stem from; at least one always passes."""
    batch: int = 256
    """Events in one call of `ProcessListener.steps`."""
    drain: float = 0.5
    """Seconds to wait for the pipes' ends after the process's own end."""


class ProcessListener(Protocol):
    """Told what a provider process does.

    All methods are called on the process's pump thread, one at a time, and
    must return soon. What one raises is logged and otherwise ignored. The last
    call is `failed` or `ended`, exactly one of them and once.
    """

    def started(self, pid: int) -> None:
        """Take note that the process runs; its group has the same number."""
        ...

    def steps(self, events: tuple[Event, ...]) -> None:
        """Take events, in order. Acknowledge as many when they are handled."""
        ...

    def asked(self, ask: Ask) -> None:
        """Take what the provider asks; its answer goes to `ProviderProcess.answer`."""
        ...

    def withdrawn(self, ask_id: str) -> None:
        """Take note that the provider does not wait for that answer any more."""
        ...

    def stderr(self, line: str) -> None:
        """Take a masked line of standard error. Acknowledge one for it."""
        ...

    def failed(self, error: SpawnError) -> None:
        """Take note that there never was a process."""
        ...

    def ended(self, exit: ProcessExit, outcome: TurnOutcome) -> None:
        """Take the verdict: the pipes are drained and the whole tree is gone."""
        ...
