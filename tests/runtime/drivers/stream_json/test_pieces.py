"""Pieces are made one like the other; they must be what they would be made anew."""

from __future__ import annotations

import random
from typing import Any

import pytest

from toolcrib import Claude
from toolcrib.messages.events import Event, Phase, TextDelta, Thinking

from .conftest import CLEAN, DONE, INIT, dialect, events, play, said, streamed

DELTAS: list[object] = [
    {"type": "text_delta", "text": "a"},
    {"type": "text_delta", "text": "b"},
    {"type": "text_delta", "text": ""},
    {"type": "thinking_delta", "thinking": "c"},
    {"text": "d", "thinking": "e"},
    {"text": 1, "thinking": "f"},
    {"type": "signature_delta", "signature": "x"},
    {},
    None,
    "text",
]


def told(kind: str, message: str, text: str, phase: Phase) -> Event:
    if kind == "thinking":
        return Thinking(text=text, phase=phase)
    return TextDelta(text=text, message_id=message, phase=phase)


def anew(records: list[dict[str, Any]]) -> tuple[list[Event], str]:
    """Tell the pieces of records in the plainest way, and the answer."""
    found: list[Event] = []
    message, now = "", None
    texts: dict[str, str] = {}
    for record in records:
        event = record["event"]
        delta = event.get("delta")
        pieces = delta if isinstance(delta, dict) else {}
        piece = None
        for kind in ("text", "thinking"):
            if piece is None and pieces.get(kind) and isinstance(pieces[kind], str):
                piece = (kind, message)
        if event["type"] == "message_start":
            message = event["message"].get("id", "")
        ends = event["type"] in {"content_block_stop", "message_stop"}
        if now is not None and (ends or (piece is not None and piece != now)):
            found.append(told(*now, "", "end"))
            now = None
        if piece is not None:
            text = pieces[piece[0]]
            found.append(told(*piece, text, "delta" if piece == now else "start"))
            if piece[0] == "text":
                texts[message] = texts.get(message, "") + text
            now = piece
    if now is not None:
        found.append(told(*now, "", "end"))
    return found, "\n\n".join(texts.values())


@pytest.mark.parametrize("seed", range(100))
def test_generated_pieces_are_told_as_if_each_were_made_anew(seed: int) -> None:
    chance = random.Random(seed)  # noqa: S311 - so that a failure comes again
    records = []
    for _ in range(chance.randint(0, 60)):
        if chance.random() < 0.8:
            records.append(streamed("content_block_delta", delta=chance.choice(DELTAS)))
        elif chance.random() < 0.4:
            message = chance.choice([{"id": "m1"}, {"id": "m2"}, {}])
            records.append(streamed("message_start", message=message))
        else:
            records.append(streamed(chance.choice(["content_block_stop", "message_stop", "ping"])))
    reader = dialect(Claude())

    found = events(play(reader, [INIT, *records, DONE]))

    expected, answer = anew(records)
    assert found[1:] == expected
    assert reader.ended(CLEAN).text == answer


def test_a_message_that_came_in_pieces_is_not_told_again_by_kind() -> None:
    records = [
        INIT,
        streamed("message_start", message={"id": "m1"}),
        streamed("content_block_delta", delta={"type": "text_delta", "text": "a"}),
        said({"type": "thinking", "thinking": "t"}, "a"),
        DONE,
    ]

    assert events(play(dialect(Claude()), records))[1:] == [
        TextDelta(text="a", message_id="m1", phase="start"),
        TextDelta(text="", message_id="m1", phase="end"),
        Thinking(text="t", phase="start"),
        Thinking(text="", phase="end"),
    ]
