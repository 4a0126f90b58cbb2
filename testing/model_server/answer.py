"""What is sent to the provider, before a protocol gives it its form."""

from __future__ import annotations

import itertools
import secrets
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any, Protocol, TypeAlias

from .exchange import ModelRequest, OfferedTool

__all__ = [
    "CACHED_TOKENS",
    "INPUT_TOKENS",
    "OUTPUT_TOKENS",
    "Answer",
    "Block",
    "Event",
    "Refusal",
    "Text",
    "Thought",
    "ToolUse",
    "Wire",
    "pieces",
]

INPUT_TOKENS = 11
"""The input tokens that every answer reports, cached ones included."""
CACHED_TOKENS = 3
"""Those of them that came from a cache."""
OUTPUT_TOKENS = 5
"""The output tokens that every answer reports."""


@dataclass(frozen=True, slots=True)
class Text:
    """A part of the answer's text.

    Args:
        text: The text.
    """

    text: str


@dataclass(frozen=True, slots=True)
class Thought:
    """A part of the model's thinking.

    Args:
        text: The text.
    """

    text: str


@dataclass(frozen=True, slots=True)
class ToolUse:
    """A call of a tool.

    Args:
        tool: The tool.
        arguments: Its arguments, as JSON.
        step: The number of the reply since the prompt.
        number: The call's place in its reply.
        nonce: Makes the id unlike those of other turns.
    """

    tool: OfferedTool
    arguments: str
    step: int
    number: int
    nonce: str = field(default_factory=lambda: secrets.token_hex(4))

    @property
    def id(self) -> str:
        """The call's id, in which `ModelRequest.step` reads the number again."""
        return f"call_{self.step}_{self.number}{self.nonce}"


@dataclass(frozen=True, slots=True)
class Refusal:
    """An HTTP error.

    Args:
        status: The status.
        message: What it says.
    """

    status: int
    message: str


Block: TypeAlias = Text | Thought | ToolUse
"""A part of an answer."""

Answer: TypeAlias = tuple[Block, ...] | Refusal
"""An answer."""


@dataclass(frozen=True, slots=True)
class Event:
    """One server-sent event.

    Args:
        data: Its data: an object, or a word as it is.
        name: Its name; empty for an event without one.
    """

    data: dict[str, Any] | str
    name: str = ""


class Wire(Protocol):
    """A protocol: how its requests are read, and its answers written."""

    def read(self, body: dict[str, Any], /) -> ModelRequest:
        """Read a request."""
        ...

    def stream(self, request: ModelRequest, blocks: tuple[Block, ...], /) -> Iterator[Event]:
        """Write an answer as events."""
        ...

    def whole(self, request: ModelRequest, blocks: tuple[Block, ...], /) -> dict[str, Any]:
        """Write an answer as one document."""
        ...

    def error(self, refusal: Refusal, /) -> dict[str, Any]:
        """Write an error's document."""
        ...


def pieces(text: str, size: int = 12) -> Iterator[str]:
    """Cut a text, so that its reader has deltas to join."""
    starts = itertools.islice(itertools.count(0, size), -(-len(text) // size))
    return (text[start : start + size] for start in starts)
