"""A mapping that nobody changes, and that can be pickled and copied."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, TypeVar

__all__ = ["FrozenMap"]

V = TypeVar("V")


class FrozenMap(Mapping[str, V]):
    """Holds a copy of a mapping; equal to any mapping of the same content.

    Args:
        values: What it holds.
    """

    # Unlike `types.MappingProxyType` it crosses processes, as results and events do.
    __slots__ = ("_values",)

    def __init__(self, values: Mapping[str, V] | None = None) -> None:
        self._values = dict(values or {})

    def __getitem__(self, key: str) -> V:
        return self._values[key]

    def __iter__(self) -> Iterator[str]:
        return iter(self._values)

    def __len__(self) -> int:
        return len(self._values)

    def __repr__(self) -> str:
        return repr(self._values)

    def __reduce__(self) -> tuple[Any, ...]:
        return FrozenMap, (self._values,)
