"""Which keywords of JSON Schema hold schemas, and which only tell people something."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import Any

__all__ = ["ANNOTATIONS", "ANY_TYPE", "COMBINATORS", "IN_PLACE", "children", "mapped"]

_ONE = frozenset(
    {
        "additionalProperties",
        "contains",
        "contentSchema",
        "else",
        "if",
        "items",
        "not",
        "propertyNames",
        "then",
        "unevaluatedItems",
        "unevaluatedProperties",
    }
)
_MANY = frozenset({"allOf", "anyOf", "oneOf", "prefixItems"})
_NAMED = frozenset({"$defs", "definitions", "dependentSchemas", "patternProperties", "properties"})

ANNOTATIONS = frozenset(
    {
        "contentEncoding",
        "contentMediaType",
        "default",
        "deprecated",
        "description",
        "examples",
        "readOnly",
        "title",
        "writeOnly",
    }
)
"""Keywords that say nothing about which values fit."""

IN_PLACE = frozenset({"allOf", "anyOf", "oneOf", "not", "if", "then", "else", "dependentSchemas"})
"""Keywords whose schemas ask the same value again."""

COMBINATORS = ("anyOf", "oneOf", "allOf", "not", "if", "then", "else", "enum", "const")
"""Keywords that make some provider drop or rewrite a tool, where they are at the root."""

ANY_TYPE = ("string", "number", "boolean", "object", "array", "null")
"""All types, for where any value fits: providers misread an empty schema."""

Change = Callable[[Any, str, str], Any]
"""Makes the new schema of a schema, the keyword that holds it, and its place."""


def children(schema: Mapping[str, Any], place: str) -> Iterator[tuple[str, Any, str]]:
    """Yield the keyword, the schema and the place of each schema inside of one."""
    for keyword, value in schema.items():
        here = f"{place}/{keyword}"
        if keyword in _ONE:
            yield keyword, value, here
        elif keyword in _MANY and isinstance(value, list):
            for number, one in enumerate(value):
                yield keyword, one, f"{here}/{number}"
        elif keyword in _NAMED and isinstance(value, dict):
            for name, one in value.items():
                yield keyword, one, f"{here}/{name}"


def mapped(schema: Mapping[str, Any], place: str, change: Change) -> dict[str, Any]:
    """Return a copy of a schema with every schema directly inside of it changed."""
    found: dict[str, Any] = {}
    for keyword, value in schema.items():
        here = f"{place}/{keyword}"
        if keyword in _ONE:
            found[keyword] = change(value, keyword, here)
        elif keyword in _MANY and isinstance(value, list):
            parts = enumerate(value)
            found[keyword] = [change(one, keyword, f"{here}/{number}") for number, one in parts]
        elif keyword in _NAMED and isinstance(value, dict):
            named = value.items()
            found[keyword] = {name: change(one, keyword, f"{here}/{name}") for name, one in named}
        else:
            found[keyword] = value
    return found
