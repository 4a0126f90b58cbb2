"""Type variables, and what they stand for where a generic class is used."""

from __future__ import annotations

import typing
from collections.abc import Iterable, Mapping
from typing import Any

from typing_extensions import NoDefault
from typing_inspection import typing_objects

__all__ = ["key_of", "owner_variables", "substituted", "variables_of"]

Variables = Mapping[Any, Any]


def variables_of(parameters: Iterable[Any], arguments: Iterable[Any]) -> dict[Any, Any]:
    """Return what each type variable stands for, by its default where no type is given."""
    found: dict[Any, Any] = {}
    given = iter(arguments)
    for parameter in parameters:
        default = getattr(parameter, "__default__", NoDefault)
        argument = next(given, default)
        if argument is default:  # also where typing has put it, for Box[int] of two
            argument = substituted(default, found)
        if not typing_objects.is_nodefault(argument):
            found[parameter] = argument
    return found


def substituted(annotation: Any, variables: Variables) -> Any:
    """Return a type with its type variables replaced, as far as they are known."""
    if typing_objects.is_typevar(annotation):
        return variables.get(annotation, annotation)
    parameters = getattr(annotation, "__parameters__", ())
    if isinstance(annotation, type) or not parameters:
        return annotation
    return annotation[tuple(variables.get(one, one) for one in parameters)]


def owner_variables(annotation: Any) -> dict[type, Variables]:
    """Return what type variables stand for, in a class and in all its bases.

    Args:
        annotation: The class, or the generic class with its arguments.
    """
    cls = typing.get_origin(annotation) or annotation
    found: dict[type, Variables] = {}
    mine = variables_of(getattr(cls, "__parameters__", ()), typing.get_args(annotation))
    found[cls] = mine
    for base in cls.__dict__.get("__orig_bases__", cls.__bases__):
        origin = typing.get_origin(base) or base
        # `NamedTuple` and `TypedDict` are functions there.
        if isinstance(origin, type) and origin is not typing.Generic:
            for owner, variables in owner_variables(substituted(base, mine)).items():
                found.setdefault(owner, variables)
    return found


def key_of(annotation: Any) -> Any:
    """Return what tells a type from others; types with equal keys mean the same."""
    try:
        hash(annotation)
    except TypeError:  # something in an Annotated
        return repr(annotation)
    return annotation
