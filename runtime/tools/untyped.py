"""Values without a declared type, allowed where a given schema describes them."""

from __future__ import annotations

import collections.abc
import math
import typing
from collections.abc import Mapping
from typing import Any

from .shape import Builder, Misfit, Shape, at, wrong_type

__all__ = ["is_open_object", "untyped_shape"]

_MAPPINGS = frozenset({dict, collections.abc.Mapping, collections.abc.MutableMapping})


def untyped_shape(annotation: Any, builder: Builder, where: str) -> Shape | None:
    """Convert `Any`, bare ``dict`` and ``list``, and mappings; see `shape.Converter`."""
    if annotation is Any or annotation is object:
        return Shape({}, load=_json, dump=_json)
    if is_open_object(annotation):
        return Shape({"type": "object"}, load=_object, dump=_object)
    if _origin(annotation) is list and not typing.get_args(annotation):
        return builder.shape(list[Any], where)
    if _origin(annotation) in _MAPPINGS - {dict}:
        key, value = typing.get_args(annotation)
        return builder.shape(dict[key, value], where)  # type: ignore[valid-type]
    return None


def is_open_object(annotation: Any) -> bool:
    """Tell whether a type is a mapping of text to anything."""
    if _origin(annotation) not in _MAPPINGS:
        return False
    return typing.get_args(annotation) in {(), (str, Any), (str, object)}


def _origin(annotation: Any) -> Any:
    return typing.get_origin(annotation) or annotation


def _object(value: Any) -> dict[str, Any]:
    if not isinstance(value, Mapping):
        wrong_type("a mapping", value)
    copied: dict[str, Any] = _json(value)
    return copied


def _json(value: Any) -> Any:
    """Return a copy of a JSON value, in which nothing is of another type."""
    if value is None or isinstance(value, bool):
        return value
    if isinstance(value, str):
        return _text(value)
    if isinstance(value, int):
        return int(value)
    if isinstance(value, float):
        return _finite(value)
    if isinstance(value, Mapping):
        return {_key(key): at(key, _json, part) for key, part in value.items()}
    if isinstance(value, list | tuple):
        return [at(index, _json, part) for index, part in enumerate(value)]
    return wrong_type("a JSON value", value)


def _key(key: object) -> str:
    return _text(key) if isinstance(key, str) else wrong_type("a str as a key", key)


def _text(value: str) -> str:
    try:
        value.encode()
    except UnicodeEncodeError:
        msg = "holds half of a surrogate pair, which is no text"
        raise Misfit(msg) from None
    return str.__str__(value)


def _finite(value: float) -> float:
    if not math.isfinite(value):
        msg = "is not a finite number, which JSON can't hold"
        raise Misfit(msg)
    return float(value)
