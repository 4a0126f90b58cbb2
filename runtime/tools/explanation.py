"""Why arguments were refused, for the model: path and rule, never a value.

Loaded on the first refusal only, since importing jsonschema takes a while.
"""

from __future__ import annotations

import functools
import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

import jsonschema
import jsonschema_rs
from jsonschema.exceptions import ValidationError

from .branches import leaves, missing_field
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

_RULES = {
    "const": "must be the value that the schema names",
    "enum": "must be one of the values that the schema lists",
    "exclusiveMaximum": "must be below {}",
    "exclusiveMinimum": "must be above {}",
    "format": "is not in the format {}",
    "maxItems": "must have at most {} items",
    "maxLength": "must have at most {} characters",
    "maximum": "must be at most {}",
    "minItems": "must have at least {} items",
    "minLength": "must have at least {} characters",
    "minimum": "must be at least {}",
    "multipleOf": "must be a multiple of {}",
    "pattern": "does not match the schema's pattern",
    "uniqueItems": "must not hold a value twice",
}


def _decide(
    keyword: str, _: object, rule: Any, instance: Any, __: object
) -> Iterator[ValidationError]:
    # Python's own regular expressions may take for ever, formats need packages, and
    # floats round: what decided is asked, so that both say the same.
    try:
        fine = _judge(keyword, json.dumps(rule)).is_valid(instance)
    except (TypeError, ValueError):
        fine = False
    if not fine:
        yield ValidationError(keyword)


@functools.lru_cache(maxsize=256)
def _judge(keyword: str, rule: str) -> jsonschema_rs.Draft202012Validator:
    return jsonschema_rs.Draft202012Validator({keyword: json.loads(rule)}, validate_formats=True)


_Explainer: Any = jsonschema.validators.extend(  # type: ignore[no-untyped-call]
    jsonschema.Draft202012Validator,
    {name: functools.partial(_decide, name) for name in ("format", "multipleOf", "pattern")},
)


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
        found = _Explainer(dict(schema)).iter_errors(value)
        errors = [leaf for error in found for leaf in leaves(error)]
        # Of the schema `false`, jsonschema does not say where it stands.
        errors = [error for error in errors if error.validator is not None]
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
        name = missing_field(error)
        return 1, name, place, _cut(f'{place}: the field "{name}" is required', TEXT_LIMIT)
    return 2, "", place, _cut(f"{place}: {_rule(error)}{_hint(error)}", TEXT_LIMIT)


def _rule(error: ValidationError) -> str:
    keyword = str(error.validator)
    rule: Any = error.validator_value
    if keyword == "type":
        return f"must be {_listed([rule] if isinstance(rule, str) else rule)}"
    if keyword in {"anyOf", "oneOf"}:
        return _union_rule(error)
    if keyword in _RULES:
        return _RULES[keyword].format(rule)
    return f"does not meet the schema's {keyword}"


def _union_rule(error: ValidationError) -> str:
    if not error.context:
        return "fits several kinds that the schema lists; make it fit one"
    if any(inner.relative_path or inner.validator != "type" for inner in error.context):
        return "fits none of the kinds that the schema lists"
    branches: Any = error.validator_value
    kinds = [branch.get("type") for branch in branches]
    if not all(isinstance(kind, str) for kind in kinds):
        return "fits none of the kinds that the schema lists"
    return f"must be {_listed([*dict.fromkeys(kinds)])}"


def _listed(kinds: Sequence[str]) -> str:
    *most, last = (_KINDS[kind] for kind in kinds)
    return f"{', '.join(most)} or {last}" if most else last


def _hint(error: ValidationError) -> str:
    schemas = [error.schema]
    if error.parent is not None and not error.relative_path:  # all of a union's branch
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
