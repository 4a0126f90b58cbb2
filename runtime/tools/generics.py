"""Type variables, and what they stand for where a generic class is used."""

from __future__ import annotations

import typing
from collections.abc import Iterable, Mapping
from typing import Any

from typing_inspection import typing_objects

__all__ = ["key_of", "owner_variables", "substituted", "variables_of"]

Variables = Mapping[Any, Any]


def variables_of(parameters: Iterable[Any], arguments: Iterable[Any]) -> dict[Any, Any]:
    """Return what each type variable stands for."""
    return dict(zip(parameters, arguments, strict=False))


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
    arguments = typing.get_args(annotation)
    mine = variables_of(getattr(cls, "__parameters__", ()), arguments)
    for parameter in getattr(cls, "__parameters__", ()):
        default = getattr(parameter, "__default__", None)
        if parameter not in mine and default is not None and not _is_missing(default):
            mine[parameter] = default
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


def _is_missing(default: Any) -> bool:
    return typing_objects.is_nodefault(default)
