"""Why arguments were refused, for the model: path and rule, never a value.

Loaded on the first refusal only, since importing jsonschema takes a while.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

import jsonschema
import jsonschema_rs
from jsonschema.exceptions import ValidationError

from .extent import count_values

__all__ = ["TEXT_LIMIT", "explain", "misfit_text"]

TEXT_LIMIT = 512
"""The longest explanation, in bytes of UTF-8."""

_NAME_LIMIT = 64
_PATH_LIMIT = 200
# jsonschema needs about 15 µs a value; beyond this, only the place is told.
_VALUE_LIMIT = 10_000
_GENERAL = "does not fit the input schema; send JSON that does"
_KINDS = {
    "array": "an array",
    "boolean": "true or false",
    "integer": "an integer",
    "null": "null",
    "number": "a number",
    "object": "an object",
    "string": "a string",
}


def explain(
    schema: Mapping[str, Any], value: Any, decided: jsonschema_rs.Draft202012Validator
) -> str:
    """Say which rule a refused value breaks first, and where.

    Args:
        schema: The schema that refused it.
        value: The value.
        decided: The validator that refused it.

    Returns:
        One line, at most 512 bytes.
    """
    if count_values(value) > _VALUE_LIMIT:
        return _where_only(value, decided)
    try:
        validator = jsonschema.Draft202012Validator(dict(schema))
        errors = [leaf for error in validator.iter_errors(value) for leaf in _leaves(error)]
    except (TypeError, ValueError, RecursionError):
        return f"arguments: {_GENERAL}"
    if not errors:  # what only jsonschema-rs refuses: NaN, values that are not JSON
        return _where_only(value, decided)
    return min((_told(error) for error in errors), key=lambda told: told[:3])[3]


def misfit_text(path: Sequence[object], reason: str) -> str:
    """Say what could not be converted although it fits the schema."""
    return _cut(f"{_path_text(path)}: {reason}", TEXT_LIMIT)


def _path_text(path: Iterable[object]) -> str:
    text = "".join(f"/{_bare(str(part))}" for part in path)
    if len(text.encode()) > _PATH_LIMIT:
        text = "…" + text.encode()[-_PATH_LIMIT:].decode("utf-8", "ignore")
    return text or "arguments"


def _where_only(value: object, decided: jsonschema_rs.Draft202012Validator) -> str:
    try:
        error = next(iter(decided.iter_errors(value)), None)
    except (TypeError, ValueError):
        error = None
    return f"{_path_text(error.instance_path if error else ())}: {_GENERAL}"


def _leaves(error: ValidationError) -> Iterator[ValidationError]:
    """Look into "this type or null", where the first branch tells what is wrong."""
    if error.validator != "anyOf" or not error.context:
        yield error
        return
    for inner in error.context:
        if inner.schema_path[0] == 0:
            yield from _leaves(inner)


def _told(error: ValidationError) -> tuple[int, str, str, str]:
    """Return rank, name and place, to choose by, and the text."""
    place = _path_text(error.absolute_path)
    instance: Any = error.instance
    schema: Any = error.schema
    if error.validator == "additionalProperties":
        name = min(str(one) for one in instance if one not in schema.get("properties", {}))
        text = f'{place}: unknown field "{_quoted(name)}"; leave it out'
        return 0, name, place, _cut(text, TEXT_LIMIT)
    if error.validator == "required":
        name = next(one for one in schema["required"] if one not in instance)
        return 1, name, place, _cut(f'{place}: the field "{name}" is required', TEXT_LIMIT)
    return 2, "", place, _cut(f"{place}: {_rule(error)}{_hint(error)}", TEXT_LIMIT)


def _rule(error: ValidationError) -> str:
    if error.validator == "type":
        or_null = " or null" if _is_branch(error) else ""
        return f"must be {_KINDS[str(error.validator_value)]}{or_null}"
    if error.validator == "enum":
        return "must be one of the values that the schema lists"
    return f"does not meet the schema's {error.validator}"


def _is_branch(error: ValidationError) -> bool:
    """Tell whether this is about the whole of a "this type or null"."""
    return error.parent is not None and not error.relative_path


def _hint(error: ValidationError) -> str:
    schemas = [error.schema]
    if error.parent is not None and _is_branch(error):
        schemas.append(error.parent.schema)
    if any(isinstance(schema, Mapping) and "default" in schema for schema in schemas):
        return "; leave the field out to use its default"
    return ""


def _quoted(name: str) -> str:
    return _bare(name).replace('"', '\\"')


def _bare(name: str) -> str:
    cut = _cut(name.encode("utf-8", "backslashreplace").decode(), _NAME_LIMIT)
    return "".join(_escaped(char) for char in cut)


def _escaped(char: str) -> str:
    if char.isprintable():
        return char
    return json.dumps(char)[1:-1] if char < " " else f"\\u{ord(char):04x}"


def _cut(text: str, limit: int) -> str:
    data = text.encode()
    if len(data) <= limit:
        return text
    return data[: limit - len("…".encode())].decode("utf-8", "ignore") + "…"
