"""What a turn tells, apart from the dialect that it is told in."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any, NamedTuple, Protocol

__all__ = ["Answer", "Call", "Teller", "Verdict"]


# Named tuples here and elsewhere, since dataclasses cost 14 ms to import, of
# the 100 that a start may take.
class Call(NamedTuple):
    """A call of a tool."""

    id: str
    """Its id."""
    name: str
    """The tool's name."""
    arguments: Mapping[str, Any]
    """What the model gave it."""
    server: str = ""
    """The key of the MCP server that has it; empty for the provider's own."""
    title: str = ""
    """The tool's title; may be empty."""


class Answer(NamedTuple):
    """What came back from a call."""

    texts: tuple[str, ...]
    """Its text content, and a note in place of content of another kind."""
    structured: Any = None
    """Its structured content; ``None`` where it has none."""
    is_error: bool = False
    """Whether it is marked as an error."""
    lost: bool = False
    """Whether the server gave none, so that this is the provider's own word."""

    @property
    def text(self) -> str:
        """All of its text."""
        return "".join(self.texts)


class Verdict(NamedTuple):
    """What came of a request for a permission."""

    allowed: bool
    """Whether the call may be made."""
    arguments: Mapping[str, Any]
    """The arguments to use, perhaps edited."""
    message: str = ""
    """Why it may not."""
    interrupt: bool = False
    """Whether the turn has to end."""
    withdrawn: bool = False
    """Whether the provider took its request back."""


class Teller(Protocol):
    """Tells a turn in the records of one CLI."""

    @property
    def code(self) -> int:
        """The exit code that goes with the last terminal record."""
        ...

    def call_id(self) -> str:
        """Return an id for a new call."""
        ...

    def opening(self, prompt: str, servers: Iterable[str]) -> None:
        """Tell that the turn begins.

        Args:
            prompt: The prompt.
            servers: The keys of the servers that the turn uses.
        """
        ...

    def think(self, pieces: Iterable[str]) -> None:
        """Tell a thought, piece by piece."""
        ...

    def say(self, pieces: Iterable[str]) -> None:
        """Tell a part of the answer, piece by piece."""
        ...

    def started(self, call: Call) -> None:
        """Tell that a tool is called."""
        ...

    def returned(self, call: Call, answer: Answer) -> None:
        """Tell what came back from a call."""
        ...

    def finish(self, override: Mapping[str, Any]) -> None:
        """Tell the end of the turn.

        Args:
            override: Fields to put in place; ``None`` leaves a field out.
        """
        ...
