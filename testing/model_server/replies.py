"""What a scripted model answers."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, TypeAlias

from .exchange import ModelRequest

__all__ = [
    "CallTool",
    "Part",
    "Refuse",
    "Reply",
    "RunShell",
    "Say",
    "Script",
    "Think",
    "Turn",
    "WritePlan",
]


@dataclass(frozen=True, slots=True)
class Say:
    """Say something. Alone in a reply, it ends the turn.

    Args:
        text: The words; ``{{result}}`` in them becomes the text of the last
            tool result, ``{{prompt}}`` the prompt.
    """

    text: str


@dataclass(frozen=True, slots=True)
class Think:
    """Think aloud, before something else in the same reply.

    Args:
        text: The words, with the same names as in `Say`.
    """

    text: str


@dataclass(frozen=True, slots=True)
class CallTool:
    """Call a tool that the provider offers; where it doesn't, say so and end the turn.

    Args:
        name: The tool's name, or what its full name ends with:
            ``lookup_issue`` finds ``mcp__toolcrib__lookup_issue``.
        arguments: The arguments, as they are.
    """

    name: str
    arguments: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class RunShell:
    """Run a command with the provider's own shell tool.

    Args:
        command: The command line.
    """

    command: str


@dataclass(frozen=True, slots=True)
class WritePlan:
    """Write a plan into the file that the provider names for it in plan mode.

    Where it names none, say so and end the turn. ``CallTool("ExitPlanMode")``
    then asks for its review.

    Args:
        text: The plan.
    """

    text: str


@dataclass(frozen=True, slots=True)
class Refuse:
    """Answer with an HTTP error instead of a reply. It has to stand alone.

    Args:
        status: The HTTP status, 400 to 599. Providers try again after some
            of them, such as 429 and 500.
        message: What the error says.
    """

    status: int
    message: str


Part: TypeAlias = Say | Think | CallTool | RunShell | WritePlan | Refuse
"""A part of a reply."""

Reply: TypeAlias = Part | Sequence[Part]
"""What the model answers to one request: a part, or several at once."""


@dataclass(frozen=True, slots=True)
class Turn:
    """What the model does with one prompt.

    Args:
        steps: The replies, in order: the first to the prompt, the next to the
            first one's tool results, and so on. The last is given again to
            whatever else is asked.
        when: A regular expression to find in the prompt; any prompt fits the
            empty one.
    """

    steps: Sequence[Reply]
    when: str = ""


Script: TypeAlias = Sequence[Turn | Reply] | Callable[[ModelRequest], Reply]
"""Turns, of which the first that fits the prompt is played; or the steps of one
turn for any prompt, but not both; or a function that answers each request, which runs on a
thread of the server and may block."""
