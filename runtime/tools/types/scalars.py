"""Texts, numbers, truth values and None."""

from __future__ import annotations

import math
import types
from collections.abc import Callable
from typing import Any

from ..bulk import each
from ..shape import Builder, Bulk, Misfit, Shape, wrong_type

__all__ = ["SCALARS", "load_text", "scalar"]

_Convert = Callable[[Any], Any]


def load_text(value: Any) -> str:
    """Return a text as a plain `str`; half of a surrogate pair is none."""
    if not isinstance(value, str):
        wrong_type("a str", value)
    if not value.isascii():
        try:
            value.encode()
        except UnicodeEncodeError:
            msg = "holds half of a surrogate pair, which is no text"
            raise Misfit(msg) from None
    return str.__str__(value)


def _load_int(value: Any) -> int:
    if type(value) is int:
        return value
    if isinstance(value, float) and value.is_integer():
        return int(value)
    return _dump_int(value)


def _dump_int(value: Any) -> int:
    if isinstance(value, bool) or not isinstance(value, int):
        wrong_type("an int", value)
    return int(value)


def _float(value: Any) -> float:
    if isinstance(value, bool) or not isinstance(value, int | float):
        wrong_type("a float", value)
    try:
        number = float(value)
    except OverflowError:
        msg = "is too large for a number with a fraction"
        raise Misfit(msg) from None
    if not math.isfinite(number):
        msg = "is not a finite number, which JSON can't hold"
        raise Misfit(msg)
    return number


def _bool(value: Any) -> bool:
    if not isinstance(value, bool):
        wrong_type("a bool", value)
    return value


def _none(value: Any) -> None:
    if value is not None:
        wrong_type("None", value)


def _all(kind: type, convert: _Convert, fine: _Convert | None = None) -> Bulk:
    """Have values of exactly this type, and fine, pass as they are, and others one by one."""
    exact = frozenset({kind})

    def convert_all(values: list[Any]) -> list[Any]:
        if exact.issuperset(map(type, values)) and (fine is None or all(map(fine, values))):
            return values
        return each(convert, values)

    return Bulk(convert, convert_all)


def _plain(
    kind: type, name: str, load: _Convert, dump: _Convert, fine: _Convert | None = None
) -> Shape:
    return Shape(
        {"type": name},
        load=load,
        dump=dump,
        kinds=(kind,),
        plain=True,
        loads=_all(kind, load, fine),
        dumps=_all(kind, dump, fine),
    )


SCALARS: dict[Any, Shape] = {
    str: _plain(str, "string", load_text, load_text, str.isascii),
    int: _plain(int, "integer", _load_int, _dump_int),
    float: _plain(float, "number", _float, _float, math.isfinite),
    bool: _plain(bool, "boolean", _bool, _bool),
    types.NoneType: _plain(types.NoneType, "null", _none, _none),
}
"""The shapes of the types that JSON has itself."""


def scalar(annotation: Any, _builder: Builder, _where: str) -> Shape | None:
    """Convert what JSON has itself; see `shape.Converter`."""
    if annotation is None:
        return SCALARS[types.NoneType]
    return SCALARS.get(annotation) if isinstance(annotation, type) else None
