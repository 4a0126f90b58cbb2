"""What the fields of marshmallow are in JSON Schema."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from typing import Any

import marshmallow
from marshmallow import fields

from ..records import with_default
from ..shape import Builder, Shape, described, noted
from .marshmallow_validators import validated
from .schemas import fixed_array, schema_only
from .texts import DECIMAL_PATTERN
from .unions import or_null

__all__ = ["schema_of"]


def schema_of(schema: marshmallow.Schema, builder: Builder) -> tuple[Mapping[str, Any], int]:
    """Return the JSON Schema of a marshmallow schema, and its size.

    Args:
        schema: The schema.
        builder: Whose type it is, with the direction.

    Raises:
        DefinitionError: A field says too little of its JSON.
    """
    cls = type(schema)
    parts = (schema.only, schema.exclude, schema.partial)
    key = (cls, schema.unknown, *(_frozen(part) for part in parts))
    shape = builder.named(key, cls.__name__, lambda: _object(schema, builder))
    if schema.many:
        shape = _array(shape)
    return shape.schema, shape.size


def _frozen(part: Any) -> Any:
    return part if part is None or isinstance(part, bool) else frozenset(part)


def _object(schema: marshmallow.Schema, builder: Builder) -> Shape:
    incoming = builder.direction == "input"
    known = schema.load_fields if incoming else schema.dump_fields
    properties: dict[str, Any] = {}
    required: list[str] = []
    size = 1
    for name, field in known.items():
        wire = name if field.data_key is None else field.data_key
        shape = _member(field, builder, f"{type(schema).__name__}.{name}")
        properties[wire] = shape.schema
        size += shape.size
        if _is_required(name, field, schema, incoming=incoming):
            required.append(wire)
    is_open = incoming and schema.unknown != marshmallow.RAISE
    json_schema = {
        "type": "object",
        "properties": properties,
        **({"required": required} if required else {}),
        **({} if is_open else {"additionalProperties": False}),
    }
    return schema_only(json_schema, size)


def _is_required(
    name: str, field: fields.Field[Any], schema: marshmallow.Schema, *, incoming: bool
) -> bool:
    if not incoming and field.dump_default is not marshmallow.missing:
        return True
    partial = schema.partial
    return field.required and partial is not True and not (partial and name in partial)


def _member(field: Any, builder: Builder, where: str) -> Shape:
    shape = _field(field, builder, where)
    for validator in field.validators:
        shape = validated(shape, validator)
    text = field.metadata.get("description")
    if isinstance(text, str):
        shape = described(shape, text)
    if field.allow_none and "anyOf" not in shape.schema:
        shape = or_null(shape)
    default = field.load_default
    if builder.direction == "output" or default is marshmallow.missing or callable(default):
        return shape
    try:
        plain = json.loads(json.dumps(field.serialize("x", {"x": default})))
    except (ValueError, TypeError, AttributeError):  # for people, not for JSON
        return shape
    return with_default(shape, plain)


def _field(field: Any, builder: Builder, where: str) -> Shape:
    for cls in type(field).__mro__:
        if cls in _FIELDS:
            return _FIELDS[cls](field, builder, where)
    msg = (
        f"the field {type(field).__name__} does not say what its JSON is; write a field "
        "with a type, such as String or Nested"
    )
    raise builder.refused(where, msg)


def _array(item: Shape) -> Shape:
    return schema_only({"type": "array", "items": item.schema}, item.size + 1)


def _list(field: Any, builder: Builder, where: str) -> Shape:
    return _array(_member(field.inner, builder, f"{where}[]"))


def _tuple(field: Any, builder: Builder, where: str) -> Shape:
    return fixed_array(
        [
            _member(one, builder, f"{where}[{number}]")
            for number, one in enumerate(field.tuple_fields)
        ]
    )


def _mapping(field: Any, builder: Builder, where: str) -> Shape:
    if field.value_field is None:
        msg = "does not say what its values are; give it `values=`"
        raise builder.refused(where, msg)
    if field.key_field is not None and type(field.key_field) is not fields.String:
        msg = "has keys that are not String; JSON has no others"
        raise builder.refused(where, msg)
    value = _member(field.value_field, builder, f"{where}{{}}")
    return schema_only({"type": "object", "additionalProperties": value.schema}, value.size + 1)


def _nested(field: Any, builder: Builder, _where: str) -> Shape:
    schema, size = schema_of(field.schema, builder)
    # `many` may be of the field and of the schema; one of them is enough.
    if field.many and not field.schema.many:
        return _array(schema_only(schema, size))
    return schema_only(schema, size)


def _pluck(field: Any, builder: Builder, where: str) -> Shape:
    item = _member(field.schema.fields[field.field_name], builder, where)
    return _array(item) if field.many or field.schema.many else item


def _enum(field: Any, builder: Builder, where: str) -> Shape:
    names = [one.value if field.by_value else one.name for one in field.enum]
    kinds = {type(name) for name in names}
    if kinds not in ({str}, {int}):
        msg = f"Enum {field.enum.__name__} must have str values only or int values only"
        raise builder.refused(where, msg)
    return schema_only({"type": "string" if kinds == {str} else "integer", "enum": names})


def _constant(field: Any, builder: Builder, where: str) -> Shape:
    kind = {str: "string", int: "integer", bool: "boolean"}.get(type(field.constant))
    if kind is None:
        msg = "a Constant must be a str, an int or a bool"
        raise builder.refused(where, msg)
    return schema_only({"type": kind, "enum": [field.constant]})


def _number(name: str) -> Callable[..., Shape]:
    def shape(field: Any, builder: Builder, _where: str) -> Shape:
        if not field.as_string:
            return schema_only({"type": name})
        text = {"type": "string", "pattern": DECIMAL_PATTERN}
        if builder.direction == "output":
            return schema_only(text)
        return schema_only({"anyOf": [text, {"type": name}]}, 3)

    return shape


def _decimal(field: Any, builder: Builder, where: str) -> Shape:
    if builder.direction == "output" and not field.as_string:
        msg = "makes a Decimal, which is no JSON; give it `as_string=True`"
        raise builder.refused(where, msg)
    text = {"type": "string", "pattern": DECIMAL_PATTERN}
    both = {"anyOf": [text, {"type": "integer"}]}
    shape = schema_only(text if builder.direction == "output" else both, 3)
    return noted(shape, 'Decimal number as a text, such as "12.50".')


def _temporal(iso: Mapping[str, str], note: str) -> Callable[..., Shape]:
    def shape(field: Any, _builder: Builder, _where: str) -> Shape:
        form = field.format or field.DEFAULT_FORMAT
        if form in {"timestamp", "timestamp_ms"}:
            unit = "seconds" if form == "timestamp" else "milliseconds"
            return noted(schema_only({"type": "number"}), f"Unix time in {unit}.")
        if form in {"iso", "iso8601"}:
            return noted(schema_only({"type": "string", **iso}), note)
        return noted(schema_only({"type": "string"}), f"Date or time in the format {form}.")

    return shape


def _noted(note: str, **keywords: str) -> Callable[..., Shape]:
    shape = noted(schema_only({"type": "string", **keywords}), note)
    return lambda _field, _builder, _where: shape


def _plain(name: str) -> Callable[..., Shape]:
    return lambda _field, _builder, _where: schema_only({"type": name})


_FIELDS: dict[Any, Callable[..., Shape]] = {
    fields.String: _plain("string"),
    fields.Boolean: _plain("boolean"),
    fields.Integer: _number("integer"),
    fields.Float: _number("number"),
    fields.Decimal: _decimal,
    fields.UUID: _noted("UUID.", format="uuid"),
    fields.Email: _noted("Email address."),
    fields.Url: _noted("URL."),
    fields.IP: _noted("IP address."),
    fields.IPv4: _noted("IPv4 address.", format="ipv4"),
    fields.IPv6: _noted("IPv6 address.", format="ipv6"),
    fields.DateTime: _temporal(
        {"format": "date-time"},
        "RFC 3339 date and time with offset, such as 2026-01-31T09:30:00Z.",
    ),
    fields.NaiveDateTime: _temporal(
        {}, "ISO 8601 date and time without offset, such as 2026-01-31T09:30:00."
    ),
    fields.Date: _temporal({"format": "date"}, "RFC 3339 date, such as 2026-01-31."),
    fields.Time: _temporal({}, "ISO 8601 time, such as 09:30:00."),
    fields.TimeDelta: lambda field, _builder, _where: noted(
        schema_only({"type": "number"}), f"Duration in {field.precision}."
    ),
    fields.Enum: _enum,
    fields.Constant: _constant,
    fields.List: _list,
    fields.Tuple: _tuple,
    fields.Mapping: _mapping,
    fields.Nested: _nested,
    fields.Pluck: _pluck,
}
