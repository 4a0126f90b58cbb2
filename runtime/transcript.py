"""What was said and done in a run, put together from its events."""

from __future__ import annotations

import json
from collections import deque
from collections.abc import Mapping
from typing import Any, Literal

from ..messages.events import Event, TextDelta, Thinking, ToolCall, ToolResult
from ..messages.results import TranscriptItem
from .processes.lines import Masks

__all__ = ["Transcript"]

_Spoken = tuple[Literal["assistant", "thinking"], str]

_MOST = 64 * 1024 * 1024
_OF_ITEM = 256
_OF_PIECE = 64


class Transcript:
    """Collects whole pieces; for one thread.

    Pieces of one message become one item, for as long as nothing else comes in
    between, and it is not enormous. Where all is too much, items in the middle
    are left out, and one in their place says how many. The last one always stays.

    Args:
        prompt: What the caller asked: the first item.
        most: How many characters it may hold, of which each item takes some more.
    """

    def __init__(self, prompt: str, *, most: int = _MOST) -> None:
        self._items = _Items(most // 2)
        self._items.append(TranscriptItem(kind="user", text=prompt))
        self._longest = most // 4
        self._masks = Masks(())
        self._spoken: _Spoken | None = None
        self._pieces: list[str] = []
        self._size = 0

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
        return self._items.all()

    def _hear(self, spoken: _Spoken, event: TextDelta | Thinking) -> None:
        if spoken != self._spoken or event.phase == "start":
            self._close()
            self._spoken = spoken
        if event.text:
            self._pieces.append(event.text)
            self._size += len(event.text) + _OF_PIECE
            if self._size > self._longest:
                self._cut()
        if event.phase == "end":
            self._close()

    def _append(self, item: TranscriptItem) -> None:
        self._close()
        self._items.append(item)

    def _close(self) -> None:
        self._keep("".join(self._pieces))
        self._spoken, self._pieces, self._size = None, [], 0

    def _cut(self) -> None:
        """Make an item of what there is of a message that does not end."""
        text = self._masks.apply("".join(self._pieces))
        end = len(text) - self._masks.begun(text)  # a secret is not to be cut in two
        self._keep(text[:end])
        self._pieces, self._size = [text[end:]], len(text) - end

    def _keep(self, text: str) -> None:
        if self._spoken is not None and text:
            item = TranscriptItem(kind=self._spoken[0], text=self._masks.apply(text))
            self._items.append(item)


class _Items:
    """The first and the last items, and how many were between them.

    Args:
        most: How many characters the first may have, and the last as many.
    """

    def __init__(self, most: int) -> None:
        self._most = most
        self._first: list[TranscriptItem] = []
        self._last: deque[TranscriptItem] = deque()
        self._room = most
        self._size = 0
        self._left_out = 0

    def append(self, item: TranscriptItem) -> None:
        size = _size_of(item)
        if not self._first or (not self._last and size <= self._room):
            self._first.append(item)
            self._room -= size
            return
        self._last.append(item)
        self._size += size
        while self._size > self._most and len(self._last) > 1:
            self._size -= _size_of(self._last.popleft())
            self._left_out += 1

    def all(self) -> tuple[TranscriptItem, ...]:
        if not self._left_out:
            return (*self._first, *self._last)
        text = f"{self._left_out} pieces were left out here, since there was too much."
        return (*self._first, TranscriptItem(kind="left_out", text=text), *self._last)


def _size_of(item: TranscriptItem) -> int:
    return len(item.text) + len(item.name) + len(item.call_id) + _OF_ITEM


def _as_text(arguments: Mapping[str, Any]) -> str:
    # Whatever a third party's driver puts there, a result is not to fail on it.
    try:
        return json.dumps(dict(arguments), ensure_ascii=False, skipkeys=True, default=_kind_of)
    except (ValueError, RecursionError):
        return "{}"


def _kind_of(value: object) -> str:
    return f"<{type(value).__name__}>"
