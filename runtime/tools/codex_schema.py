"""How Codex shows a schema to its model, as seen with version 0.163."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from typing import Any

from .keywords import mapped
from .notes import Notes

__all__ = ["codex_schema"]

_KEPT = frozenset(
    {
        "$defs",
        "$ref",
        "additionalProperties",
        "allOf",
        "anyOf",
        "description",
        "enum",
        "items",
        "minItems",
        "oneOf",
        "properties",
        "required",
        "type",
    }
)
# Above this, it takes one thing after the other away until the schema fits.
_BUDGET = 5_000
_COMBINATORS = ("anyOf", "oneOf", "allOf")
_COMPLEX = frozenset({"properties", "items", "additionalProperties", *_COMBINATORS})
_DEPTH = 2


def codex_schema(schema: Mapping[str, Any], notes: Notes) -> dict[str, Any]:
    """Return what Codex makes of a schema.

    Args:
        schema: The schema, portable.
        notes: Gets what is changed.
    """

    def change(inner: Any, _keyword: str, place: str) -> Any:
        return _shown(inner, place, change, notes) if isinstance(inner, dict) else inner

    shown: dict[str, Any] = change(dict(schema), "", "")
    return _fitted(shown, notes)


def _shown(
    schema: dict[str, Any], place: str, change: Callable[[Any, str, str], Any], notes: Notes
) -> dict[str, Any]:
    kept = {keyword: value for keyword, value in schema.items() if keyword in _KEPT}
    for keyword in schema:
        if keyword == "const":
            notes.say("It shows const as an enum of one value", place)
            kept["enum"] = [schema["const"]]
        elif keyword not in _KEPT:
            notes.say(f"It drops {keyword}", f"{place}/{keyword}")
    found = mapped(kept, place, change)
    types = schema.get("type", ())
    types = [types] if isinstance(types, str) else types
    if "array" in types and "items" not in found:
        notes.say("It shows an array of anything as one of strings", place)
        found["items"] = {"type": "string"}
    if "object" in types:
        found.setdefault("properties", {})
    return found


def _fitted(schema: dict[str, Any], notes: Notes) -> dict[str, Any]:
    for sentence, step in _STEPS:
        if _size(schema) <= _BUDGET:
            break
        smaller = step(schema)
        if smaller != schema:
            notes.say(f"Its limit is {_BUDGET} bytes a schema, so {sentence}.")
        schema = smaller
    return schema


def _size(schema: object) -> int:
    return len(json.dumps(schema, ensure_ascii=False, separators=(",", ":")).encode())


def _without_descriptions(schema: dict[str, Any]) -> dict[str, Any]:
    return _everywhere(
        schema,
        lambda part: {
            keyword: value for keyword, value in part.items() if keyword != "description"
        },
    )


def _without_definitions(schema: dict[str, Any]) -> dict[str, Any]:
    rest = {keyword: value for keyword, value in schema.items() if keyword != "$defs"}
    return _everywhere(rest, lambda part: {} if "$ref" in part else part)


def _shallow(schema: dict[str, Any]) -> dict[str, Any]:
    def at(depth: int) -> Callable[[Any, str, str], Any]:
        def change(inner: Any, _keyword: str, place: str) -> Any:
            if not isinstance(inner, dict):
                return inner
            if depth > _DEPTH and inner.keys() & _COMPLEX:
                return {}
            return mapped(inner, place, at(depth + 1))

        return change

    shown: dict[str, Any] = at(0)(schema, "", "")
    return shown


def _without_unions(schema: dict[str, Any]) -> dict[str, Any]:
    return _everywhere(schema, lambda part: {} if part.keys() & set(_COMBINATORS) else part)


def _everywhere(
    schema: dict[str, Any], step: Callable[[dict[str, Any]], dict[str, Any]]
) -> dict[str, Any]:
    def change(inner: Any, _keyword: str, place: str) -> Any:
        return step(mapped(inner, place, change)) if isinstance(inner, dict) else inner

    shown: dict[str, Any] = change(schema, "", "")
    return shown


_STEPS = (
    ("all descriptions in it are dropped", _without_descriptions),
    ("recursive types become schemas that say nothing", _without_definitions),
    ("what nests more than two levels deep becomes a schema that says nothing", _shallow),
    ("unions become schemas that say nothing", _without_unions),
)
