"""One converter for each kind of type; a new type is a new converter here.

A loader gets only what the schema has accepted, so it converts and hardly
checks. A dumper gets whatever a handler returned, so it checks.
"""

from __future__ import annotations

import enum
import math
import types
import typing
from collections.abc import Callable
from typing import Any

from .shape import Builder, Converter, Misfit, Shape, at, described, type_name, wrong_type
from .unsupported import reason_against

__all__ = ["SIMPLE_CONVERTERS"]

# Their metadata are rules; to pass over a rule in silence would be worse than to refuse.
_RULE_PACKAGES = frozenset({"annotated_types", "marshmallow", "msgspec", "pydantic"})


def _same(value: Any) -> Any:
    return value


def _text(value: Any) -> str:
    if not isinstance(value, str):
        wrong_type("a str", value)
    if not value.isascii():
        try:
            value.encode()
        except UnicodeEncodeError:
            msg = "holds half of a surrogate pair, which is no text"
            raise Misfit(msg) from None
    return str.__str__(value)


def _dump_int(value: Any) -> int:
    if isinstance(value, bool) or not isinstance(value, int):
        wrong_type("an int", value)
    return int(value)


def _load_float(value: Any) -> float:
    try:
        return float(value)
    except OverflowError:
        msg = "is too large for a number with a fraction"
        raise Misfit(msg) from None


def _dump_float(value: Any) -> float:
    if isinstance(value, bool) or not isinstance(value, int | float):
        wrong_type("a float", value)
    number = _load_float(value)
    if not math.isfinite(number):
        msg = "is not a finite number, which JSON can't hold"
        raise Misfit(msg)
    return number


def _dump_bool(value: Any) -> bool:
    if not isinstance(value, bool):
        wrong_type("a bool", value)
    return value


def _dump_none(value: Any) -> None:
    if value is not None:
        wrong_type("None", value)


_SCALARS: dict[Any, Shape] = {
    str: Shape({"type": "string"}, load=_text, dump=_text),
    int: Shape({"type": "integer"}, load=int, dump=_dump_int),
    float: Shape({"type": "number"}, load=_load_float, dump=_dump_float),
    bool: Shape({"type": "boolean"}, load=_same, dump=_dump_bool),
    types.NoneType: Shape({"type": "null"}, load=_same, dump=_dump_none),
}


def _scalar(annotation: Any, _builder: Builder, _where: str) -> Shape | None:
    return _SCALARS.get(annotation) if isinstance(annotation, type) else None


def _annotated(annotation: Any, builder: Builder, where: str) -> Shape | None:
    if typing.get_origin(annotation) is not typing.Annotated:
        return None
    shape = builder.shape(annotation.__origin__, where)
    for item in annotation.__metadata__:
        if type(item).__module__.partition(".")[0] in _RULE_PACKAGES:
            msg = (
                f"the rule {type(item).__name__} in Annotated is not supported yet; "
                "check it in the handler and reject"
            )
            raise builder.refused(where, msg)
        if isinstance(item, str):
            shape = described(shape, item)
    return shape


def _alias(annotation: Any, builder: Builder, where: str) -> Shape | None:
    if isinstance(annotation, typing.NewType):
        return builder.shape(annotation.__supertype__, where)
    # `type X = ...` of Python 3.12
    if type(annotation).__name__ == "TypeAliasType":
        return builder.shape(annotation.__value__, where)
    return None


def _nullable(annotation: Any, builder: Builder, where: str) -> Shape | None:
    if typing.get_origin(annotation) not in {typing.Union, types.UnionType}:
        return None
    others = [kind for kind in typing.get_args(annotation) if kind is not types.NoneType]
    if len(others) != 1 or len(typing.get_args(annotation)) != 2:
        msg = f"{type_name(annotation)}: unions are not supported yet, except of one type and None"
        raise builder.refused(where, msg)
    return _or_null(builder.shape(others[0], where))


