"""Canonical JSON: sorted keys, no spaces, every number exact."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

__all__ = ["canonical", "canonical_in_pieces"]

# About a millisecond of work each: the encoder holds the interpreter lock
# throughout, and the gateway has others to answer meanwhile.
_SLICE = 512
_FEW = 64
_LEVELS = 4

_encode = json.JSONEncoder(
    ensure_ascii=False, allow_nan=False, sort_keys=True, separators=(",", ":")
).encode


def canonical(value: object) -> str:
    """Return JSON with sorted keys and without spaces; NaN is a `ValueError`."""
    return _encode(value)


def canonical_in_pieces(value: object) -> str:
    """Return the same as `canonical`, made so that other threads can run meanwhile."""
    return "".join(_pieces(value, _LEVELS))


def _pieces(value: Any, levels: int) -> Iterator[str]:
    if levels and isinstance(value, dict) and value:
        yield from _members(value, levels)
    elif levels and isinstance(value, list) and len(value) > _FEW:
        yield from _slices(value)
    elif levels and isinstance(value, list) and value:
        yield from _items(value, levels)
    else:
        yield _encode(value)


def _members(value: dict[str, Any], levels: int) -> Iterator[str]:
    before = "{"
    for key in sorted(value):
        yield f"{before}{_encode(key)}:"
        yield from _pieces(value[key], levels - 1)
        before = ","
    yield "}"


def _items(value: list[Any], levels: int) -> Iterator[str]:
    before = "["
    for item in value:
        yield before
        yield from _pieces(item, levels - 1)
        before = ","
    yield "]"


def _slices(value: list[Any]) -> Iterator[str]:
    before = "["
    for start in range(0, len(value), _SLICE):
        yield before
        yield _encode(value[start : start + _SLICE])[1:-1]
        before = ","
    yield "]"
