"""A message's public fields as short text, which shows no secret."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping
from datetime import datetime
from enum import Enum
from pathlib import PurePath
from types import MappingProxyType

from ...messages.base import Message
from ...messages.secret import Secret

__all__ = ["public_fields"]

_LONGEST_TEXT = 60
_MOST_ITEMS = 5


def public_fields(message: Message) -> Mapping[str, str]:
    """Return the fields that the message's ``repr`` would show, as short text.

    Calls no ``repr`` of the values: theirs may be long, slow or the host's own.

    Args:
        message: A message, which is a dataclass; anything else has no fields.
    """
    if not dataclasses.is_dataclass(message):
        return MappingProxyType({})
    shown = (
        field.name
        for field in dataclasses.fields(message)
        if field.repr and not field.name.startswith("_")
    )
    return MappingProxyType({name: _short(getattr(message, name)) for name in shown})


def _short(value: object) -> str:
    match value:
        case Secret():
            return "***"
        case Enum():
            return _short(value.value)
        case None | bool() | int() | float():
            return str(value)
        case str():
            return value if len(value) <= _LONGEST_TEXT else f"{value[: _LONGEST_TEXT - 1]}…"
        case PurePath():
            return _short(str(value))
        case datetime():
            return value.isoformat()
        case tuple() | frozenset():
            return _short_items(value)
        case Mapping():
            return f"{{{len(value)}}}"
        case bytes():
            return f"<{len(value)} bytes>"
        case _:
            return _short_object(value)


def _short_items(values: tuple[object, ...] | frozenset[object]) -> str:
    items = [_short(value) for value in values]
    if isinstance(values, frozenset):
        items.sort()
    if len(items) > _MOST_ITEMS:
        items[_MOST_ITEMS:] = ["…"]
    return f"({', '.join(items)})"


def _short_object(value: object) -> str:
    name = getattr(value, "name", None)
    if callable(getattr(value, "deliver", None)) and isinstance(name, str):
        return _short(name)
    return type(value).__name__