def _or_null(inner: Shape) -> Shape:
    load, dump = inner.load, inner.dump
    return Shape(
        {"anyOf": [inner.schema, {"type": "null"}]},
        load=lambda value: None if value is None else load(value),
        dump=lambda value: None if value is None else dump(value),
        size=inner.size + 2,
    )


def _list(annotation: Any, builder: Builder, where: str) -> Shape | None:
    if typing.get_origin(annotation) is not list:
        return None
    item = builder.shape(typing.get_args(annotation)[0], f"{where}[]")

    def dump(value: Any) -> list[Any]:
        if not isinstance(value, list):
            wrong_type("a list", value)
        return [at(index, item.dump, part) for index, part in enumerate(value)]

    return Shape(
        {"type": "array", "items": item.schema},
        load=lambda value: [at(index, item.load, part) for index, part in enumerate(value)],
        dump=dump,
        size=item.size + 1,
    )


def _dict(annotation: Any, builder: Builder, where: str) -> Shape | None:
    if typing.get_origin(annotation) is not dict:
        return None
    key_kind, kind = typing.get_args(annotation)
    key = builder.shape(key_kind, f"{where} key")
    if key.schema.get("type") != "string" or "enum" in key.schema:
        msg = f"{type_name(annotation)} has keys that are not str; JSON has no others"
        raise builder.refused(where, msg)
    item = builder.shape(kind, f"{where}{{}}")

    def entries(value: Any, convert: Callable[[Any], Any]) -> dict[str, Any]:
        return {_text(name): at(name, convert, part) for name, part in value.items()}

    def dump(value: Any) -> dict[str, Any]:
        if not isinstance(value, dict):
            wrong_type("a dict", value)
        return entries(value, item.dump)

    return Shape(
        {"type": "object", "additionalProperties": item.schema},
        load=lambda value: entries(value, item.load),
        dump=dump,
        size=item.size + 1,
    )


def _enum(annotation: Any, builder: Builder, where: str) -> Shape | None:
    if not (isinstance(annotation, type) and issubclass(annotation, enum.Enum)):
        return None
    if issubclass(annotation, enum.Flag):
        msg = f"{annotation.__name__} is a Flag; take a list of an Enum instead"
        raise builder.refused(where, msg)
    members = {member.value: member for member in annotation}
    shape = _choice(list(members), builder, where, f"Enum {annotation.__name__}")

    def dump(value: Any) -> Any:
        if not isinstance(value, annotation):
            wrong_type(f"a {annotation.__name__}", value)
        return value.value

    return Shape(shape.schema, load=lambda value: members[value], dump=dump)


def _literal(annotation: Any, builder: Builder, where: str) -> Shape | None:
    if typing.get_origin(annotation) is not typing.Literal:
        return None
    values = list(typing.get_args(annotation))
    given = [value for value in values if value is not None]
    if not given:
        return builder.shape(types.NoneType, where)
    shape = _choice(given, builder, where, type_name(annotation))
    return shape if len(given) == len(values) else _or_null(shape)


def _choice(values: list[Any], builder: Builder, where: str, what: str) -> Shape:
    kinds = {type(value) for value in values}
    # Some providers know enumerations of one type only.
    if kinds not in ({str}, {int}):
        msg = f"{what} must have str values only or int values only, at least one"
        raise builder.refused(where, msg)
    scalar = _SCALARS[kinds.pop()]

    def dump(value: Any) -> Any:
        plain = scalar.dump(value)
        if plain not in values:
            msg = "is none of the values that its Literal allows"
            raise Misfit(msg)
        return plain

    return Shape({**scalar.schema, "enum": [*values]}, load=scalar.load, dump=dump)


def _unsupported(annotation: Any, builder: Builder, where: str) -> Shape | None:
    reason = reason_against(annotation)
    if reason is not None:
        raise builder.refused(where, f"{type_name(annotation)} {reason}")
    return None


SIMPLE_CONVERTERS: tuple[Converter, ...] = (
    _scalar,
    _annotated,
    _alias,
    _nullable,
    _list,
    _dict,
    _enum,
    _literal,
    _unsupported,
)
"""All converters but the one for dataclasses, which needs marshmallow."""
