"""How Codex is held to a schema for its answer."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from ....messages.options import OutputSchema
from ...profiles.clone import Clone
from ...profiles.given import lay_text
from ..wording import asking_for

__all__ = ["is_strict", "output_arguments", "worded"]

_KEPT = frozenset(
    {
        "$defs",
        "$ref",
        "additionalProperties",
        "anyOf",
        "const",
        "description",
        "enum",
        "exclusiveMaximum",
        "exclusiveMinimum",
        "items",
        "maxItems",
        "maximum",
        "minItems",
        "minimum",
        "properties",
        "required",
        "title",
        "type",
    }
)


def output_arguments(clone: Clone, output: OutputSchema | None) -> list[str]:
    """Return the arguments that give a schema, where its model takes it.

    Raises:
        ProfileError: The file can't be written.
    """
    if output is None or not is_strict(output.schema):
        return []
    path = lay_text(clone, "schema.json", json.dumps(dict(output.schema)))
    return ["--output-schema", str(path)]


def worded(prompt: str, output: OutputSchema | None) -> str:
    """Return a prompt that asks for what can't be given as a schema."""
    if output is None or is_strict(output.schema):
        return prompt
    return asking_for(output, prompt)


def is_strict(schema: Any) -> bool:
    """Tell whether a schema is one that OpenAI's models can be held to.

    Each object has to require all of its properties and allow no others. Their
    server refuses a request with any other schema.
    """
    if not isinstance(schema, Mapping):
        return False
    if not schema.keys() <= _KEPT:
        return False
    named = schema.get("properties", {})
    if "properties" in schema or schema.get("type") == "object":
        required = schema.get("required", [])
        if schema.get("additionalProperties") is not False or set(named) != set(required):
            return False
    inner = [*named.values(), *schema.get("$defs", {}).values(), *schema.get("anyOf", [])]
    return all(is_strict(part) for part in [*inner, *_items(schema)])


def _items(schema: Mapping[str, Any]) -> list[Any]:
    return [schema["items"]] if "items" in schema else []
