"""Types that no converter knows, and what to write in their place."""

from __future__ import annotations

import collections.abc
import typing
from typing import Any

from ..shape import Builder, Shape, type_name

__all__ = ["unsupported"]

_CONTAINERS: tuple[Any, ...] = (list, dict, tuple, set, frozenset)
_ABSTRACT: dict[Any, str] = {
    collections.abc.Sequence: "list",
    collections.abc.MutableSequence: "list",
    collections.abc.Iterable: "list",
    collections.abc.Collection: "list",
    collections.abc.Set: "set",
    collections.abc.MutableSet: "set",
    collections.abc.Mapping: "dict",
    collections.abc.MutableMapping: "dict",
}
_STREAMS = (
    collections.abc.AsyncIterable,
    collections.abc.Awaitable,
    collections.abc.Generator,
    collections.abc.Iterator,
)


def unsupported(annotation: Any, builder: Builder, where: str) -> Shape | None:
    """Refuse a type with advice; see `shape.Converter`."""
    reason = _reason_against(annotation)
    if reason is not None:
        raise builder.refused(where, f"{type_name(annotation)} {reason}")
    return None


def _reason_against(annotation: Any) -> str | None:
    """Return why a type is refused, to follow its name; ``None`` for unknown ones."""
    origin: Any = typing.get_origin(annotation) or annotation
    if annotation is Any or annotation is object:
        return "says nothing about the value; write the type that it has"
    if isinstance(annotation, typing.TypeVar):
        return "is a type variable; write the type that it stands for, as in Box[int]"
    if origin is collections.abc.Callable:
        return "is code, which JSON can't hold"
    try:
        hash(origin)
    except TypeError:  # no type at all
        return None
    if origin in _ABSTRACT:
        return f"does not say what to make of a JSON value; write {_ABSTRACT[origin]}"
    if origin in _CONTAINERS:
        return f"does not say what it holds; write {origin.__name__}[...]"
    if not isinstance(origin, type):
        return None
    if issubclass(origin, bytearray | memoryview):
        return "can't be sent; write bytes"
    if issubclass(origin, _STREAMS):
        return "can't be sent as one value; return a list, from `async def` if it has to wait"
    if hasattr(origin, "__struct_fields__"):
        return "is a msgspec Struct; write a dataclass with the same fields"
    return None
