"""A schema that another library made, in the subset that every provider keeps."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from ..records import with_default
from ..shape import Builder, Shape, described, noted
from .schemas import fixed_array, schema_only

__all__ = ["Foreign"]

_Json = Mapping[str, Any]

_KEPT = (
    "type",
    "enum",
    "minimum",
    "maximum",
    "exclusiveMinimum",
    "exclusiveMaximum",
    "multipleOf",
    "minLength",
    "maxLength",
    "pattern",
    "minItems",
    "maxItems",
    "uniqueItems",
    "minProperties",
    "maxProperties",
    "contentEncoding",
    "examples",
)
_WORDS = {
    "minimum": "At least",
    "exclusiveMinimum": "Above",
    "maximum": "At most",
    "exclusiveMaximum": "Below",
    "multipleOf": "A multiple of",
    "minLength": "Length at least",
    "maxLength": "Length at most",
    "minItems": "Items at least",
    "maxItems": "Items at most",
    "pattern": "Matches",
    "format": "Format",
}
# Others are words only: theirs of "duration" has no fractions, of "binary" no meaning.
_FORMATS = {"date-time", "date", "time", "uuid", "email", "ipv4", "ipv6", "uri"}
_TYPES = {str: "string", bool: "boolean", int: "integer", float: "number", type(None): "null"}


class Foreign:
    """Rewrites the schema of one class.

    Args:
        builder: Whose type it is.
        owner: The class.
        definitions: What the schema's references mean.
        where: The parameter or field, for messages.
    """

    def __init__(
        self, builder: Builder, owner: type, definitions: Mapping[str, _Json], where: str
    ) -> None:
        self._builder = builder
        self._owner = owner
        self._definitions = definitions
        self._where = where

    def shape(self, schema: Any, name: str = "") -> Shape:
        """Return a schema rewritten, as a shape that converts nothing.

        Raises:
            DefinitionError: It says nothing of the value, or too much.
        """
        if not isinstance(schema, dict) or not schema.keys() - {"title", "default", "description"}:
            msg = f"{self._named(name)} says nothing about the value; give it a type"
            raise self._builder.refused(self._where, msg)
        shape = self._bare(schema, name)
        words = [
            f"{_WORDS[one]}: {schema[one]}."
            if one in {"pattern", "format"}
            else f"{_WORDS[one]} {schema[one]}."
            for one in _WORDS
            if one in schema and "prefixItems" not in schema
        ]
        if words:
            shape = noted(shape, *words)
        if schema.get("description"):
            shape = described(shape, schema["description"])
        if "default" in schema and self._builder.direction == "input":
            shape = with_default(shape, schema["default"])
        return shape

    def _bare(self, schema: _Json, name: str) -> Shape:
        if "$ref" in schema:
            return self._reference(schema["$ref"].rpartition("/")[2])
        if "anyOf" in schema or "oneOf" in schema:
            return self._union(schema, name)
        if "allOf" in schema and len(schema["allOf"]) == 1:
            return self.shape(schema["allOf"][0], name)
        if "const" in schema:
            return self._enum([schema["const"]], name)
        if "enum" in schema:
            return self._enum(schema["enum"], name)
        if not isinstance(schema.get("type"), str):
            msg = f"{self._named(name)} has a schema that providers do not keep; use plainer types"
            raise self._builder.refused(self._where, msg)
        return self._typed(schema, name)

    def _reference(self, name: str) -> Shape:
        definition = self._definitions[name]
        plain = definition.get("title", name)
        return self._builder.named(
            (self._owner, name), plain, lambda: self.shape(definition, plain)
        )

    def _union(self, schema: _Json, name: str) -> Shape:
        branches = [self.shape(one, name) for one in schema.get("anyOf") or schema["oneOf"]]
        tag = schema.get("discriminator", {}).get("propertyName")
        schemas = [_with_required(one.schema, tag) if tag else one.schema for one in branches]
        return schema_only({"anyOf": schemas}, 1 + sum(one.size for one in branches))

    def _enum(self, values: list[Any], name: str) -> Shape:
        by_type: dict[str, list[Any]] = {}
        for value in values:
            if type(value) not in _TYPES:
                msg = f"{self._named(name)} has a literal that is neither text nor number"
                raise self._builder.refused(self._where, msg)
            by_type.setdefault(_TYPES[type(value)], []).append(value)
        branches = [
            {"type": kind, **({} if kind == "null" else {"enum": found})}
            for kind, found in by_type.items()
        ]
        schema = branches[0] if len(branches) == 1 else {"anyOf": branches}
        return schema_only(schema, len(branches))

    def _typed(self, schema: _Json, name: str) -> Shape:
        kept = {one: schema[one] for one in _KEPT if one in schema}
        if schema.get("format") in _FORMATS:
            kept["format"] = schema["format"]
        parts: list[Shape] = []
        notes: list[str] = []
        if schema["type"] == "array":
            items, notes = self._items(schema, name, parts)
            kept["items"] = items
        if schema["type"] == "object":
            kept |= self._members(schema, name, parts)
        size = 1 + sum(part.size for part in parts)
        return noted(schema_only(kept, size), *notes)

    def _items(self, schema: _Json, name: str, parts: list[Shape]) -> tuple[Any, list[str]]:
        if "prefixItems" not in schema:
            parts.append(self.shape(schema.get("items"), f"{name}[]"))
            return parts[0].schema, []
        parts += [self.shape(one, f"{name}[]") for one in schema["prefixItems"]]
        array = fixed_array(parts)
        return array.schema["items"], [*array.notes]

    def _members(self, schema: _Json, name: str, parts: list[Shape]) -> dict[str, Any]:
        found: dict[str, Any] = {}
        if "properties" in schema:
            members = {
                one: self.shape(part, f"{name}.{one}")
                for one, part in schema["properties"].items()
            }
            parts += members.values()
            found["properties"] = {one: part.schema for one, part in members.items()}
        if schema.get("required"):
            found["required"] = list(schema["required"])
        rest = schema.get("additionalProperties")
        for pattern in schema.get("patternProperties", {}).values():
            rest = pattern
        if rest is False:
            found["additionalProperties"] = False
        elif isinstance(rest, dict) and rest:
            parts.append(self.shape(rest, f"{name}{{}}"))
            found["additionalProperties"] = parts[-1].schema
        return found

    def _named(self, name: str) -> str:
        return name.lstrip(".") or self._owner.__name__


def _with_required(schema: _Json, tag: str) -> _Json:
    required = schema.get("required", [])
    if "$ref" not in schema and tag in required:
        return schema
    return {**schema, "required": [*required, *([] if tag in required else [tag])]}
