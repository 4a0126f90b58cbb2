"""What the validators of marshmallow are in JSON Schema.

Those that JSON Schema does not know are marshmallow's alone.
"""

from __future__ import annotations

import math
import re
from collections.abc import Mapping
from typing import Any

import jsonschema_rs
from marshmallow import validate

from ..shape import Shape, noted

__all__ = ["validated"]

_SIZES = {"string": "Length", "array": "Items", "object": "Properties"}
_JSON = {"string": str, "integer": int, "number": int | float, "boolean": bool}


def validated(shape: Shape, validator: object) -> Shape:
    """Return the shape with what a validator demands in its schema and its text."""
    if isinstance(validator, validate.And):
        for one in validator.validators:
            shape = validated(shape, one)
        return shape
    keywords = _keywords(validator, shape.schema)
    return noted(shape, *(_sentence(name, value) for name, value in keywords.items()), **keywords)


def _keywords(validator: object, schema: Mapping[str, Any]) -> dict[str, Any]:
    kind = str(schema.get("type"))
    if isinstance(validator, validate.Length) and kind in _SIZES:
        least = validator.min if validator.equal is None else validator.equal
        most = validator.max if validator.equal is None else validator.equal
        given = {f"min{_SIZES[kind]}": least, f"max{_SIZES[kind]}": most}
        return {name: size for name, size in given.items() if size is not None}
    if isinstance(validator, validate.Range) and kind in {"integer", "number"}:
        return _range(validator)
    if isinstance(validator, validate.OneOf) and _all_are(kind, validator.choices):
        return {"enum": list(validator.choices)}
    if isinstance(validator, validate.Equal) and _all_are(kind, [validator.comparable]):
        return {"enum": [validator.comparable]}
    if isinstance(validator, validate.Regexp) and kind == "string":
        return _pattern(validator)
    return {}


def _range(validator: validate.Range) -> dict[str, Any]:
    low = "minimum" if validator.min_inclusive else "exclusiveMinimum"
    high = "maximum" if validator.max_inclusive else "exclusiveMaximum"
    given = {low: validator.min, high: validator.max}
    return {
        name: bound
        for name, bound in given.items()
        if isinstance(bound, int | float) and math.isfinite(bound)
    }


def _all_are(kind: str, values: Any) -> bool:
    wanted = _JSON.get(kind)
    return wanted is not None and all(
        isinstance(value, wanted) and (kind == "boolean" or not isinstance(value, bool))
        for value in values
    )


def _pattern(validator: validate.Regexp) -> dict[str, Any]:
    regex = validator.regex
    if not isinstance(regex.pattern, str) or regex.flags != re.UNICODE:
        return {}
    # marshmallow matches at the beginning, JSON Schema anywhere.
    pattern = f"^(?:{regex.pattern})"
    try:
        jsonschema_rs.Draft202012Validator({"pattern": pattern})
    except ValueError:  # what only Python knows
        return {}
    return {"pattern": pattern}


def _sentence(keyword: str, value: Any) -> str:
    words = {
        "minimum": "At least",
        "exclusiveMinimum": "Above",
        "maximum": "At most",
        "exclusiveMaximum": "Below",
        "enum": "One of",
        "pattern": "Matches",
    }
    if keyword in words:
        return f"{words[keyword]} {value}."
    return f"{'Length at least' if keyword.startswith('min') else 'Length at most'} {value}."
