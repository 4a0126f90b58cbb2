"""Schemas that a host gives in place of inferred ones."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from ...errors import DefinitionError
from .extent import is_too_deep
from .portable import portable, root_fault
from .references import check_references, written_out
from .validation import Validator

__all__ = ["Overrides", "input_override", "output_override", "wrapped_schema"]

Typed = Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class Overrides:
    """What a host gives in place of inferred schemas, as plain values of ours."""

    input: Any = None
    """The schema of the arguments, ``None`` to infer it."""
    output: Any = None
    """The schema of the result, ``None`` to infer it."""


class _BothValidator(Validator):
    """Judges by the schema that the model sees, then by the one of the types."""

    def __init__(self, shown: Mapping[str, Any], typed: Typed) -> None:
        super().__init__(shown)
        self._typed = Validator(typed)

    def fits(self, value: object) -> bool:
        return super().fits(value) and self._typed.fits(value)

    def explain(self, value: object) -> str:
        if not is_too_deep(value) and super().fits(value):
            return self._typed.explain(value)
        return super().explain(value)


def input_override(document: Any, typed: Typed, tool: str) -> tuple[dict[str, Any], Validator]:
    """Return the schema to show for the arguments, and what judges them.

    Args:
        document: What the host gave.
        typed: The schema that the handler's types have.
        tool: The tool's name, for messages.

    Raises:
        DefinitionError: It is not portable, or contradicts the types.
    """
    option = "input_schema"
    schema = _checked(document, tool, option)
    fault = root_fault(schema)
    if fault:
        raise DefinitionError(fault, tool=tool, parameter=option)
    _check_arguments(schema, typed, tool)
    return schema, _BothValidator(schema, typed)


def output_override(
    document: Any, typed: Callable[[bool], Typed], tool: str
) -> tuple[dict[str, Any], bool, Validator]:
    """Return the schema to show for the result, whether it is wrapped, and the judge.

    Args:
        document: What the host gave.
        typed: Makes the schema that the handler's type has, wrapped or not.
        tool: The tool's name, for messages.

    Raises:
        DefinitionError: It is not portable, or contradicts the type.
    """
    option = "output_schema"
    schema = _checked(document, tool, option)
    wrapped = root_fault(schema) is not None
    if wrapped:
        schema = wrapped_schema(schema)
    kind = typed(False).get("type", "object")
    if not wrapped and kind != "object" and "object" not in kind:
        msg = f"describes an object, but the handler's type is {kind}; change one of them"
        raise DefinitionError(msg, tool=tool, parameter=option)
    return schema, wrapped, _BothValidator(schema, typed(wrapped))


def wrapped_schema(schema: Mapping[str, Any]) -> dict[str, Any]:
    """Return the schema of an object that has the value under ``result``."""
    inner = {keyword: value for keyword, value in schema.items() if keyword != "$defs"}
    # Clients of several revisions drop tools whose output is not an object.
    return {
        "type": "object",
        "properties": {"result": inner},
        "required": ["result"],
        "additionalProperties": False,
        **({"$defs": schema["$defs"]} if "$defs" in schema else {}),
    }


def _checked(document: Any, tool: str, option: str) -> Any:
    check_references(document, tool, option)
    _check_standard(document, tool, option)
    schema = portable(written_out(document, tool, option), tool, option)
    _check_standard(schema, tool, option)
    return schema


def _check_standard(schema: Any, tool: str, option: str) -> None:
    """Refuse what the meta-schema refuses, and patterns that can't be used."""
    import jsonschema_rs

    try:
        jsonschema_rs.Draft202012Validator(schema, validate_formats=True)
    except (jsonschema_rs.ValidationError, ValueError) as error:
        place = "".join(f"/{part}" for part in getattr(error, "instance_path", ()))
        said = getattr(error, "message", str(error))
        msg = f"is not a JSON Schema of draft 2020-12: {said:.200}"
        raise DefinitionError(msg, tool=tool, parameter=f"{option}{place}") from error


def _check_arguments(schema: Mapping[str, Any], typed: Typed, tool: str) -> None:
    """Refuse names that only the schema or only the handler has."""
    described = schema.get("properties", {}).keys()
    taken = typed.get("properties", {}).keys()
    unknown = sorted(described - taken) if typed.get("additionalProperties") is False else []
    if unknown:
        msg = f"describes {unknown[0]!r:.80}, which the handler does not take; remove one"
        raise DefinitionError(msg, tool=tool, parameter="input_schema")
    for name in typed.get("required", ()):
        if name not in described:
            msg = f"does not describe {name!r:.80}, which the handler requires; add it"
            raise DefinitionError(msg, tool=tool, parameter="input_schema")
