"""Records by column: objects with the same fields are taken apart, converted and made at once."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from dataclasses import dataclass
from operator import attrgetter
from typing import Any

from .bulk import ConvertAll, each
from .shape import Bulk, Misfit
from .uniform import columns_of

__all__ = ["Column", "bulk_dump", "bulk_load", "positions", "refusing"]


@dataclass(frozen=True, slots=True)
class Column:
    """One field of a record, as far as many of them are concerned."""

    key: str
    """What the values have it under."""
    name: str
    """What the converted values have it under."""
    convert: ConvertAll
    """Converts the column."""
    required: bool = True
    """Whether all have to have it."""
    default: Callable[[], Any] | None = None
    """Makes a fresh default; ``None`` where it is left out if it is not there."""


def positions(cls: type) -> tuple[str, ...]:
    """Return the parameters that a constructor takes by position, in order."""
    return tuple(
        one.name
        for one in inspect.signature(cls).parameters.values()
        if one.kind is one.POSITIONAL_OR_KEYWORD
    )


def refusing(error: Exception) -> Misfit:
    """Return what it means that a constructor raised an error, without its words."""
    misfit = Misfit("holds values that can't be used together")
    misfit.__cause__ = error
    return misfit


def bulk_load(
    load: Callable[[Any], Any], columns: list[Column], make: Callable[[Any], Any], cls: type | None
) -> Bulk:
    """Return how many objects of JSON become values.

    Args:
        load: How one does.
        columns: The fields.
        make: Makes a value of its fields by name.
        cls: The class whose constructor does the same; ``None`` for a dict.
    """
    takes = () if cls is None else positions(cls)
    by_key = {one.key: one for one in columns}
    known = by_key.keys()
    required = {one.key for one in columns if one.required}

    def load_all(values: list[Any]) -> list[Any]:
        taken = columns_of(values)
        if not (taken and required <= taken.keys() <= known):
            return each(load, values)
        found = {by_key[key].name: _converted(by_key[key], taken[key]) for key in taken}
        for one in columns:
            if one.default is not None and one.key not in taken:
                found[one.name] = [one.default() for _ in values]
        order = takes[: len(found)]
        if cls is not None and found.keys() == set(order):
            return _constructed(cls, [found[name] for name in order])
        rows = zip(*found.values(), strict=True)
        return each(make, (dict(zip(found, row, strict=True)) for row in rows))

    return Bulk(load, load_all)


def bulk_dump(dump: Callable[[Any], Any], columns: list[Column], instance_of: type) -> Bulk | None:
    """Return how many values become objects of JSON; ``None`` where there is no quick way.

    Args:
        dump: How one does.
        columns: The fields.
        instance_of: The class of the values; a dict is read by key, anything
            else by attribute.
    """
    if not columns:
        return None
    exact, rows = frozenset({instance_of}), _row_maker([one.name for one in columns])
    getters = [attrgetter(one.key) for one in columns]

    def attributes(values: list[Any]) -> list[list[Any]]:
        if not exact.issuperset(map(type, values)):
            return []
        try:
            return [[*map(get, values)] for get in getters]
        except AttributeError:  # one has no such field, or one that raises
            return []

    def items(values: list[Any]) -> list[list[Any]]:
        taken = columns_of(values)
        if taken.keys() != {one.key for one in columns}:
            return []
        return [taken[one.key] for one in columns]

    take = items if instance_of is dict else attributes

    def dump_all(values: list[Any]) -> list[Any]:
        taken = take(values)
        if not taken:
            return each(dump, values)
        return rows(*map(_converted, columns, taken))

    return Bulk(dump, dump_all)


def _row_maker(names: list[str]) -> Callable[..., list[dict[str, Any]]]:
    """Return what makes objects of columns.

    Written for the names, as `collections.namedtuple` does it, since a display
    of a dict takes half the time of any call that makes one.
    """
    variables = [f"v{number}" for number in range(len(names))]
    pairs = ", ".join(
        f"{str.__repr__(name)}: {one}" for name, one in zip(names, variables, strict=True)
    )
    listed = ", ".join(variables)
    source = f"lambda *columns: [{{{pairs}}} for {listed}, in zip(*columns)]"
    made: Callable[..., list[dict[str, Any]]] = eval(source)  # noqa: S307 - names are quoted
    return made


def _converted(column: Column, values: list[Any]) -> list[Any]:
    try:
        return column.convert(values)
    except Misfit as misfit:
        place, *path = misfit.path
        misfit.path = (place, column.key, *path)
        raise


def _constructed(cls: type, columns: list[list[Any]]) -> list[Any]:
    made: list[Any] = []
    try:
        for row in zip(*columns, strict=True):
            made.append(cls(*row))  # noqa: PERF401 - its length is where an error was
    except (TypeError, ValueError) as error:
        misfit = refusing(error)
        misfit.within(len(made))
        raise misfit from error
    return made
