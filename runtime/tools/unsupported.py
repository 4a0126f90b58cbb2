"""Types that no converter knows yet, and what to write in their place."""

from __future__ import annotations

import collections.abc
import dataclasses
import datetime as dt
import decimal
import pathlib
import typing
import uuid
from typing import Any

__all__ = ["reason_against"]

_ADVICE: tuple[tuple[type | tuple[type, ...], str], ...] = (
    (dt.timedelta, "a float of seconds"),
    ((dt.date, dt.time), "a str in ISO 8601, parsed in the handler"),
    (uuid.UUID, "a str, converted in the handler"),
    (decimal.Decimal, "a str, converted in the handler"),
    ((bytes, bytearray), "a str in base64, decoded in the handler"),
    (pathlib.PurePath, "a str, converted in the handler"),
    ((tuple, set, frozenset), "a list"),
)
_ABSTRACT: dict[Any, str] = {
    collections.abc.Sequence: "list",
    collections.abc.MutableSequence: "list",
    collections.abc.Iterable: "list",
    collections.abc.Collection: "list",
    collections.abc.Set: "list",
    collections.abc.Mapping: "dict",
    collections.abc.MutableMapping: "dict",
}
_STREAMS = (
    collections.abc.AsyncIterable,
    collections.abc.Awaitable,
    collections.abc.Generator,
    collections.abc.Iterator,
)


def reason_against(annotation: Any) -> str | None:
    """Return why a type is refused, to follow its name; ``None`` for unknown ones."""
    origin = typing.get_origin(annotation) or annotation
    if annotation is Any or annotation is object:
        return "says nothing about the value; write the type that it has"
    if isinstance(annotation, typing.TypeVar):
        return "is a type variable; write the type that it stands for"
    if origin is collections.abc.Callable:
        return "is code, which JSON can't hold"
    if origin in _ABSTRACT:
        return f"is not supported yet; write {_ABSTRACT[origin]}"
    if not isinstance(origin, type):
        return None
    return _reason_against_class(annotation, origin)


def _reason_against_class(annotation: Any, origin: type) -> str | None:
    if annotation in {list, dict}:
        return f"does not say what it holds; write {origin.__name__}[...]"
    if dataclasses.is_dataclass(origin):
        return "is a generic dataclass, not supported yet; write one without type variables"
    if typing.is_typeddict(origin) or hasattr(origin, "_fields") or _is_model(origin):
        return "is not supported yet; write a dataclass"
    if issubclass(origin, _STREAMS):
        return "can't be sent as one value; return a list, from `async def` if it has to wait"
    for kinds, instead in _ADVICE:
        if issubclass(origin, kinds):
            return f"is not supported yet; write {instead}"
    return None


def _is_model(kind: type) -> bool:
    # By their marks, since importing those packages only to ask would cost their import.
    marks = ("__pydantic_validator__", "__attrs_attrs__", "_declared_fields")
    return any(hasattr(kind, mark) for mark in marks)
