"""The type of an answer: its schema, and the strict way from JSON to a value."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Any

from ...errors import InvalidInputError
from ...messages.options import OutputSchema
from .. import json_text
from .overrides import wrapped_schema
from .portable import portable, root_fault
from .scope import Scope
from .shape import Builder, Misfit, Shape, type_name
from .types import CONVERTERS
from .validation import Validator

__all__ = ["output_schema"]


def output_schema(kind: Any, scope: Scope) -> OutputSchema:
    """Return what an answer has to be, so that it becomes a value of a type.

    A type whose JSON is no object is wrapped, as results of tools are: its
    value is under ``result``.

    Args:
        kind: The type; any that a tool can take.
        scope: Where names in its annotations are looked up.

    Raises:
        DefinitionError: It is not a type that a tool can take.
    """
    builder = Builder("", scope, "input", CONVERTERS)
    shape = builder.shape(kind, "output")
    typed = builder.root(shape.schema)
    wrapped = root_fault(typed) is not None
    if wrapped:
        typed = builder.root(wrapped_schema(shape.schema))
    schema = portable(typed, "", "output")
    name = re.sub(r"[^A-Za-z0-9_]+", "_", getattr(kind, "__name__", "") or type_name(kind))
    return OutputSchema(
        name=name.strip("_")[:48] or "Answer",
        schema=schema,
        load=_Loader(shape, Validator(schema), wrapped),
    )


@dataclass(frozen=True, slots=True)
class _Loader:
    shape: Shape
    judge: Validator
    wrapped: bool

    def __call__(self, text: str) -> Any:
        given = _parsed(text)
        if not self.judge.accepts(given):
            raise InvalidInputError(_said(self.judge.explain(given)))
        try:
            return self.shape.load(given["result"] if self.wrapped else given)
        except Misfit as misfit:
            from .explanation import misfit_text

            path = ("result", *misfit.path) if self.wrapped else misfit.path
            raise InvalidInputError(_said(misfit_text(path, misfit.reason))) from misfit


def _parsed(text: str) -> Any:
    try:
        return json_text.read(text.encode())
    except ValueError as error:
        msg = f"the answer is not one JSON value ({error})"
        raise InvalidInputError(msg) from error


def _said(explanation: str) -> str:
    # The same words as for a tool's arguments, which this is none of.
    return f"the answer: {explanation.removeprefix('arguments: ')}"
