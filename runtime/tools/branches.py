"""Which branch of a union a refused value was meant for.

Loaded with `explanation`, since it imports jsonschema.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from jsonschema.exceptions import ValidationError

__all__ = ["leaves", "missing_field"]


def leaves(error: ValidationError) -> Iterator[ValidationError]:
    """Yield what to tell of an error: of a union, the errors of the one branch that was meant."""
    if error.validator not in {"anyOf", "oneOf"}:
        yield error
        return
    branches: dict[object, list[ValidationError]] = {}
    for inner in error.context or ():
        branches.setdefault(inner.schema_path[0], []).append(inner)
    meant = [one for one in branches.values() if not any(map(_is_elsewhere, one))]
    if len(meant) > 1:
        meant = [one for one in meant if not any(map(_is_about_names, one))] or meant
    if len(meant) == 1:
        for inner in meant[0]:
            yield from leaves(inner)
    else:
        yield _shared(error, meant)


def _shared(error: ValidationError, meant: list[list[ValidationError]]) -> ValidationError:
    """Return what is wrong for all branches: a tag that is unknown or missing, else nothing."""
    if not meant:
        return next((inner for inner in error.context or () if _is_tag(inner)), error)
    missing = [[one for one in branch if _is_missing(one)] for branch in meant]
    if all(missing) and len({missing_field(one) for one, *_ in missing}) == 1:
        return missing[0][0]
    return error


def _is_missing(error: ValidationError) -> bool:
    return error.validator == "required" and not error.relative_path


def missing_field(error: ValidationError) -> str:
    """Return the name of the first field that is required and not there."""
    rule: Any = error.validator_value
    instance: Any = error.instance
    name: str = next(one for one in rule if one not in instance)
    return name


def _is_about_names(error: ValidationError) -> bool:
    unknown = error.validator == "additionalProperties" and not error.relative_path
    return unknown or _is_missing(error)


def _is_elsewhere(error: ValidationError) -> bool:
    """Tell whether a branch of a union is meant for other values than this."""
    return _is_tag(error) or (error.validator == "type" and not error.relative_path)


def _is_tag(error: ValidationError) -> bool:
    rule: Any = error.validator_value
    one_value = error.validator == "const" or (error.validator == "enum" and len(rule) == 1)
    return one_value and len(error.relative_path) == 1
