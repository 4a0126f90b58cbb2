"""Canonical JSON: sorted keys, no spaces, every number exact."""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Iterable, Iterator
from itertools import repeat
from json.encoder import encode_basestring
from typing import Any

from .uniform import columns_of

__all__ = ["canonical", "canonical_in_pieces"]

# Less than a millisecond of work each: a call into C holds the interpreter lock
# throughout, and the gateway has others to answer meanwhile.
_SLICE = 512
_FEW = 64
_LEVELS = 4
_STR = frozenset({str})

_encode = json.JSONEncoder(
    ensure_ascii=False, allow_nan=False, sort_keys=True, separators=(",", ":")
).encode

# What is not here, such as a number of a class of the host's, is left to `json`.
_WRITERS: dict[type, Callable[[Any], str]] = {
    str: encode_basestring,
    int: repr,
    bool: {True: "true", False: "false"}.__getitem__,
    type(None): {None: "null"}.__getitem__,
}


def canonical(value: object) -> str:
    """Return JSON with sorted keys and without spaces; NaN is a `ValueError`."""
    return _written(value)


def canonical_in_pieces(value: object) -> str:
    """Return the same as `canonical`, faster, and so that other threads can run meanwhile."""
    return "".join(_pieces(value, _LEVELS))


def _written(value: Any) -> str:
    # `json` sets up an encoder for each call, which takes longer than most values.
    kind = type(value)
    write = _WRITERS.get(kind)
    if write is not None:
        return write(value)
    if kind is dict and _STR.issuperset(map(type, value)):
        members = [f"{encode_basestring(key)}:{_written(value[key])}" for key in sorted(value)]
        return f"{{{','.join(members)}}}"
    if kind is list and len(value) < _FEW:
        return f"[{','.join([_written(item) for item in value])}]"
    return _encode(value)


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
        yield ",".join(_texts(value[start : start + _SLICE]))
        before = ","
    yield "]"


def _texts(values: list[Any]) -> Iterable[str]:
    """Return the text of each value: of values of one kind, and of objects by column."""
    columns = _members_of(values)
    if columns:
        return map("".join, zip(*columns, repeat("}"), strict=False))
    kinds = set(map(type, values))
    if len(kinds) > 1:
        return [_WRITERS.get(type(value), _encode)(value) for value in values]
    kind = kinds.pop()
    if kind is float and all(map(math.isfinite, values)):
        return map(repr, values)
    return map(_WRITERS.get(kind, _encode), values)


def _members_of(values: list[Any]) -> list[Iterable[str]]:
    """Return names and texts of members, in turns; none where objects differ in names."""
    columns = columns_of(values)
    if not _STR.issuperset(map(type, columns)):
        return []
    parts: list[Iterable[str]] = []
    before = "{"
    for name in sorted(columns):
        parts += repeat(f"{before}{encode_basestring(name)}:"), _texts(columns[name])
        before = ","
    return parts
