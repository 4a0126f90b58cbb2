"""What was said and done in a run, put together from its events."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any, Literal

from ..messages.events import Event, TextDelta, Thinking, ToolCall, ToolResult
from ..messages.results import TranscriptItem
from .processes.lines import Masks

__all__ = ["Transcript"]

_Spoken = tuple[Literal["assistant", "thinking"], str]


class Transcript:
    """Collects whole pieces; for one thread.

    Pieces of one message become one item, for as long as nothing else comes in
    between.

    Args:
        prompt: What the caller asked: the first item.
    """

    def __init__(self, prompt: str) -> None:
        self._items = [TranscriptItem(kind="user", text=prompt)]
        self._masks = Masks(())
        self._spoken: _Spoken | None = None
        self._pieces: list[str] = []

    def hide(self, masks: Masks) -> None:
        """Hide secrets in what is put together from pieces, each of which is masked."""
        self._masks = masks

    def add(self, event: Event) -> None:
        """Take an event; those that are neither said nor done are left aside."""
        match event:
            case TextDelta():
                self._hear(("assistant", event.message_id), event)
            case Thinking():
                self._hear(("thinking", ""), event)
            case ToolCall():
                self._append(
                    TranscriptItem(
                        kind="tool_call",
                        text=_as_text(event.arguments),
                        name=event.name,
                        call_id=event.call_id,
                    )
                )
            case ToolResult():
                self._append(
                    TranscriptItem(
                        kind="tool_result",
                        text=event.text,
                        name=event.name,
                        call_id=event.call_id,
                        is_error=event.is_error,
                    )
                )
            case _:
                return

    def items(self) -> tuple[TranscriptItem, ...]:
        """Return what there is so far, in order."""
        self._close()
        return tuple(self._items)

    def _hear(self, spoken: _Spoken, event: TextDelta | Thinking) -> None:
        if spoken != self._spoken or event.phase == "start":
            self._close()
            self._spoken = spoken
        if event.text:
            self._pieces.append(event.text)
        if event.phase == "end":
            self._close()

    def _append(self, item: TranscriptItem) -> None:
        self._close()
        self._items.append(item)

    def _close(self) -> None:
        if self._spoken is not None and self._pieces:
            text = self._masks.apply("".join(self._pieces))
            self._items.append(TranscriptItem(kind=self._spoken[0], text=text))
        self._spoken, self._pieces = None, []


def _as_text(arguments: Mapping[str, Any]) -> str:
    # Whatever a third party's driver puts there, a result is not to fail on it.
    try:
        return json.dumps(dict(arguments), ensure_ascii=False, skipkeys=True, default=_kind_of)
    except (ValueError, RecursionError):
        return "{}"


def _kind_of(value: object) -> str:
    return f"<{type(value).__name__}>"
