"""Copies of JSON values: one that nobody changes, and one for serializers."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

from .frozen import FrozenMap

__all__ = ["frozen_json", "plain_json"]

_DEEPEST = 64


def frozen_json(value: Any, where: str) -> Any:
    """Return a copy of a JSON value that nobody changes: its arrays are tuples.

    Args:
        value: The value.
        where: What it is, for messages; they show no values.

    Raises:
        TypeError: It holds something that is no JSON value.
        ValueError: It holds a number or a text that JSON has no form for, or
            is too deep.
    """
    return _frozen(value, where, 0)


def _frozen(value: Any, where: str, depth: int) -> Any:
    if depth > _DEEPEST:
        msg = f"{where} is more than {_DEEPEST} levels deep; make it flatter."
        raise ValueError(msg)
    if isinstance(value, Mapping):
        return FrozenMap(
            {
                _text(name, where): _frozen(v, f"{where}.{name}", depth + 1)
                for name, v in value.items()
            }
        )
    if isinstance(value, list | tuple):
        return tuple(_frozen(v, f"{where}[{n}]", depth + 1) for n, v in enumerate(value))
    if isinstance(value, str):
        return _text(value, where)
    if isinstance(value, float) and not math.isfinite(value):
        msg = f"{where} is {value}; JSON has no form for it."
        raise ValueError(msg)
    if value is None or isinstance(value, bool | int | float):
        return value
    msg = f"{where} is a {type(value).__name__}; pass JSON values only."
    raise TypeError(msg)


def _text(value: object, where: str) -> str:
    if not isinstance(value, str):
        msg = f"{where} has a {type(value).__name__} as a name; pass str."
        raise TypeError(msg)
    try:
        value.encode()
    except UnicodeEncodeError:
        msg = f"{where} holds half of a surrogate pair; pass text that can be encoded."
        raise ValueError(msg) from None
    return value


def plain_json(value: Any) -> Any:
    """Return a copy in dicts and lists, as serializers want it."""
    if isinstance(value, Mapping):
        return {name: plain_json(each) for name, each in value.items()}
    return [plain_json(each) for each in value] if isinstance(value, tuple | list) else value
