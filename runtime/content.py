"""Which events may be left out for whoever is too slow to take them all."""

from __future__ import annotations

from ..messages.events import Event, ProcessInfo, Subagent, TextDelta, Thinking

__all__ = ["is_content"]


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
