"""How deep and how large a value is, without making its JSON text."""

from __future__ import annotations

from itertools import islice
from typing import Any

from .uniform import columns_of

__all__ = ["DEPTH_LIMIT", "count_values", "extent", "is_surely_larger", "is_too_deep"]

DEPTH_LIMIT = 64
"""The deepest nesting of arrays and objects. Below what exhausts the stack in
conversion, and far below where jsonschema-rs ends the process (seen at 100,000)."""

_CONTAINERS = (dict, list, tuple)
_TEXTS = (str, bytes, bytearray)
# First of all, and by a look into a set: most values are one of these.
_NUMBERS = frozenset({int, float, bool, type(None)})
_SCALARS = _NUMBERS | {str}
_CONTAINER_KINDS = frozenset(_CONTAINERS)
_TEXT = frozenset({str})
_SLICE = 512
_FEW = 8
_ROWS = (list, tuple, set, frozenset)


def extent(value: object, limit: float) -> tuple[int, int]:
    """Return how deep a JSON value nests, and a size that its text has at least.

    Looks level by level and stops beyond `DEPTH_LIMIT` levels or ``limit``
    bytes, so that neither a cycle nor what is shared many times takes long.
    """
    if isinstance(value, str):
        return 0, len(value) + 2
    depth, size = 0, 0
    level: list[Any] = [value] if isinstance(value, _CONTAINERS) else []
    while level and depth <= DEPTH_LIMIT and size <= limit:
        depth += 1
        size, level = _next_level(level, size, limit)
    return depth, size


def _next_level(level: list[Any], size: int, limit: float) -> tuple[int, list[Any]]:
    below: list[Any] = []
    if len(level) <= _FEW:
        return _one_by_one(level, size, limit, below), below
    for start in range(0, len(level), _SLICE):
        parents = level[start : start + _SLICE]
        columns = columns_of(parents)
        if columns:
            size += _weight_of_object(len(columns)) * len(parents)
            size += sum([_weighed(column, below) for column in columns.values()])
        else:
            size = _one_by_one(parents, size, limit, below)
        if size > limit:
            break
    return size, below


def _one_by_one(parents: list[Any], size: int, limit: float, below: list[Any]) -> int:
    for parent in parents:
        if isinstance(parent, dict):
            size += _weight_of_object(len(parent)) + _weighed(parent.values(), below)
        else:
            size += len(parent) + 1 + _weighed(parent, below)
        if size > limit:
            break
    return size


def _weight_of_object(members: int) -> int:
    return 4 * members + 1  # quotes, colon and comma; names are not counted


def _weighed(children: Any, below: list[Any]) -> int:
    """Return the size of the texts and scalars; add what nests further to ``below``."""
    # Looks at many by kind: in C, and with fewer looks at memory that is cold by now.
    if len(children) > _FEW:
        kinds = set(map(type, children))
        if kinds == _TEXT:
            return 2 * len(children) + sum([len(text) for text in children])
        if kinds <= _CONTAINER_KINDS:
            below += children
            return 0
        if kinds <= _NUMBERS:
            return len(children)
    size = 0
    for child in children:
        if child.__class__ in _NUMBERS:
            size += 1
        elif isinstance(child, str):
            size += len(child) + 2
        elif isinstance(child, _CONTAINERS):
            below.append(child)
    return size


def is_surely_larger(result: object, limit: int) -> bool:
    """Tell whether a handler's result has more text in it than ``limit`` bytes.

    Looks at text, bytes, and lists and sets of them, which are converted one by
    one: what is larger is refused before the conversion makes it larger still.
    """
    if isinstance(result, _TEXTS):
        return len(result) > limit
    if not isinstance(result, _ROWS):
        return False
    return len(result) > limit or _texts_in(result) > limit


def _texts_in(rows: Any) -> int:
    size, rest = 0, iter(rows)
    while part := [*islice(rest, _SLICE)]:
        if any(issubclass(kind, _TEXTS) for kind in set(map(type, part))):
            size += sum([len(one) for one in part if isinstance(one, _TEXTS)])
    return size


def is_too_deep(value: object) -> bool:
    """Tell whether arrays and objects nest deeper than `DEPTH_LIMIT`."""
    level: list[Any] = [value] if isinstance(value, _CONTAINERS) else []
    for _ in range(DEPTH_LIMIT):
        level = _containers_in(level)
        if not level:
            return False
    return True


def count_values(value: object) -> int:
    """Return how many values an array or object holds, at any depth."""
    count, level = 1, [value] if isinstance(value, _CONTAINERS) else []
    while level:
        count += sum(map(len, level))
        level = _containers_in(level)
    return count


def _containers_in(level: list[Any]) -> list[Any]:
    # One comprehension for all: it costs half of what a call for each parent does.
    return [
        child
        for parent in level
        for child in (parent.values() if isinstance(parent, dict) else parent)
        if child.__class__ not in _SCALARS and isinstance(child, _CONTAINERS)
    ]
