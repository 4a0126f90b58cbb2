"""Objects with the same keys, by column: a loop over columns does once what rows repeat."""

from __future__ import annotations

from operator import itemgetter
from typing import Any

__all__ = ["columns_of"]

_DICT = frozenset({dict})
# For fewer, taking them apart costs more than it saves.
_FEW = 4


def columns_of(values: list[Any]) -> dict[Any, list[Any]]:
    """Return what objects hold under each key.

    Empty where they are few, hold nothing, or are not all plain dicts with the
    same keys.
    """
    if len(values) < _FEW or not _DICT.issuperset(map(type, values)):
        return {}
    keys = [*values[0]]
    if set(map(len, values)) != {len(keys)}:
        return {}
    try:
        return {key: [*map(itemgetter(key), values)] for key in keys}
    except KeyError:
        return {}
