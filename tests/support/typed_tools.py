"""Tools of one type, made from the type alone."""

from __future__ import annotations

import json
from typing import Any

from toolcrib import tool


def taking(kind: Any, seen: list[Any] | None = None) -> tool.Tool:
    """Make a tool with one parameter among others, so that no record takes its place."""

    def handler(value: Any, other: int = 1) -> None:
        if seen is not None:
            seen.append(value)

    handler.__annotations__["value"] = kind
    return tool.define("taking", "Takes a value.", handler)


def giving(kind: Any, value: Any = None) -> tool.Tool:
    """Make a tool that returns the value."""

    def handler() -> Any:
        return value

    handler.__annotations__["return"] = kind
    return tool.define("giving", "Gives a value.", handler)


def schema_of(kind: Any) -> dict[str, Any]:
    """Return the schema that a type has as a parameter."""
    schema: dict[str, Any] = taking(kind).input_schema["properties"]["value"]
    return schema


def loaded(kind: Any, plain: Any) -> Any:
    """Return what a handler gets of JSON."""
    seen: list[Any] = []
    taking(kind, seen).invoke({"value": plain})
    return seen[0]


def dumped(kind: Any, value: Any) -> Any:
    """Return the JSON of what a handler returns."""
    return json.loads(json.dumps(giving(kind, value).invoke({})))
