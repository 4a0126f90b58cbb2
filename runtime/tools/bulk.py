"""Many values at once: what is alike is looked at by column, in C, instead of one by one."""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterable
from itertools import islice
from typing import Any

from .collector import resting_collector
from .shape import Bulk, Misfit

__all__ = ["ConvertAll", "each", "in_slices", "whole"]

ConvertAll = Callable[[list[Any]], list[Any]]
"""Converts a list; a `Misfit` knows the place in it."""

# Some hundred microseconds of work: a call into C holds the interpreter lock
# throughout, and the gateway has others to answer meanwhile.
_SLICE = 512
# Below this, columns cost more than they save.
_FEW = 4


def each(convert: Callable[[Any], Any], values: Iterable[Any]) -> list[Any]:
    """Convert values one by one; a misfit learns its place."""
    done: list[Any] = []
    try:
        for value in values:
            done.append(convert(value))  # noqa: PERF401 - its length is where a misfit was
    except Misfit as misfit:
        misfit.within(len(done))
        raise
    return done


def whole(bulk: Bulk | None, one: Callable[[Any], Any]) -> ConvertAll:
    """Return what converts a list that is short enough, in whichever way is fastest.

    Args:
        bulk: How many are converted, where that is known. It counts only if it
            is the same conversion as ``one``: who puts something around a
            conversion need not know of it.
        one: How one is converted.
    """
    if bulk is not None and bulk.one is one:
        return bulk.all
    return functools.partial(each, one)


def in_slices(bulk: Bulk | None, one: Callable[[Any], Any]) -> Callable[[Iterable[Any]], Any]:
    """Return what converts a list or tuple of any length; takes what `whole` takes."""
    if bulk is None or bulk.one is not one:
        return functools.partial(each, one)
    convert = bulk.all

    def convert_all(values: Any) -> list[Any]:
        if len(values) < _FEW:
            return each(one, values)
        if len(values) <= _SLICE:
            return convert([*values])
        with resting_collector():
            return _in_slices(convert, values)

    return convert_all


def _in_slices(convert: ConvertAll, values: Iterable[Any]) -> list[Any]:
    done: list[Any] = []
    rest = iter(values)
    try:
        while part := [*islice(rest, _SLICE)]:
            done += convert(part)
    except Misfit as misfit:
        place, *path = misfit.path
        misfit.path = (len(done) + int(place), *path)
        raise
    return done
