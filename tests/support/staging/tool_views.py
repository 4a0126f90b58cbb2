"""What one real provider offers its model, beside what `Tool.wire_schema` says of it.

Reads which provider, its command and a folder as JSON from standard input, and
writes both sides to standard output. Runs in a network of loopback only.
"""

from __future__ import annotations

import json
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any, Literal

from staging.stage import enter_loopback

import toolcrib
from toolcrib import Agent, tool
from toolcrib.testing import ModelServer, Say

_DRIVERS: dict[str, Any] = {
    "codex": toolcrib.Codex,
    "claude": toolcrib.Claude,
    "codebuddy": toolcrib.CodeBuddy,
}
_TEXT = {"type": "string"}
_UNION = {"anyOf": [_TEXT, {"type": "null"}]}


@dataclass
class Node:
    """A node.

    Args:
        name: Its name.
        kids: Those below it.
    """

    name: str
    kids: list[Node]
    mode: Literal["a", "b"] = "a"


def typed(
    node: Node,
    count: Annotated[int, "How many."] = 3,
    names: dict[str, int | None] | None = None,
) -> list[Node]:
    """Take typed arguments.

    Args:
        node: The node to start from.
    """
    return [node] * count


def take(arguments: dict[str, Any]) -> Any:
    """Take anything."""
    return arguments


def _object(**properties: Any) -> dict[str, Any]:
    return {"type": "object", "properties": properties, "additionalProperties": False}


def _wide(count: int, **more: Any) -> dict[str, Any]:
    return _object(**{f"field_{number}": _TEXT for number in range(count)}, **more)


def _nested(levels: int) -> dict[str, Any]:
    schema: dict[str, Any] = {"type": "array", "items": _object(x=_UNION)}
    for level in range(levels):
        schema = _object(**{f"level_{level}": schema})
    return schema


_NODE = {"type": "object", "properties": {"kids": {"type": "array", "items": {"$ref": "#"}}}}
_SCHEMAS: dict[str, dict[str, Any]] = {
    "texts": _object(
        a={**_TEXT, "minLength": 1, "pattern": "^a", "format": "date-time", "title": "T"},
        b={**_TEXT, "contentEncoding": "base64", "default": "x", "examples": ["y"]},
        c={**_TEXT, "description": "Described.", "deprecated": True},
    )
    | {"title": "Root", "description": "Of the root.", "required": ["a"]},
    "numbers": _object(
        a={"type": "integer", "minimum": 0, "exclusiveMaximum": 5, "multipleOf": 2},
        b={"type": "integer", "maximum": 12345678901234567890},
        c={"type": "number", "default": 0.5},
    ),
    "arrays": _object(
        a={"type": "array", "items": _TEXT, "minItems": 1, "maxItems": 2, "uniqueItems": True},
        b={"type": "array", "prefixItems": [_TEXT, {"type": "integer"}], "minItems": 2},
        c={"type": "array"},
        d={"type": "array", "items": {"type": "integer"}, "contains": {"const": 1}},
    ),
    "choices": _object(
        a={"enum": ["x", "y"]}, b={"enum": ["x", 1, None]}, c={"const": "x"}, d={"const": True}
    ),
    "anything": _object(a=True, b={}, c={"description": "D"}, d={"minimum": 1}),
    "unions": _object(
        a={**_UNION, "description": "D"},
        b={"oneOf": [_TEXT, {"type": "integer"}]},
        c={"allOf": [{"type": "object", "properties": {"x": _TEXT}}]},
        d={"type": "string", "not": {"const": "x"}},
        e={"type": ["string", "integer"], "if": {"type": "string"}, "then": {"minLength": 1}},
        f={"anyOf": [_object(k={"const": "a"}), _object(k={"const": "b"})]},
        g={"type": "object", "properties": {"x": _TEXT}, "anyOf": [{"required": ["x"]}]},
    ),
    "objects": _object(
        a={"type": "object", "additionalProperties": {"type": "integer"}},
        b={"type": "object"},
        c={"type": "object", "properties": {"x": _TEXT}, "minProperties": 1},
        d={"type": "object", "patternProperties": {"^a": _TEXT}},
        e={"type": "object", "propertyNames": {"pattern": "^a"}},
        f={"type": "object", "properties": {"x": _TEXT}, "dependentRequired": {"x": ["y"]}},
        **{"g-1.x": _TEXT},
    ),
    "open-root": {"type": "object", "minProperties": 1, "dependentRequired": {"a": ["b"]}},
    "map_root": {"type": "object", "additionalProperties": {"type": "integer"}},
    "recursive": {
        **_object(
            n={"$ref": "#/$defs/Node"}, m={"$ref": "#/$defs/Node", "description": "Beside."}
        ),
        "$defs": {"Node": {**_NODE, "properties": {"kids": {"$ref": "#/$defs/Kids"}}}}
        | {"Kids": {"type": "array", "items": {"$ref": "#/$defs/Node"}, "maxItems": 9}},
    },
    "recursive_root": _NODE,
    "deep": _nested(12),
    "x" * 48: _object(a=_TEXT),
    # Codex takes one thing after the other away above 5,000 bytes.
    "long_title": _object(a={**_TEXT, "title": "t" * 6_000, "description": "Stays."}),
    "long_text": _object(a={**_TEXT, "description": "é" * 2_700}, b=_UNION, c=_nested(4)),
    "wide": _wide(157, union=_UNION, deep=_nested(4)),
    "wider": {**_wide(170, union=_UNION, node={"$ref": "#/$defs/Node"}, deep=_nested(3))}
    | {"$defs": {"Node": _object(kids={"type": "array", "items": {"$ref": "#/$defs/Node"}})}},
}


def _tools() -> list[tool.Tool]:
    described = tool.define(
        "described", "d" * 4000, take, input_schema=_object(), output_schema=True
    )
    plain = tool.define("typed", "Typed.", typed, title="T", read_only=True, revision="v1")
    return [plain, described] + [
        tool.define(name, f"About {name}.", take, input_schema=schema, output_schema=True)
        for name, schema in _SCHEMAS.items()
    ]


def main() -> None:
    order = json.load(sys.stdin)
    enter_loopback()
    provider, folder = order["provider"], Path(order["folder"])
    (folder / "workspace").mkdir()
    tools = _tools()
    with ModelServer([Say("Seen.")]) as server:
        setup = getattr(server, f"{provider}_profile")(folder / "source")
        driver = _DRIVERS[provider](
            profile=setup.profile,
            model=setup.model,
            environment=setup.environment,
            command=order["command"],
        )
        with Agent(driver, tools=tools, workspace=folder / "workspace") as agent:
            agent.run("hello")
    offered = {
        one.full_name: {"description": one.description, "schema": one.schema}
        for request in server.requests
        for one in request.tools
        if "toolcrib" in one.full_name
    }
    views = [one.wire_schema(provider) for one in tools]
    expected = {
        view.name: {"description": view.description, "schema": view.schema} for view in views
    }
    json.dump({"offered": offered, "expected": expected}, sys.stdout)


if __name__ == "__main__":
    main()
