"""Whether two schemas of ours can mean the same value."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

__all__ = ["Overlap"]

_Schema = Mapping[str, Any]
_Values = frozenset[tuple[type, Any]]

_ALL = frozenset({"string", "integer", "number", "boolean", "null", "object", "array"})
# No text is two of these.
_FORMATS = frozenset({"date", "date-time", "time", "uuid"})
_DEPTH = 8


class Overlap:
    """Compares schemas.

    Args:
        definitions: What references mean.
    """

    def __init__(self, definitions: Mapping[str, _Schema]) -> None:
        self._definitions = definitions

    def types(self, schema: _Schema) -> frozenset[str] | None:
        """Return the JSON types that a schema takes; ``None`` if it only means itself."""
        leaves = list(self._leaves(schema, frozenset()))
        if None in leaves:
            return None
        return frozenset(name for leaf in leaves if leaf is not None for name in _types(leaf))

    def tag(self, one: _Schema, other: _Schema) -> tuple[str, _Values, _Values] | None:
        """Return a field whose literals differ, with its values in both."""
        first, second = self._only(one), self._only(other)
        if first is None or second is None:
            return None
        properties = second.get("properties", {})
        for name, schema in first.get("properties", {}).items():
            here, there = _literals(schema), _literals(properties.get(name, {}))
            if here and there and not here & there:
                return name, here, there
        return None

    def apart(self, one: _Schema, other: _Schema, depth: int = 0) -> bool:
        """Tell whether no value fits both, but for an empty array or dict."""
        if depth > _DEPTH:
            return False
        return all(
            self._leaves_apart(first, second, depth)
            for first in self._leaves(one, frozenset())
            for second in self._leaves(other, frozenset())
            if first is not None and second is not None
        )

    def _only(self, schema: _Schema) -> _Schema | None:
        leaves = list(self._leaves(schema, frozenset()))
        return leaves[0] if len(leaves) == 1 else None

    def _leaves(self, schema: _Schema, seen: frozenset[str]) -> Iterator[_Schema | None]:
        if "$ref" in schema:
            name = schema["$ref"].rpartition("/")[2]
            if name in seen:
                yield None
            else:
                yield from self._leaves(self._definitions[name], seen | {name})
        elif "anyOf" in schema:
            for branch in schema["anyOf"]:
                yield from self._leaves(branch, seen)
        else:
            yield schema

    def _leaves_apart(self, one: _Schema, other: _Schema, depth: int) -> bool:
        shared = _types(one) & _types(other)
        if not shared:
            return True
        here, there = _literals(one), _literals(other)
        if here and there and not here & there:
            return True
        if shared == {"object"}:
            return self._objects_apart(one, other, depth)
        if shared == {"array"}:
            return self.apart(one.get("items", {}), other.get("items", {}), depth + 1)
        formats = {one.get("format"), other.get("format")}
        return len(formats & _FORMATS) == 2

    def _objects_apart(self, one: _Schema, other: _Schema, depth: int) -> bool:
        if _lacks(one, other) or _lacks(other, one):
            return True
        mine, yours = one.get("properties", {}), other.get("properties", {})
        if not mine and not yours:
            rest, others = one.get("additionalProperties"), other.get("additionalProperties")
            return self.apart(rest or {}, others or {}, depth + 1)
        # A value for both has what either requires.
        either = {*one.get("required", ()), *other.get("required", ())}
        return any(
            self.apart(mine[name], yours[name], depth + 1)
            for name in sorted(either)
            if name in mine and name in yours
        )


def _types(schema: _Schema) -> frozenset[str]:
    name = schema.get("type")
    if name is None:
        return _ALL
    names = frozenset([name] if isinstance(name, str) else name)
    return names | {"integer"} if "number" in names else names


def _literals(schema: _Schema) -> _Values:
    return frozenset((type(value), value) for value in schema.get("enum", ()))


def _lacks(one: _Schema, other: _Schema) -> bool:
    """Tell whether one refuses a field that the other requires."""
    if one.get("additionalProperties") is not False:
        return False
    return bool(set(other.get("required", ())) - one.get("properties", {}).keys())
