"""Enum and Literal: one of some values."""

from __future__ import annotations

import enum
import types
import typing
from collections.abc import Iterable
from typing import Any

from ..shape import Builder, Misfit, Shape, type_name, wrong_type
from .scalars import SCALARS

__all__ = ["enum_value", "literal_value"]

_ORDER = (str, int, bool, types.NoneType)


def enum_value(annotation: Any, builder: Builder, where: str) -> Shape | None:
    """Convert Enums of str or of int values; see `shape.Converter`."""
    if not (isinstance(annotation, type) and issubclass(annotation, enum.Enum)):
        return None
    if issubclass(annotation, enum.Flag):
        msg = f"{annotation.__name__} is a Flag; take a list of an Enum instead"
        raise builder.refused(where, msg)
    members = {member.value: member for member in annotation}
    # Some providers know enumerations of one type only.
    if {type(value) for value in members} not in ({str}, {int}):
        msg = (
            f"Enum {annotation.__name__} must have str values only or int values only, "
            "at least one"
        )
        raise builder.refused(where, msg)

    def dump(value: Any) -> Any:
        if not isinstance(value, annotation):
            wrong_type(f"a {annotation.__name__}", value)
        return value.value

    return _choice({_key(plain): member for plain, member in members.items()}, dump, annotation)


def literal_value(annotation: Any, builder: Builder, where: str) -> Shape | None:
    """Convert Literals of str, int, bool, None and Enum members; see `shape.Converter`."""
    if typing.get_origin(annotation) is not typing.Literal:
        return None
    table: dict[tuple[type, Any], Any] = {}
    for value in typing.get_args(annotation):
        plain = value.value if isinstance(value, enum.Enum) else value
        if type(plain) not in _ORDER:
            msg = f"{type_name(annotation)} must have values of str, int, bool or None"
            raise builder.refused(where, msg)
        if _key(plain) in table:
            msg = f"{type_name(annotation)} has two values that are the same JSON"
            raise builder.refused(where, msg)
        table[_key(plain)] = value
    allowed = {_key(value): plain for (_, plain), value in table.items()}

    def dump(value: Any) -> Any:
        try:
            return allowed[_key(value)]
        except (KeyError, TypeError):
            msg = "is none of the values that its Literal allows"
            raise Misfit(msg) from None

    return _choice(table, dump, *{type(value) for value in table.values()})


def _key(value: Any) -> tuple[type, Any]:
    """Tell 1 from True, which are equal."""
    return type(value), value


def _choice(table: dict[tuple[type, Any], Any], dump: Any, *kinds: type) -> Shape:
    def load(value: Any) -> Any:
        if isinstance(value, float) and value.is_integer():
            value = int(value)
        try:
            return table[_key(value)]
        except (KeyError, TypeError):
            msg = "must be one of the values that the schema lists"
            raise Misfit(msg) from None

    plain = all(kind in SCALARS for kind in kinds)
    return Shape(_schema(plain for _, plain in table), load, dump, kinds=kinds, plain=plain)


def _schema(values: Iterable[Any]) -> dict[str, Any]:
    by_kind: dict[type, list[Any]] = {}
    for value in values:
        by_kind.setdefault(type(value), []).append(value)
    branches = [
        {**SCALARS[kind].schema, **({} if kind is types.NoneType else {"enum": by_kind[kind]})}
        for kind in _ORDER
        if kind in by_kind
    ]
    return branches[0] if len(branches) == 1 else {"anyOf": branches}
