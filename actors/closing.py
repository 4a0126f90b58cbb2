"""The close of an Agent: its phases, in order, and where it is.

Plain decisions without a thread of their own: the Agent actor feeds it what it
learns and calls `Closing.advance`. Each phase is entered once; what is done is
never repeated, however often close is called.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from enum import StrEnum

from ..messages.agent import CancelRun
from ..messages.base import Address, Message
from ..messages.cleaner import RemoveClones, SealOwner
from ..messages.driver import CloseProcess
from ..messages.registry import RetireToken
from ..messages.results import RunReason

__all__ = ["Book", "ClosePhase", "Closing"]


class ClosePhase(StrEnum):
    """Where a closing Agent is."""

    CANCELLING_RUNS = "cancelling_runs"
    """No run is admitted any more; each admitted one is told to end."""
    CLOSING_PROCESSES = "closing_processes"
    """Provider processes are ended, which unblocks what waits for them."""
    DRAINING_RUNS = "draining_runs"
    """Runs finish: threads are released, results are set."""
    REAPING_LATE_WRITERS = "reaping_late_writers"
    """Processes and clones that came into being meanwhile are caught."""
    REMOVING_CLONES = "removing_clones"
    """The isolated profiles are deleted."""
    REVOKING_TOKEN = "revoking_token"
    """The token is refused, handlers are cancelled and drained."""
    CLOSED = "closed"
    """Nothing is left."""


_ORDER = tuple(ClosePhase)


@dataclass(slots=True)
class Book:
    """What the Agent actor knows to exist. Only that actor touches it."""

    runs: dict[str, Address] = field(default_factory=dict)
    """The admitted runs that have not ended, by id."""
    stopping: set[str] = field(default_factory=set)
    """Those of them that promised to start nothing more."""
    drivers: dict[str, Address] = field(default_factory=dict)
    """The owners of provider processes that are not gone, by name."""
    sealed: bool = False
    """Whether no clone can come into being any more."""
    clones: tuple[str, ...] = ()
    """The clones that the cleaner could not remove yet, and why."""
    clones_removed: bool = False
    """Whether the cleaner has removed every clone."""
    running: tuple[str, ...] = ()
    """The tools whose handlers still run, as the registry reported."""
    token_retired: bool = False
    """Whether the registry has taken the Agent off the counter."""
    lost: tuple[str, ...] = ()
    """Requests of the close that reached nobody, or made their receiver fail."""


class Closing:
    """Goes through the phases; remembers which one it is in.

    Args:
        agent: The Agent's name.
        me: The Agent actor's address, for answers.
        book: What exists.
        cleaner: The profile cleaner.
        registry: The tool registry.
        send: Sends a message from the Agent actor.
    """

    def __init__(
        self,
        agent: str,
        me: Address,
        book: Book,
        cleaner: Address,
        registry: Address,
        send: Callable[[Address, Message], None],
    ) -> None:
        self.phase = ClosePhase.CANCELLING_RUNS
        self._agent = agent
        self._me = me
        self._book = book
        self._cleaner = cleaner
        self._registry = registry
        self._send = send
        self._enter()

    def advance(self) -> bool:
        """Go on as far as what is known allows; return whether all is closed."""
        while self.phase is not ClosePhase.CLOSED and not self.remaining():
            self.phase = _ORDER[_ORDER.index(self.phase) + 1]
            self._enter()
        return self.phase is ClosePhase.CLOSED

    def remaining(self) -> tuple[str, ...]:
        """Name what the present phase waits for; empty when it is done."""
        left = self._left()
        return left + self._book.lost if left else ()

    def try_again(self) -> None:
        """Send once more what got lost in the present phase."""
        if self._book.lost:
            self._book.lost = ()
            self._enter()

    def _left(self) -> tuple[str, ...]:
        book = self._book
        processes = tuple(f"the process of {name}" for name in book.drivers)
        match self.phase:
            case ClosePhase.CANCELLING_RUNS:
                return tuple(f"run {run}" for run in book.runs if run not in book.stopping)
            case ClosePhase.CLOSING_PROCESSES:
                return processes
            case ClosePhase.DRAINING_RUNS:
                return tuple(f"run {run}" for run in book.runs)
            case ClosePhase.REAPING_LATE_WRITERS:
                return processes + (() if book.sealed else ("a clone that is being made",))
            case ClosePhase.REMOVING_CLONES:
                return () if book.clones_removed else book.clones or ("clones",)
            case ClosePhase.REVOKING_TOKEN:
                left = tuple(f"a handler of tool {name}" for name in book.running)
                return () if book.token_retired else left or ("the token",)
            case ClosePhase.CLOSED:
                return ()

    def _enter(self) -> None:
        match self.phase:
            case ClosePhase.CANCELLING_RUNS:
                for run, address in self._book.runs.items():
                    why = "the Agent was closed while the run was under way"
                    self._send(address, CancelRun(run, RunReason.CANCELLED, why))
            case ClosePhase.CLOSING_PROCESSES:
                self._close_processes()
            case ClosePhase.REAPING_LATE_WRITERS:
                self._close_processes()
                self._send(self._cleaner, SealOwner(self._agent, self._me))
            case ClosePhase.REMOVING_CLONES:
                self._send(self._cleaner, RemoveClones(self._agent, self._me))
            case ClosePhase.REVOKING_TOKEN:
                self._send(self._registry, RetireToken(self._agent, self._me))
            case ClosePhase.DRAINING_RUNS | ClosePhase.CLOSED:
                return

    def _close_processes(self) -> None:
        for driver in self._book.drivers.values():
            self._send(driver, CloseProcess())
