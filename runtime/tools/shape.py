"""A shape is what one type means: its schema, its way in and its way out."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Hashable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any, Literal, NoReturn

from ...errors import DefinitionError
from .scope import Scope

__all__ = [
    "Builder",
    "Bulk",
    "Converter",
    "Direction",
    "Misfit",
    "Shape",
    "at",
    "described",
    "noted",
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

    def within(self, *path: str | int) -> None:
        """Say in what larger value it was."""
        self.path = (*path, *self.path)


def wrong_type(wanted: str, value: object) -> NoReturn:
    """Raise the misfit of a value of another type."""
    msg = f"is not {wanted} but of type {type(value).__name__}"
    raise Misfit(msg)


def at(key: str | int, convert: Callable[[Any], Any], value: Any) -> Any:
    """Convert a part of a larger value; a misfit learns where it was."""
    try:
        return convert(value)
    except Misfit as misfit:
        misfit.within(key)
        raise


@dataclass(frozen=True, slots=True)
class Bulk:
    """A conversion of many values at once."""

    one: Callable[[Any], Any]
    """The same conversion, of one value."""
    all: Callable[[list[Any]], list[Any]]
    """Converts a list, which it may give back; the path of its `Misfit` begins
    with the place in the list."""


@dataclass(frozen=True, slots=True)
class Shape:
    """One type, ready for use. The schema is never changed, only copied.

    Both ways are strict by themselves, whatever schema has looked before:
    unions ask them, and so do overridden schemas.
    """

    schema: Mapping[str, Any]
    """The JSON Schema, in the subset that every provider keeps."""
    load: Callable[[Any], Any]
    """Makes the Python value of JSON; raises `Misfit` for what is none of this type."""
    dump: Callable[[Any], Any]
    """Makes JSON of a Python value; raises `Misfit` for what is none of this type."""
    size: int = 1
    """How many schemas it holds, counted where they are written out."""
    kinds: tuple[type, ...] = ()
    """The classes that its values are direct instances of; empty where not known."""
    plain: bool = False
    """Whether the Python value equals the JSON value."""
    loads: Bulk | None = None
    """The same as ``load`` for many values, while it is about this ``load``."""
    dumps: Bulk | None = None
    """The same as ``dump`` for many values, while it is about this ``dump``."""
    text: str = ""
    """What it is for; the beginning of the schema's description."""
    notes: tuple[str, ...] = ()
    """Rules of the type, as sentences; the rest of the description. Some
    providers drop all keywords but the description."""


def described(shape: Shape, text: str) -> Shape:
    """Return the shape with a text that says what it is for."""
    return _worded(replace(shape, text=text))


def noted(shape: Shape, *notes: str, **keywords: Any) -> Shape:
    """Return the shape with further sentences and keywords in its schema."""
    more = replace(shape, notes=(*shape.notes, *notes), schema={**shape.schema, **keywords})
    return _worded(more)


def _worded(shape: Shape) -> Shape:
    text = shape.text
    if shape.notes and text[-1:].isalnum():
        text += "."
    words = " ".join(part for part in (text, *shape.notes) if part)
    schema = {**shape.schema, **({"description": words} if words else {})}
    return replace(shape, schema=schema)


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
    _done: dict[Hashable, Shape] = field(default_factory=dict)
    _open: dict[Hashable, str | None] = field(default_factory=dict)
    _later: list[Callable[[], None]] = field(default_factory=list)
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
        while self._depth == 0 and self._later:
            self._later.pop(0)()
        return found

    def later(self, finish: Callable[[], None]) -> None:
        """Have something done as soon as all definitions are complete."""
        self._later.append(finish)

    def named(self, key: Hashable, name: str, build: Callable[[], Shape], *kinds: type) -> Shape:
        """Return the shape of a type that may refer to itself.

        It is written out wherever it is used, unless it is recursive: then it
        goes to ``$defs``.

        Args:
            key: What tells the type from others.
            name: Its name for ``$defs``.
            build: Makes its shape.
            kinds: The classes of its values.
        """
        done = self._done
        if key in done:
            return done[key]
        if key in self._open:
            self._open[key] = self._open[key] or self.free_name(name)
            # Only `done` is kept, not the builder, which holds the caller's locals.
            return Shape(
                {"$ref": f"#/$defs/{self._open[key]}"},
                load=lambda value: done[key].load(value),  # noqa: PLW0108 - not there yet
                dump=lambda value: done[key].dump(value),  # noqa: PLW0108
                kinds=kinds,
            )
        self._open[key] = None
        shape = build()
        recursive = self._open.pop(key)
        if recursive:
            self.definitions[recursive] = shape.schema
            shape = replace(
                shape, schema={"$ref": f"#/$defs/{recursive}"}, size=1, text="", notes=()
            )
        done[key] = shape
        return shape

    def resolved(self, schema: Mapping[str, Any]) -> Mapping[str, Any]:
        """Return a schema, or what its reference means, once that is complete."""
        name = schema.get("$ref", "").rpartition("/")[2]
        return self.definitions[name] if name else schema

    def root(self, schema: Mapping[str, Any]) -> dict[str, Any]:
        """Return a schema as the root of a document, with ``$defs`` where needed."""
        expanded = dict(self.resolved(schema))
        if self.definitions:
            expanded["$defs"] = dict(self.definitions)
        return expanded

    def refused(self, where: str, reason: str) -> DefinitionError:
        """Return the error that says what is wrong where."""
        return DefinitionError(reason, tool=self.tool, parameter=where)

    def free_name(self, wanted: str) -> str:
        """Return a name for ``$defs`` that is not taken."""
        plain = "".join(c if c.isascii() and (c.isalnum() or c == "_") else "_" for c in wanted)
        taken = {name for name in (*self.definitions, *self._open.values()) if name}
        name, number = plain, 1
        while name in taken:
            number += 1
            name = f"{plain}_{number}"
        return name

    def _convert(self, annotation: Any, where: str) -> Shape:
        for converter in self.converters:
            shape = converter(annotation, self, where)
            if shape is not None:
                return shape
        msg = f"{type_name(annotation)} is not a type that a tool can take or return"
        raise self.refused(where, msg)


Converter = Callable[[Any, Builder, str], Shape | None]
"""Makes the shape of the types that it knows; ``None`` for all others. A type
is added by adding one of these to `types.CONVERTERS`."""
