"""Objects with named fields: parameter lists, and classes of every kind."""

from __future__ import annotations

import copy
import inspect
import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from .bulk import whole
from .columns import Column, bulk_dump, bulk_load, refusing
from .shape import Builder, Bulk, Misfit, Shape, described, noted, wrong_type

__all__ = [
    "NO_DEFAULT",
    "Field",
    "construct",
    "field_of",
    "is_record",
    "record_shape",
    "with_default",
]

NO_DEFAULT: Any = inspect.Parameter.empty
"""Stands for "has no default"."""

_DEFAULT_TEXT_LIMIT = 200


@dataclass(frozen=True, slots=True)
class Field:
    """One named value of a record."""

    name: str
    """Its name in Python."""
    wire: str
    """Its name in JSON."""
    shape: Shape
    """Its type, with description and default in the schema."""
    required: bool
    """Whether JSON has to have it."""
    default: Callable[[], Any] | None = None
    """Makes a fresh default; ``None`` where it is left out if it is not there."""
    argument: str | None = None
    """What the constructor calls it, if not by its name."""


def field_of(
    name: str,
    shape: Shape,
    *,
    builder: Builder,
    where: str,
    wire: str | None = None,
    text: str | None = None,
    default: Any = NO_DEFAULT,
) -> Field:
    """Return a field, with its default checked and written into the schema.

    Args:
        name: The field's name.
        shape: Its type.
        builder: Whose field it is, for messages.
        where: The field, for messages.
        wire: Its name in JSON, if another.
        text: Its description, unless the type brings one.
        default: The default value, or `NO_DEFAULT`.

    Raises:
        DefinitionError: The default is not of the type, or can't be copied; or
            the name in JSON is none.
    """
    wire = _checked_wire(name if wire is None else wire, builder, where)
    if text and not shape.text:
        shape = described(shape, text)
    if default is NO_DEFAULT:
        return Field(name, wire, shape, required=True)
    try:
        plain, kept = shape.dump(default), copy.deepcopy(default)
    except Misfit as misfit:
        msg = f"its default {misfit.reason}; change the default or the type"
        raise builder.refused(where, msg) from misfit
    except (TypeError, RecursionError, copy.Error) as error:
        msg = f"its default can't be copied for each call ({error}); use a default_factory"
        raise builder.refused(where, msg) from error
    make = (lambda: kept) if copy.deepcopy(kept) is kept else (lambda: copy.deepcopy(kept))
    return Field(name, wire, with_default(shape, plain), required=False, default=make)


def _checked_wire(wire: Any, builder: Builder, where: str) -> str:
    if not isinstance(wire, str) or not wire or not wire.isprintable():
        msg = f"{wire!r:.80} can't be a name in JSON; use printable text"
        raise builder.refused(where, msg)
    return wire


def with_default(shape: Shape, plain: Any) -> Shape:
    """Return the shape with a default, as JSON, in its schema."""
    # In the description too: some providers drop `default` before the model reads it.
    text = json.dumps(plain, ensure_ascii=False)
    return noted(
        shape,
        *([f"Default: {text}."] if len(text) <= _DEFAULT_TEXT_LIMIT else []),
        default=plain,
    )


def construct(make: Callable[..., Any], data: dict[str, Any]) -> Any:
    """Call a constructor; what it refuses is a misfit, without its words."""
    try:
        return make(**data)
    except (TypeError, ValueError) as error:
        raise refusing(error) from error


def is_record(schema: Mapping[str, Any]) -> bool:
    """Tell whether a schema is an object with named fields."""
    return schema.get("type") == "object" and "properties" in schema


