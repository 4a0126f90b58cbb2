"""Masks secrets that come in pieces.

Whole lines are masked before a dialect sees them; but a model that prints its
environment may spread a secret over several of them.
"""

from __future__ import annotations

from dataclasses import replace

from ...messages.events import Event, Notice, Subagent, TextDelta, Thinking
from .lines import Masks

__all__ = ["Veil"]

_Piece = TextDelta | Thinking | Subagent


class Veil:
    """Passes events on, but for text that may be the beginning of a secret.

    What is held back comes with the next piece of the same text, or before
    whatever comes in its place.

    Args:
        masks: What to hide.
    """

    def __init__(self, masks: Masks) -> None:
        self._masks = masks
        self._held = ""
        self._piece: _Piece | None = None

    def pass_on(self, event: Event) -> list[Event]:
        """Return what can be told by now; it may be nothing."""
        if not self._masks.longest:
            return [event]
        if isinstance(event, Notice):  # it may come in the middle of a text
            return [event]
        if not isinstance(event, _Piece):
            return [*self.rest(), event]
        before = self.rest() if self._held and not _same(self._piece, event) else []
        text = self._masks.apply(self._held + event.text)
        held = 0 if _is_last(event) else self._masks.begun(text)
        self._piece, self._held = event, text[len(text) - held :]
        text = text[: len(text) - held]
        if not text and not _is_edge(event):
            return before
        return [*before, event if text == event.text else replace(event, text=text)]

    def rest(self) -> list[Event]:
        """Return what was held back, since nothing more comes of its text."""
        piece, held = self._piece, self._held
        self._piece, self._held = None, ""
        match piece:
            case None:
                return []
            case _ if not held:
                return []
            case Subagent():
                return [replace(piece, text=held, kind="delta")]
            case _:
                return [replace(piece, text=held, phase="delta")]


def _same(one: _Piece | None, other: _Piece) -> bool:
    if isinstance(one, TextDelta):
        return isinstance(other, TextDelta) and one.message_id == other.message_id
    if isinstance(one, Subagent):
        return isinstance(other, Subagent) and one.agent_id == other.agent_id
    return isinstance(other, Thinking)


def _is_edge(piece: _Piece) -> bool:
    return (piece.kind if isinstance(piece, Subagent) else piece.phase) != "delta"


def _is_last(piece: _Piece) -> bool:
    if isinstance(piece, Subagent):
        return piece.kind == "finished"
    return piece.phase == "end"
