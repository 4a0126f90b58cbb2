"""Reading what the protocols have in common."""

from __future__ import annotations

import dataclasses
import json
from collections.abc import Iterable
from typing import Any

from .exchange import ModelMessage

__all__ = ["flat", "text_of"]


def text_of(content: Any) -> list[str]:
    """Return the texts of a content field: a string, or a list of typed parts.

    Parts that are no text, such as images, are given as JSON.
    """
    if content is None:
        return []
    if not isinstance(content, list):
        return [content if isinstance(content, str) else json.dumps(content)]
    return [part["text"] if _is_text(part) else json.dumps(part) for part in content]


def _is_text(part: Any) -> bool:
    return isinstance(part, dict) and isinstance(part.get("text"), str)


def flat(messages: Iterable[ModelMessage]) -> tuple[ModelMessage, ...]:
    """Give each result the name of the tool that was called."""
    names: dict[str, str] = {}
    named = []
    for message in messages:
        if message.role == "call":
            names[message.call_id] = message.tool
        tool = names.get(message.call_id, message.tool)
        named.append(dataclasses.replace(message, tool=tool))
    return tuple(named)
