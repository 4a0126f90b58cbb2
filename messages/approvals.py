"""What a provider asks while it works, and what is decided about it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Literal, Protocol

from .frozen import FrozenMap
from .policy import ApprovalKind

__all__ = ["Ask", "Choice", "Decider", "Decision", "Outcome", "Responder"]

Outcome = Literal["approved", "denied", "answered", "timed_out", "cancelled"]
"""How a request was settled."""
Decider = Literal["application", "policy", "deadline", "nobody", "run"]
"""Who settled it: the application, a policy that decides by itself, the
deadline, the lack of anybody to ask, or the end of the run or of the asking."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Choice:
    """One of the answers that a question suggests."""

    key: str
    """What to answer for it."""
    label: str
    """What to show for it."""
    description: str = ""
    """More about it; may be empty."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Ask:
    """A driver's word that the provider waits for a decision."""

    id: str
    """The provider's id of the request, unique within its process."""
    kind: ApprovalKind
    """What it asks for."""
    title: str
    """One line for people."""
    tool: str = ""
    """The name of the tool that it is about, as in a `ToolCall`."""
    call_id: str = ""
    """The id of the call that it is about; may be empty."""
    hosted: bool = False
    """Whether that is one of the Agent's own tools."""
    arguments: Mapping[str, Any] = field(default_factory=FrozenMap)
    """The arguments of that call."""
    choices: tuple[Choice, ...] = ()
    """The answers that a question suggests."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Decision:
    """What was decided, for the provider."""

    approved: bool
    """Whether it may go on with what it asked for."""
    reason: str = ""
    """Why not, for the model."""
    arguments: Mapping[str, Any] | None = None
    """Arguments to use in place of those that were asked about."""
    answer: str = ""
    """The answer to a question."""
    interrupt: bool = False
    """Whether the provider should end its turn, since the run fails."""


class Responder(Protocol):
    """Settles one request. Every method may be called in any thread, returns
    at once, and counts only once for all copies of the request."""

    def approve(self, arguments: Mapping[str, Any] | None) -> None:
        """Allow what was asked for, perhaps with other arguments."""
        ...

    def deny(self, reason: str) -> None:
        """Refuse it."""
        ...

    def answer(self, text: str) -> None:
        """Answer a question."""
        ...
