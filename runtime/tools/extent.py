"""How deep and how large a value is, without making its JSON text."""

from __future__ import annotations

from typing import Any

__all__ = ["DEPTH_LIMIT", "count_values", "extent", "is_surely_larger", "is_too_deep"]

DEPTH_LIMIT = 64
"""The deepest nesting of arrays and objects. Below what exhausts the stack in
conversion, and far below where jsonschema-rs ends the process (seen at 100,000)."""

_CONTAINERS = (dict, list, tuple)
_TEXTS = (str, bytes, bytearray)
# First of all, and by a look into a set: most values of most results are one of these.
_SMALL = frozenset({int, float, bool, type(None)})
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
    for parent in level:
        if isinstance(parent, dict):
            inside = parent.values()
            size += 4 * len(parent) + 1  # quotes, colon and comma; names are not counted
        else:
            inside = parent
            size += len(parent) + 1
        for child in inside:
            if child.__class__ in _SMALL:
                size += 1
            elif isinstance(child, str):
                size += len(child) + 2
            elif isinstance(child, _CONTAINERS):
                below.append(child)
        if size > limit:
            break
    return size, below


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
    return sum(len(one) for one in rows if isinstance(one, _TEXTS))


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
        if isinstance(child, _CONTAINERS)
    ]
