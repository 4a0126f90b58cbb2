"""The part of JSON Schema that every provider's model really sees.

What the real command lines did with each keyword is told by `providers`, and
held by the tests with real providers.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from typing import Any, NoReturn

from ...errors import DefinitionError
from .keywords import ANY_TYPE, COMBINATORS, IN_PLACE, mapped

__all__ = ["check_names", "portable", "root_fault"]

# Claude Code drops a tool with another name among its arguments, and JavaScript
# loses this one.
_NAME = re.compile(r"[A-Za-z0-9_.-]{1,64}")
_LOST_NAME = "__proto__"

# Where nothing more is asked, the keyword says nothing.
_SILENT_IF_TRUE = frozenset(
    {
        "additionalProperties",
        "contentSchema",
        "else",
        "items",
        "propertyNames",
        "then",
        "unevaluatedItems",
        "unevaluatedProperties",
    }
)
_INSTEAD_OF_FALSE = {
    "items": "write maxItems",
    "unevaluatedItems": "write maxItems",
    "unevaluatedProperties": "write additionalProperties",
}
_TYPED = frozenset({"type", "$ref", "anyOf", "oneOf", "allOf"})
_LEAVE_OUT: Any = object()


def portable(schema: Any, tool: str, option: str) -> Any:
    """Return the same schema without booleans and empty schemas, and with types.

    Args:
        schema: The schema, with references written out.
        tool: The tool's name, for messages.
        option: Which option it was given as, for messages.

    Raises:
        DefinitionError: A part of it allows nothing at all.
    """

    def change(inner: Any, keyword: str, place: str, types: Any) -> Any:
        if inner is False:
            if keyword == "additionalProperties":
                return False
            advice = _INSTEAD_OF_FALSE.get(keyword, "leave it out")
            _refuse(tool, f"{option}{place}", f"false allows nothing; {advice}")
        if inner is True or inner == {}:
            return _LEAVE_OUT if keyword in _SILENT_IF_TRUE else {"type": types or [*ANY_TYPE]}
        return inside(inner, place, types)

    def inside(inner: Mapping[str, Any], place: str, types: Any) -> dict[str, Any]:
        own = inner.get("type", types)
        kept = mapped(
            inner,
            place,
            lambda part, keyword, here: change(
                part, keyword, here, own if keyword in IN_PLACE else None
            ),
        )
        found = {keyword: value for keyword, value in kept.items() if value is not _LEAVE_OUT}
        return found if found.keys() & _TYPED else {"type": own or _types(found), **found}

    return change(schema, "", "", None)


def _types(schema: Mapping[str, Any]) -> Any:
    """Return the types that a schema without one allows."""
    if "enum" in schema:
        values = schema["enum"]
    elif "const" in schema:
        values = [schema["const"]]
    else:
        return [*ANY_TYPE]
    types = list(dict.fromkeys(map(_type_of, values)))
    if "number" in types and "integer" in types:
        types.remove("integer")
    return types[0] if len(types) == 1 else types


def _type_of(value: Any) -> str:
    if value is None:
        return "null"
    if isinstance(value, bool):
        return "boolean"
    if isinstance(value, int):
        return "integer"
    return {float: "number", str: "string", list: "array", dict: "object"}[type(value)]


def root_fault(schema: Any) -> str | None:
    """Return why a schema can't be the root of a document, ``None`` where it can."""
    if not isinstance(schema, Mapping) or schema.get("type") != "object":
        return 'must have `"type": "object"` at its root; put other values into a property'
    for keyword in COMBINATORS:
        if keyword in schema:
            return f"has {keyword} at its root, where providers lose it; put it into a property"
    return None


def check_names(schema: Mapping[str, Any], tool: str) -> None:
    """Refuse arguments with names that some provider does not take.

    Raises:
        DefinitionError: The name of an argument, which is its parameter.
    """
    for name in schema.get("properties", ()):
        if not _NAME.fullmatch(name):
            msg = (
                f"{name!r:.80} can't be an argument's name for every provider; "
                "use 1 to 64 of A-Z, a-z, 0-9, _, - and ."
            )
            raise DefinitionError(msg, tool=tool, parameter=name)
    for name in _property_names(schema):
        if name == _LOST_NAME:
            msg = f"{_LOST_NAME} is lost by providers; use another name"
            raise DefinitionError(msg, tool=tool, parameter=name)


def _property_names(schema: Any) -> Iterable[str]:
    found: list[str] = []

    def look(inner: Any, _keyword: str, _place: str) -> Any:
        if isinstance(inner, Mapping):
            found.extend(inner.get("properties", ()))
            mapped(inner, "", look)
        return inner

    look(schema, "", "")
    return found


def _refuse(tool: str, place: str, reason: str) -> NoReturn:
    raise DefinitionError(reason, tool=tool, parameter=place)
