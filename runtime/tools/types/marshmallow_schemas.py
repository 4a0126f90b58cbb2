"""Marshmallow schemas: their fields and validators as JSON Schema.

They are written as the type itself, or as ``Annotated[Issue, IssueSchema()]``,
so that type checkers know what `load` makes. Loading and dumping stay
marshmallow's; the JSON Schema keeps "5" from an Integer field.
"""

from __future__ import annotations

import sys
import typing
from collections.abc import Mapping
from typing import Any

from typing_inspection import typing_objects

from ..shape import Builder, Misfit, Shape
from .judge import Judge
from .loaded import loaded

__all__ = ["marshmallow_value", "schema_in"]


def marshmallow_value(annotation: Any, builder: Builder, where: str) -> Shape | None:
    """Convert marshmallow schemas, classes and instances; see `shape.Converter`."""
    kind = loaded("marshmallow", "Schema")
    if kind is None:
        return None
    schema = annotation
    if isinstance(annotation, type) and issubclass(annotation, kind):
        try:
            schema = annotation()
        except TypeError:
            msg = f"{annotation.__name__} needs arguments; write an instance of it"
            raise builder.refused(where, msg) from None
    if not isinstance(schema, kind):
        return None
    from .marshmallow_fields import schema_of

    json_schema, size = schema_of(schema, builder)
    judge = Judge(builder, json_schema, type(schema).__name__)
    both = _Both(schema, judge, sys.modules["marshmallow"].ValidationError)
    return Shape(json_schema, both.load, both.dump, size=size)


def schema_in(annotation: Any) -> Any | None:
    """Return the marshmallow schema that an ``Annotated`` names, if it does."""
    kind = loaded("marshmallow", "Schema")
    if kind is None or not typing_objects.is_annotated(typing.get_origin(annotation)):
        return None
    for item in annotation.__metadata__:
        if isinstance(item, kind) or (isinstance(item, type) and issubclass(item, kind)):
            return item
    return None


def _misfit(error: Any) -> Misfit:
    """Return where marshmallow found fault; its words may hold values."""
    path: list[str | int] = []
    messages = error.messages
    while isinstance(messages, Mapping) and messages:
        key, messages = next(iter(messages.items()))
        path.append(key)
    misfit = Misfit("is refused by a validator of its marshmallow schema")
    misfit.within(*(part for part in path if part != "_schema"))
    return misfit


class _Both:
    """Loads and dumps by marshmallow what the JSON Schema takes."""

    def __init__(self, schema: Any, judge: Judge, refusal: type[Exception]) -> None:
        self._schema = schema
        self._judge = judge
        self._refusal = refusal

    def load(self, value: Any) -> Any:
        self._judge.check(value)
        try:
            return self._schema.load(value)
        except self._refusal as error:
            raise _misfit(error) from error

    def dump(self, value: Any) -> Any:
        try:
            plain = self._schema.dump(value)
        except (ValueError, TypeError, AttributeError, LookupError) as error:
            msg = "can't be dumped by its marshmallow schema"
            raise Misfit(msg) from error
        self._judge.check(plain)
        return plain
