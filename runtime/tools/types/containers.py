"""Lists, tuples, sets and dicts with text keys."""

from __future__ import annotations

import json
import typing
from collections.abc import Callable
from dataclasses import replace
from typing import Any

from ..bulk import each, in_slices
from ..shape import Builder, Misfit, Shape, noted, type_name, wrong_type
from .scalars import load_text
from .schemas import fixed_array

__all__ = ["dict_value", "list_value", "set_value", "tuple_value"]

_Convert = Callable[[Any], Any]


def _array(value: Any) -> Any:
    if not isinstance(value, list | tuple):
        wrong_type("an array", value)
    return value


def list_value(annotation: Any, builder: Builder, where: str) -> Shape | None:
    """Convert ``list[T]``; see `shape.Converter`."""
    if typing.get_origin(annotation) is not list or not typing.get_args(annotation):
        return None
    item = builder.shape(typing.get_args(annotation)[0], f"{where}[]")
    load_items, dump_items = in_slices(item.loads, item.load), in_slices(item.dumps, item.dump)

    def dump(value: Any) -> Any:
        if not isinstance(value, list):
            wrong_type("a list", value)
        return dump_items(value)

    return Shape(
        {"type": "array", "items": item.schema},
        load=lambda value: load_items(_array(value)),
        dump=dump,
        size=item.size + 1,
        kinds=(list,),
        plain=item.plain,
    )


def tuple_value(annotation: Any, builder: Builder, where: str) -> Shape | None:
    """Convert ``tuple[T, ...]`` and ``tuple[A, B]``; see `shape.Converter`."""
    if typing.get_origin(annotation) is not tuple:
        return None
    kinds = typing.get_args(annotation)
    if len(kinds) == 2 and kinds[1] is Ellipsis:
        return _long_tuple(builder.shape(kinds[0], f"{where}[]"))
    if not kinds:
        msg = f"{type_name(annotation)} holds nothing; write tuple[T, ...] or the types in it"
        raise builder.refused(where, msg)
    return _fixed_tuple([builder.shape(kind, f"{where}[{n}]") for n, kind in enumerate(kinds)])


def _checked_tuple(value: Any) -> tuple[Any, ...]:
    if not isinstance(value, tuple):
        wrong_type("a tuple", value)
    return value


def _long_tuple(item: Shape) -> Shape:
    load_items, dump_items = in_slices(item.loads, item.load), in_slices(item.dumps, item.dump)
    return Shape(
        {"type": "array", "items": item.schema},
        load=lambda value: tuple(load_items(_array(value))),
        dump=lambda value: dump_items(_checked_tuple(value)),
        size=item.size + 1,
        kinds=(tuple,),
    )


def _fixed_tuple(items: list[Shape]) -> Shape:
    def convert(ways: list[_Convert], values: Any) -> list[Any]:
        if len(values) != len(ways):
            msg = f"does not have exactly {len(ways)} items"
            raise Misfit(msg)
        way = iter(ways)
        return each(lambda value: next(way)(value), values)  # noqa: PLW0108 - a way each

    loads, dumps = [item.load for item in items], [item.dump for item in items]
    return replace(
        fixed_array(items),
        load=lambda value: tuple(convert(loads, _array(value))),
        dump=lambda value: convert(dumps, _checked_tuple(value)),
        kinds=(tuple,),
    )


def set_value(annotation: Any, builder: Builder, where: str) -> Shape | None:
    """Convert ``set[T]`` and ``frozenset[T]``; see `shape.Converter`.

    They leave sorted, so that equal sets are equal results.
    """
    make: Any = typing.get_origin(annotation)
    if make not in {set, frozenset} or not typing.get_args(annotation):
        return None
    item = builder.shape(typing.get_args(annotation)[0], f"{where}[]")
    _check_hashable(annotation, item, builder, where)
    load_items = in_slices(item.loads, item.load)

    def load(value: Any) -> Any:
        parts = load_items(_array(value))
        try:
            found = make(parts)
        except TypeError:
            msg = "holds an item that no set can hold"
            raise Misfit(msg) from None
        if len(found) != len(parts):
            msg = "holds an item twice"
            raise Misfit(msg)
        return found

    def dump(value: Any) -> list[Any]:
        if not isinstance(value, make):
            wrong_type(f"a {make.__name__}", value)
        return _sorted([item.dump(part) for part in value])

    shape = Shape(
        {"type": "array", "items": item.schema, "uniqueItems": True},
        load,
        dump,
        size=item.size + 1,
        kinds=(make,),
    )
    return noted(shape, "No item twice.")


def _check_hashable(annotation: Any, item: Shape, builder: Builder, where: str) -> None:
    for kind in item.kinds:
        if kind.__hash__ is None:
            msg = f"{type_name(annotation)}: a {kind.__name__} can't be in a set; write a list"
            raise builder.refused(where, msg)


def _sorted(values: list[Any]) -> list[Any]:
    try:
        return sorted(values)
    except TypeError:  # mixed kinds, or objects
        return sorted(values, key=lambda value: json.dumps(value, sort_keys=True))


def dict_value(annotation: Any, builder: Builder, where: str) -> Shape | None:
    """Convert ``dict[str, T]``; see `shape.Converter`."""
    if typing.get_origin(annotation) is not dict or not typing.get_args(annotation):
        return None
    key_kind, kind = typing.get_args(annotation)
    key = builder.shape(key_kind, f"{where} key")
    if {**key.schema, "description": ""} != {"type": "string", "description": ""}:
        msg = f"{type_name(annotation)} has keys that are not plain str; JSON has no others"
        raise builder.refused(where, msg)
    item = builder.shape(kind, f"{where}{{}}")

    def entries(value: Any, convert: _Convert) -> dict[str, Any]:
        if not isinstance(value, dict):
            wrong_type("a dict", value)
        done: dict[str, Any] = {}
        for name, part in value.items():
            text = load_text(name)
            try:
                done[text] = convert(part)
            except Misfit as misfit:
                misfit.within(text)
                raise
        return done

    return Shape(
        {"type": "object", "additionalProperties": item.schema},
        load=lambda value: entries(value, item.load),
        dump=lambda value: entries(value, item.dump),
        size=item.size + 1,
        kinds=(dict,),
        plain=item.plain,
    )
