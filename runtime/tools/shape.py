"""A shape is what one type means: its schema, its way in and its way out."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any, Literal, NoReturn

from ...errors import DefinitionError
from .scope import Scope

__all__ = [
    "Builder",
    "Converter",
    "Direction",
    "Misfit",
    "Shape",
    "at",
    "described",
    "type_name",
    "wrong_type",
]

Direction = Literal["input", "output"]
"""Whether values of a shape come from the model or go to it."""

_NODE_LIMIT = 2_000
_DEPTH_LIMIT = 32


class Misfit(Exception):
    """A value can't be converted; collects its path on the way out."""

    def __init__(self, reason: str) -> None:
        super().__init__(reason)
        self.reason = reason
        self.path: tuple[str | int, ...] = ()


def wrong_type(wanted: str, value: object) -> NoReturn:
    """Raise the misfit of a value of another type."""
    msg = f"is not {wanted} but of type {type(value).__name__}"
    raise Misfit(msg)


def at(key: str | int, convert: Callable[[Any], Any], value: Any) -> Any:
    """Convert a part of a larger value; a misfit learns where it was."""
    try:
        return convert(value)
    except Misfit as misfit:
        misfit.path = (key, *misfit.path)
        raise


@dataclass(frozen=True, slots=True)
class Shape:
    """One type, ready for use. The schema is never changed, only copied."""

    schema: Mapping[str, Any]
    """The JSON Schema, in the subset that every provider keeps."""
    load: Callable[[Any], Any]
    """Makes the Python value of JSON that the schema has accepted."""
    dump: Callable[[Any], Any]
    """Makes JSON of a Python value; raises `Misfit` for what is none of this type."""
    size: int = 1
    """How many schemas it holds, counted where they are written out."""


def described(shape: Shape, text: str) -> Shape:
    """Return the shape with a description in its schema."""
    return replace(shape, schema={**shape.schema, "description": text})


def type_name(annotation: object) -> str:
    """Return how to write an annotation in a message."""
    return inspect.formatannotation(annotation)


@dataclass(slots=True)
class Builder:
    """Builds the shapes of one handler's input or output."""

    tool: str
    """The tool's name, for messages."""
    scope: Scope
    """Where names in annotations are looked up."""
    direction: Direction
    """Which way the values go."""
    converters: tuple[Converter, ...]
    """Asked in order; the first that knows the type answers."""
    definitions: dict[str, Mapping[str, Any]] = field(default_factory=dict)
    """The schemas of recursive types, by the name in ``$defs``."""
    _done: dict[type, Shape] = field(default_factory=dict)
    _open: dict[type, str | None] = field(default_factory=dict)
    _depth: int = 0

    def shape(self, annotation: Any, where: str) -> Shape:
        """Return the shape of a type.

        Args:
            annotation: The type, with forward references resolved.
            where: The parameter or field, for messages.

        Raises:
            DefinitionError: No converter knows the type, or it is too large.
        """
        self._depth += 1
        try:
            if self._depth > _DEPTH_LIMIT:
                raise self.refused(where, "the type nests too deeply; make it flatter")
            found = self._convert(annotation, where)
        finally:
            self._depth -= 1
        if found.size > _NODE_LIMIT:
            msg = f"its schema would hold over {_NODE_LIMIT} parts; make the type smaller"
            raise self.refused(where, msg)
        return found

    def named(self, cls: type, build: Callable[[], Shape]) -> Shape:
        """Return the shape of a class that may refer to itself.

        It is written out wherever it is used, unless it is recursive: then it
        goes to ``$defs``.
        """
        done = self._done
        if cls in done:
            return done[cls]
        if cls in self._open:
            name = self._open[cls] = self._open[cls] or self._free_name(cls)
            # Only `done` is kept, not the builder, which holds the caller's locals.
            return Shape(
                {"$ref": f"#/$defs/{name}"},
                load=lambda value: done[cls].load(value),  # noqa: PLW0108 - not there yet
                dump=lambda value: done[cls].dump(value),  # noqa: PLW0108
            )
        self._open[cls] = None
        shape = build()
        recursive = self._open.pop(cls)
        if recursive:
            self.definitions[recursive] = shape.schema
            shape = replace(shape, schema={"$ref": f"#/$defs/{recursive}"}, size=1)
        done[cls] = shape
        return shape

    def root(self, schema: Mapping[str, Any]) -> dict[str, Any]:
        """Return a schema as the root of a document, with ``$defs`` where needed."""
        name = schema.get("$ref", "").rpartition("/")[2]
        expanded = dict(self.definitions[name] if name else schema)
        if self.definitions:
            expanded["$defs"] = dict(self.definitions)
        return expanded

    def refused(self, where: str, reason: str) -> DefinitionError:
        """Return the error that says what is wrong where."""
        return DefinitionError(reason, tool=self.tool, parameter=where)

    def _convert(self, annotation: Any, where: str) -> Shape:
        for converter in self.converters:
            shape = converter(annotation, self, where)
            if shape is not None:
                return shape
        msg = f"{type_name(annotation)} is not a type that a tool can take or return"
        raise self.refused(where, msg)

    def _free_name(self, cls: type) -> str:
        plain = "".join(
            c if c.isascii() and (c.isalnum() or c == "_") else "_" for c in cls.__name__
        )
        taken = {name for name in (*self.definitions, *self._open.values()) if name}
        name, number = plain, 1
        while name in taken:
            number += 1
            name = f"{plain}_{number}"
        return name


Converter = Callable[[Any, Builder, str], Shape | None]
"""Makes the shape of the types that it knows; ``None`` for all others. A type
is added by adding one of these to `converters.CONVERTERS`."""
