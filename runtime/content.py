"""What in an event takes room, and which may be left out for whoever is too slow."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from ..messages.events import (
    ApprovalRequest,
    Event,
    Notice,
    ProcessInfo,
    Subagent,
    TextDelta,
    Thinking,
    ToolCall,
    ToolResult,
)
from .tools.extent import extent

__all__ = ["is_content", "size_of"]

_LONGEST = 64 * 1024 * 1024  # as a line of a provider's output may be


def is_content(event: Event) -> bool:
    """Tell whether an event is a piece of content, of which the run's end has the whole."""
    match event:
        case TextDelta() | Thinking():
            return event.phase == "delta"
        case Subagent():
            return event.kind == "delta"
        case ProcessInfo():
            return event.kind == "stderr"
        case _:
            return False


def size_of(event: Event) -> int:
    """Return about how many characters the provider has put into an event."""
    match event:
        case TextDelta() | Thinking() | ToolResult() | ProcessInfo() | Subagent():
            return len(event.text)
        case ToolCall() | ApprovalRequest():
            return _extent(event.arguments)
        case Notice():
            return len(event.message) + _extent(event.data)
        case _:
            return 0


def _extent(values: Mapping[str, Any]) -> int:
    return extent(dict(values), _LONGEST)[1]
