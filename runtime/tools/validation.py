"""One judge for arguments and results: does this JSON value fit this schema?"""

from __future__ import annotations

import functools
from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import jsonschema_rs

__all__ = ["DEPTH_LIMIT", "Validator", "count_values"]

DEPTH_LIMIT = 64
"""The deepest nesting of arrays and objects. Below what exhausts the stack in
conversion, and far below where jsonschema-rs ends the process (seen at 100,000)."""


class Validator:
    """Judges values by one schema. Safe to use from any thread.

    Args:
        schema: The JSON Schema, draft 2020-12.
    """

    def __init__(self, schema: Mapping[str, Any]) -> None:
        self._schema = schema

    @functools.cached_property
    def _compiled(self) -> jsonschema_rs.Draft202012Validator:
        import jsonschema_rs

        return jsonschema_rs.Draft202012Validator(dict(self._schema), validate_formats=True)

    def accepts(self, value: object) -> bool:
        """Tell whether the value is JSON and fits the schema."""
        if _is_too_deep(value):
            return False
        try:
            return self._compiled.is_valid(value)
        except (ValueError, TypeError, RecursionError):  # not a JSON value
            return False

    def explain(self, value: object) -> str:
        """Say in at most 512 bytes why a value is refused, without quoting it."""
        if _is_too_deep(value):
            return f"arguments: nested deeper than {DEPTH_LIMIT} levels; make them flatter"
        from .explanation import explain

        return explain(self._schema, value, self._compiled)


def _levels(value: object) -> Iterator[list[Any]]:
    level = [value]
    while level:
        yield level
        level = [child for parent in level for child in _children(parent)]


def _children(value: object) -> list[Any]:
    inside = value.values() if isinstance(value, dict) else value
    return [child for child in inside if isinstance(child, dict | list | tuple)]  # type: ignore[attr-defined]


def _is_too_deep(value: object) -> bool:
    if not isinstance(value, dict | list | tuple):
        return False
    return any(depth >= DEPTH_LIMIT for depth, _ in enumerate(_levels(value)))


def count_values(value: object) -> int:
    """Return how many values an array or object holds, at any depth."""
    if not isinstance(value, dict | list | tuple):
        return 1
    return sum(len(parent) for level in _levels(value) for parent in level)
