"""What the model says and thinks, piece by piece or whole."""

from __future__ import annotations

from collections.abc import Callable
from typing import Literal

from ....messages.events import Event, Phase, TextDelta, Thinking
from ....messages.frozen import replacer
from .records import text_of

__all__ = ["Pieces"]

_Kind = Literal["text", "thinking"]
_KINDS: tuple[_Kind, ...] = ("text", "thinking")
_WITH: dict[_Kind, Callable[..., Event]] = {
    "text": replacer(TextDelta, "text", "phase"),
    "thinking": replacer(Thinking, "text", "phase"),
}


class Pieces:
    """Turns pieces into events: one that starts, those that go on, one that ends.

    Args:
        say: Takes each piece of the answer: its message's id, and the text.
    """

    def __init__(self, say: Callable[[str, str], None]) -> None:
        self._say = say
        self._open: tuple[_Kind, str] | None = None
        # What all pieces of what is open are made like: that takes half the time,
        # and nearly all that a provider prints is one of them.
        self._like: Event = TextDelta(text="")
        self._streamed: set[tuple[_Kind, str]] = set()
        self.message = ""
        """The message that is streamed."""

    def streamed(self, delta: object) -> list[Event]:
        """Take the ``delta`` of a piece; one of neither text nor thinking is none."""
        if not isinstance(delta, dict):
            return []
        for kind in _KINDS:
            if text := text_of(delta, kind):
                piece = (kind, self.message)
                if piece == self._open:
                    return [self._told(piece, text)]
                self._streamed.add(piece)
                return self._begin(kind, self.message, text)
        return []

    def whole(self, kind: _Kind, message: str, text: str) -> list[Event]:
        """Take a whole block, unless it came in pieces before."""
        if not text or (kind, message) in self._streamed:
            return []
        return [*self._begin(kind, message, text), *self.close()]

    def close(self) -> list[Event]:
        """End what is open."""
        if self._open is None:
            return []
        piece, self._open = self._open, None
        return [self._told(piece, "", "end")]

    def _begin(self, kind: _Kind, message: str, text: str) -> list[Event]:
        closed = self.close()
        self._open = (kind, message)
        self._like = (
            Thinking(text="") if kind == "thinking" else TextDelta(text="", message_id=message)
        )
        return [*closed, self._told(self._open, text, "start")]

    def _told(self, piece: tuple[_Kind, str], text: str, phase: Phase = "delta") -> Event:
        kind, message = piece
        if kind == "text":
            self._say(message, text)
        return _WITH[kind](self._like, text, phase)