def record_shape(
    members: list[Field],
    *,
    make: Callable[[dict[str, Any]], Any],
    instance_of: type,
    builder: Builder,
    where: str,
    cls: type | None = None,
) -> Shape:
    """Return the shape of an object with these fields and no others.

    Args:
        members: The fields, in the order of the schema.
        make: Makes the value of its fields by name.
        instance_of: What dumped values have to be an instance of; a dict is
            read by key, anything else by attribute.
        builder: Whose record it is, for messages.
        where: The record, for messages.
        cls: The class that ``make`` constructs, where it does nothing else.

    Raises:
        DefinitionError: Two fields have the same name in JSON.
    """
    for number, one in enumerate(members):
        if any(one.wire == other.wire for other in members[:number]):
            msg = f"two fields have the JSON name {one.wire!r}; give one of them an Alias"
            raise builder.refused(where, msg)
    load = _loader(members, make)
    dump = _item_dumper(members) if instance_of is dict else _dumper(members, instance_of)
    return Shape(
        _object_schema(members),
        load=load,
        dump=dump,
        size=1 + sum(one.shape.size for one in members),
        kinds=(instance_of,),
        loads=_loads(members, load, make, cls),
        dumps=_dumps(members, dump, instance_of),
    )


def _loads(
    members: list[Field], load: Callable[[Any], Any], make: Callable[[Any], Any], cls: type | None
) -> Bulk:
    columns = [
        Column(
            one.wire,
            one.argument or one.name,
            whole(one.shape.loads, one.shape.load),
            one.required,
            one.default,
        )
        for one in members
    ]
    return bulk_load(load, columns, make, cls)


def _dumps(members: list[Field], dump: Callable[[Any], Any], instance_of: type) -> Bulk | None:
    columns = [
        Column(one.name, one.wire, whole(one.shape.dumps, one.shape.dump)) for one in members
    ]
    return bulk_dump(dump, columns, instance_of)


def _loader(members: list[Field], make: Callable[[dict[str, Any]], Any]) -> Callable[[Any], Any]:
    known = frozenset(one.wire for one in members)
    steps = [
        (one.wire, one.argument or one.name, one.shape.load, one.required, one.default)
        for one in members
    ]

    def load(value: Any) -> Any:
        if not isinstance(value, dict):
            wrong_type("an object", value)
        if not known.issuperset(value):
            msg = "has a field that is not known; leave it out"
            raise Misfit(msg)
        data: dict[str, Any] = {}
        wire = ""
        try:
            for wire, name, convert, required, default in steps:
                if wire in value:
                    data[name] = convert(value[wire])
                elif required:
                    msg = "is required"
                    raise Misfit(msg)  # noqa: TRY301 - caught to learn its path
                elif default is not None:
                    data[name] = default()
        except Misfit as misfit:
            misfit.within(wire)
            raise
        return make(data)

    return load


def _dumper(members: list[Field], kind: type) -> Callable[[Any], dict[str, Any]]:
    steps = [(one.name, one.wire, one.shape.dump) for one in members]

    def dump(value: Any) -> dict[str, Any]:
        if not isinstance(value, kind):
            wrong_type(f"a {kind.__name__}", value)
        data: dict[str, Any] = {}
        name = ""
        try:
            for name, wire, convert in steps:
                data[wire] = convert(getattr(value, name, NO_DEFAULT))
        except Misfit as misfit:
            if not hasattr(value, name):
                misfit.reason = "is missing"
            misfit.within(name)
            raise
        return data

    return dump


def _item_dumper(members: list[Field]) -> Callable[[Any], dict[str, Any]]:
    known = frozenset(one.name for one in members)
    steps = [(one.name, one.wire, one.shape.dump, one.required) for one in members]

    def dump(value: Any) -> dict[str, Any]:
        if not isinstance(value, dict):
            wrong_type("a dict", value)
        if not known.issuperset(value):
            msg = "has a key that its type does not know"
            raise Misfit(msg)
        data: dict[str, Any] = {}
        name = ""
        try:
            for name, wire, convert, required in steps:
                if required or name in value:
                    data[wire] = convert(value.get(name, NO_DEFAULT))
        except Misfit as misfit:
            if name not in value:
                misfit.reason = "is missing"
            misfit.within(name)
            raise
        return data

    return dump


def _object_schema(members: list[Field]) -> Mapping[str, Any]:
    required = [one.wire for one in members if one.required]
    return {
        "type": "object",
        "properties": {one.wire: one.shape.schema for one in members},
        **({"required": required} if required else {}),
        "additionalProperties": False,
    }
