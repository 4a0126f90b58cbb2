"""One judge for arguments and results: does this JSON value fit this schema?"""

from __future__ import annotations

import functools
from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Any

from .extent import DEPTH_LIMIT, is_too_deep

if TYPE_CHECKING:
    import jsonschema_rs

__all__ = ["DEPTH_LIMIT", "Validator"]

# About a millisecond of work: jsonschema-rs holds the interpreter lock
# throughout, and the gateway has others to answer meanwhile.
_SLICE = 512
# An array with other keywords, such as uniqueItems, means all of its items at once.
_SLICED_KEYWORDS = frozenset({"type", "items", "title", "description", "default", "examples"})
_SLICED_LEVELS = 4

Path = tuple[str, ...]


class Validator:
    """Judges values by one schema. Safe to use from any thread.

    Args:
        schema: The JSON Schema, draft 2020-12.
    """

    def __init__(self, schema: Mapping[str, Any]) -> None:
        self._schema = schema

    @functools.cached_property
    def _whole(self) -> jsonschema_rs.Draft202012Validator:
        return _compiled(self._schema)

    @functools.cached_property
    def _arrays(self) -> dict[Path, jsonschema_rs.Draft202012Validator]:
        """The judges of the arrays that can be judged slice by slice."""
        definitions = self._schema.get("$defs", {})
        if not _is_portable(definitions):
            return {}
        return {
            path: _compiled({"$defs": definitions, **array})
            for path, array in _plain_arrays(self._schema, ())
        }

    def accepts(self, value: object) -> bool:
        """Tell whether the value is JSON and fits the schema."""
        return not is_too_deep(value) and self.fits(value)

    def fits(self, value: object) -> bool:
        """Tell the same of a value that is known not to nest too deeply."""
        try:
            if not self._arrays:
                return self._whole.is_valid(value)
            return all(judge.is_valid(part) for judge, part in self._parts(value))
        except (ValueError, TypeError, RecursionError):  # not a JSON value
            return False

    def explain(self, value: object) -> str:
        """Say in at most 512 bytes why a value is refused, without quoting it."""
        if is_too_deep(value):
            return f"arguments: nested deeper than {DEPTH_LIMIT} levels; make them flatter"
        from .explanation import explain

        return explain(self._schema, value, self._whole)

    def _parts(self, value: Any) -> Iterator[tuple[jsonschema_rs.Draft202012Validator, Any]]:
        for path, judge in self._arrays.items():
            found = _found(value, path)
            if isinstance(found, list) and len(found) > _SLICE:
                value = _replaced(value, path, found[:_SLICE])
                for start in range(_SLICE, len(found), _SLICE):
                    yield judge, found[start : start + _SLICE]
        yield self._whole, value


def _compiled(schema: Mapping[str, Any]) -> jsonschema_rs.Draft202012Validator:
    import jsonschema_rs

    return jsonschema_rs.Draft202012Validator(dict(schema), validate_formats=True)


def _plain_arrays(schema: Any, path: Path) -> Iterator[tuple[Path, Mapping[str, Any]]]:
    if not isinstance(schema, Mapping):  # `true` or `false`
        return
    if schema.get("type") == "array":
        if schema.keys() <= _SLICED_KEYWORDS and "items" in schema and _is_portable(schema):
            yield path, schema
    elif schema.get("type") == "object" and len(path) < _SLICED_LEVELS:
        for name, part in schema.get("properties", {}).items():
            yield from _plain_arrays(part, (*path, name))


def _is_portable(part: Any) -> bool:
    """Tell whether a part of a schema means the same with only ``$defs`` around it."""
    if isinstance(part, Mapping):
        reference = part.get("$ref", "#/$defs/")
        local = isinstance(reference, str) and reference.startswith("#/$defs/")
        return local and all(map(_is_portable, part.values()))
    return not isinstance(part, list) or all(map(_is_portable, part))


def _found(value: Any, path: Path) -> Any:
    for name in path:
        if not isinstance(value, dict):
            return None
        value = value.get(name)
    return value


def _replaced(value: Any, path: Path, part: list[Any]) -> Any:
    if not path:
        return part
    return {**value, path[0]: _replaced(value[path[0]], path[1:], part)}
