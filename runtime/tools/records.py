"""Dataclasses and parameter lists: a marshmallow schema over shapes.

JSON Schema has judged the values before; marshmallow's part is the walk over
the fields, their defaults, and the object at the end. Its own number, boolean
and date fields are not used: they take "5" for 5 and "yes" for true.
"""

from __future__ import annotations

import copy
import dataclasses
import inspect
import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from marshmallow import Schema, fields, missing, post_load

from .docstrings import parameter_texts
from .scope import class_hints
from .shape import Builder, Misfit, Shape, at, described, wrong_type

__all__ = ["NO_DEFAULT", "Field", "dataclass_shape", "field_of", "record_shape"]

NO_DEFAULT: Any = inspect.Parameter.empty
"""Stands for "has no default"."""

_DEFAULT_TEXT_LIMIT = 200


@dataclass(frozen=True, slots=True)
class Field:
    """One named value of a record."""

    name: str
    """Its name, in Python and in JSON."""
    shape: Shape
    """Its type, with description and default in the schema."""
    default: Callable[[], Any] | None
    """Makes a fresh default; ``None`` where the value is required."""


def field_of(
    name: str, shape: Shape, *, text: str | None, default: Any, builder: Builder, where: str
) -> Field:
    """Return a field, with its default checked and written into the schema.

    Args:
        name: The field's name.
        shape: Its type.
        text: Its description, unless the type brings one.
        default: The default value, or `NO_DEFAULT`.
        builder: Whose field it is, for messages.
        where: The field, for messages.

    Raises:
        DefinitionError: The default is not of the type, or can't be copied.
    """
    if text and "description" not in shape.schema:
        shape = described(shape, text)
    if default is NO_DEFAULT:
        return Field(name, shape, None)
    try:
        plain, kept = shape.dump(default), copy.deepcopy(default)
    except Misfit as misfit:
        msg = f"its default {misfit.reason}; change the default or the type"
        raise builder.refused(where, msg) from misfit
    return Field(name, _with_default(shape, plain), lambda: copy.deepcopy(kept))


def _with_default(shape: Shape, plain: Any) -> Shape:
    # In the description too: some providers drop `default` before the model reads it.
    text = json.dumps(plain, ensure_ascii=False)
    schema = {**shape.schema, "default": plain}
    if len(text) <= _DEFAULT_TEXT_LIMIT:
        described_so_far = schema.get("description", "")
        schema["description"] = f"{described_so_far} Default: {text}.".lstrip()
    return dataclasses.replace(shape, schema=schema)


def dataclass_shape(annotation: Any, builder: Builder, _where: str) -> Shape | None:
    """Convert dataclasses; see `shape.Converter`."""
    if not (isinstance(annotation, type) and dataclasses.is_dataclass(annotation)):
        return None
    return builder.named(annotation, lambda: _dataclass(annotation, builder))


def _dataclass(cls: type, builder: Builder) -> Shape:
    hints = class_hints(cls, builder.scope, builder.tool)
    texts: dict[str, str] = {}
    for base in reversed(cls.__mro__):
        texts |= parameter_texts(base.__doc__)
    declared = dataclasses.fields(cls)
    if builder.direction == "input":
        _check_constructor(cls, builder)
        declared = tuple(one for one in declared if one.init)
    return record_shape(
        [_field(cls, one, hints[one.name], texts.get(one.name), builder) for one in declared],
        make=lambda data: _construct(cls, data),
        instance_of=cls,
    )


def _field(
    cls: type, declared: dataclasses.Field[Any], hint: Any, text: str | None, builder: Builder
) -> Field:
    where = f"{cls.__name__}.{declared.name}"
    shape = builder.shape(hint, where)
    output = builder.direction == "output"
    factory = declared.default_factory
    if output or factory is not dataclasses.MISSING:
        field = field_of(
            declared.name, shape, text=text, default=NO_DEFAULT, builder=builder, where=where
        )
        if output or factory is dataclasses.MISSING:
            return field
        # Other factories may count, draw lots or read a clock: they run in calls only.
        empty: Any = factory() if factory is list or factory is dict else NO_DEFAULT
        known = field.shape if empty is NO_DEFAULT else _with_default(field.shape, empty)
        return Field(declared.name, known, factory)
    default = NO_DEFAULT if declared.default is dataclasses.MISSING else declared.default
    return field_of(declared.name, shape, text=text, default=default, builder=builder, where=where)


def _check_constructor(cls: type, builder: Builder) -> None:
    takes = inspect.signature(cls).parameters
    fills = {one.name for one in dataclasses.fields(cls) if one.init}
    if set(takes) != fills:
        odd = ", ".join(sorted(set(takes) ^ fills))
        msg = (
            f"its constructor does not take exactly its fields (see {odd}); "
            "use neither InitVar nor an __init__ of its own"
        )
        raise builder.refused(cls.__name__, msg)


def _construct(cls: type, data: dict[str, Any]) -> Any:
    try:
        return cls(**data)
    except (TypeError, ValueError) as error:
        msg = "holds values that can't be used together"
        raise Misfit(msg) from error


class _ShapeField(fields.Field[Any]):
    """A field that leaves the conversion to a shape."""

    def __init__(self, field: Field) -> None:
        super().__init__(
            required=field.default is None,
            allow_none=True,
            attribute=field.name,
            data_key=field.name,
            load_default=missing if field.default is None else field.default,
        )
        self._field = field

    def _deserialize(self, value: Any, *_: Any, **__: Any) -> Any:
        return at(self._field.name, self._field.shape.load, value)

    def _serialize(self, value: Any, *_: Any, **__: Any) -> Any:
        return at(self._field.name, self._field.shape.dump, value)


class _RecordSchema(Schema):
    """A schema whose fields are named by position: no name can hide a method."""

    make: Callable[[dict[str, Any]], Any]

    def get_attribute(self, obj: Any, attr: str, default: Any) -> Any:
        # The default implementation would ask `obj[attr]` first.
        return getattr(obj, attr, default)

    @post_load
    def _make(self, data: dict[str, Any], **_: Any) -> Any:
        return self.make(data)


def record_shape(
    members: list[Field], *, make: Callable[[dict[str, Any]], Any], instance_of: type
) -> Shape:
    """Return the shape of an object with these fields and no others.

    Args:
        members: The fields, in the order of the schema.
        make: Makes the value of its fields by name.
        instance_of: What dumped values have to be an instance of.
    """
    by_position = {f"field_{number}": _ShapeField(one) for number, one in enumerate(members)}
    schema = _RecordSchema.from_dict(dict(by_position), name="Record")()
    schema.make = make  # type: ignore[attr-defined]

    def dump(value: Any) -> Any:
        if not isinstance(value, instance_of):
            wrong_type(f"a {instance_of.__name__}", value)
        return schema.dump(value)

    return Shape(
        _object_schema(members),
        load=schema.load,
        dump=dump,
        size=1 + sum(one.shape.size for one in members),
    )


def _object_schema(members: list[Field]) -> Mapping[str, Any]:
    required = [one.name for one in members if one.default is None]
    return {
        "type": "object",
        "properties": {one.name: one.shape.schema for one in members},
        **({"required": required} if required else {}),
        "additionalProperties": False,
    }
