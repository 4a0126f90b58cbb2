"""Unions: each JSON value fits one member only, which is seen to at definition.

Members are told apart by their JSON types, by a field with different literals
(a tag), or by fields that only one of them has. Two members that can be the
same JSON are refused, unless both stay as they are, as in ``int | float``.
"""

from __future__ import annotations

import itertools
import types
import typing
from collections.abc import Mapping
from typing import Any

from typing_inspection import typing_objects

from ..shape import Builder, Misfit, Shape, type_name
from .overlap import Overlap

__all__ = ["or_null", "union_value"]


def union_value(annotation: Any, builder: Builder, where: str) -> Shape | None:
    """Convert unions; see `shape.Converter`."""
    origin = typing.get_origin(annotation)
    if origin is not types.UnionType and not typing_objects.is_union(origin):
        return None
    kinds = typing.get_args(annotation)
    others = [kind for kind in kinds if kind is not types.NoneType]
    if len(others) == 1:
        return or_null(builder.shape(others[0], where))
    members = [builder.shape(kind, where) for kind in kinds]
    union = _Union(members, [type_name(kind) for kind in kinds])
    builder.later(lambda: union.settle(builder, where))
    return Shape(
        {"anyOf": union.branches},
        load=union.load,
        dump=union.dump,
        size=1 + sum(one.size for one in members),
        kinds=tuple(kind for one in members for kind in one.kinds),
        plain=all(one.plain for one in members),
    )


def or_null(inner: Shape) -> Shape:
    """Return the shape of a type or None."""
    load, dump = inner.load, inner.dump
    return Shape(
        {"anyOf": [inner.schema, {"type": "null"}]},
        load=lambda value: None if value is None else load(value),
        dump=lambda value: None if value is None else dump(value),
        size=inner.size + 2,
        kinds=(*inner.kinds, types.NoneType),
        plain=inner.plain,
    )


class _Union:
    """Finds the member that a value is for."""

    def __init__(self, members: list[Shape], names: list[str]) -> None:
        self.branches: list[Mapping[str, Any]] = [one.schema for one in members]
        self._members = members
        self._names = names
        self._by_type: dict[str, list[int]] = {}
        self._tags: list[dict[str, frozenset[Any]]] = [{} for _ in members]

    def settle(self, builder: Builder, where: str) -> None:
        """Find out how to tell the members apart, as all definitions are known now."""
        overlap = Overlap(builder.definitions)
        self._sort_by_type(overlap, builder, where)
        for first, second in itertools.combinations(range(len(self._members)), 2):
            self._part(first, second, overlap, builder, where)
        for number, tags in enumerate(self._tags):
            required = builder.resolved(self.branches[number]).get("required", [])
            missing = [name for name in tags if name not in required]
            if missing:
                with_tags = {**self.branches[number], "required": [*required, *missing]}
                self.branches[number] = with_tags

    def load(self, value: Any) -> Any:
        """Make the Python value of JSON."""
        right_type = self._by_type.get(_json_type(value), ())
        fitting = [number for number in right_type if self._is_tagged(number, value)]
        if len(fitting) == 1:
            return self._members[fitting[0]].load(value)
        for number in fitting:
            try:
                return self._members[number].load(value)
            except Misfit:
                continue
        msg = "fits none of the alternatives that the schema lists"
        raise Misfit(msg)

    def dump(self, value: Any) -> Any:
        """Make JSON of a Python value: by its own class first, in order else."""
        kind = type(value)
        exact = [one for one in self._members if kind in one.kinds]
        if len(exact) == 1:
            return exact[0].dump(value)
        for one in exact or self._members:
            try:
                return one.dump(value)
            except Misfit:
                continue
        msg = f"is none of {', '.join(self._names)} but of type {kind.__name__}"
        raise Misfit(msg)

    def _sort_by_type(self, overlap: Overlap, builder: Builder, where: str) -> None:
        fractions = set()
        for number, schema in enumerate(self.branches):
            json_types = overlap.types(schema)
            if json_types is None:
                msg = f"{self._names[number]} means itself; put a list or a field between"
                raise builder.refused(where, msg)
            for name in json_types:
                self._by_type.setdefault(name, []).append(number)
            if "number" in json_types:
                fractions.add(number)
        # Whole numbers stay whole, wherever `int` stands.
        self._by_type.get("integer", []).sort(key=fractions.__contains__)

    def _part(
        self, first: int, second: int, overlap: Overlap, builder: Builder, where: str
    ) -> None:
        one, other = self.branches[first], self.branches[second]
        tag = overlap.tag(one, other)
        if tag is not None:
            name, *values = tag
            for number, allowed in zip((first, second), values, strict=True):
                known = self._tags[number].get(name, allowed)
                self._tags[number][name] = known & allowed
        elif not overlap.apart(one, other) and not (
            self._members[first].plain and self._members[second].plain
        ):
            msg = (
                f"{self._names[first]} and {self._names[second]} can be the same JSON; tell them "
                "apart by a Literal field, or keep one of them"
            )
            raise builder.refused(where, msg)

    def _is_tagged(self, number: int, value: Any) -> bool:
        return all(
            _literal(value.get(name)) in allowed for name, allowed in self._tags[number].items()
        )


def _json_type(value: Any) -> str:
    if value is None:
        return "null"
    if isinstance(value, bool):
        return "boolean"
    if isinstance(value, int) or (isinstance(value, float) and value.is_integer()):
        return "integer"
    known = {float: "number", str: "string", dict: "object", list: "array", tuple: "array"}
    return next((name for kind, name in known.items() if isinstance(value, kind)), "")


def _literal(value: Any) -> Any:
    if isinstance(value, float) and value.is_integer():
        value = int(value)
    return (type(value), value) if isinstance(value, str | int) else None
