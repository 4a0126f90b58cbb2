"""Schemas without a conversion, which is elsewhere."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from ..shape import Shape, noted

__all__ = ["distinct_of", "fixed_array", "schema_only"]


def schema_only(schema: Mapping[str, Any], size: int = 1) -> Shape:
    """Return a shape that converts nothing; something above it does."""
    return Shape(schema, load=_unused, dump=_unused, size=size)


def fixed_array(items: list[Shape]) -> Shape:
    """Return the schema of an array with one item of each."""
    # No `prefixItems`: some providers turn it into a list of texts.
    schemas = distinct_of(items)
    schema = {
        "type": "array",
        "items": schemas[0] if len(schemas) == 1 else {"anyOf": schemas},
        "minItems": len(items),
        "maxItems": len(items),
    }
    shape = schema_only(schema, 1 + sum(item.size for item in items))
    order = ", ".join(_short(item) for item in items)
    return noted(shape, f"Exactly {len(items)} items, in this order: {order}.")


def distinct_of(items: list[Shape]) -> list[Mapping[str, Any]]:
    """Return the schemas of shapes, each once."""
    found: list[Mapping[str, Any]] = []
    for item in items:
        if item.schema not in found:
            found.append(item.schema)
    return found


def _short(item: Shape) -> str:
    text = item.text or item.schema.get("format") or item.schema.get("type")
    return str(text or "as described").rstrip(".")


def _unused(_value: Any) -> Any:
    msg = "a schema alone converts nothing"
    raise AssertionError(msg)
