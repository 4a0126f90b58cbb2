"""``Annotated``, its texts, rules, examples and aliases; NewType and ``type`` aliases."""

from __future__ import annotations

import json
import typing
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from typing_inspection import typing_objects

from ..generics import key_of, substituted, variables_of
from ..markers import Alias, Examples
from ..scope import alias_target
from ..shape import Builder, Misfit, Shape, described, noted, type_name
from .loaded import loaded
from .marshmallow_schemas import schema_in
from .rules import constrained, rules_of

__all__ = ["FieldType", "alias_value", "annotated_value", "field_type"]

# Their metadata are rules; to pass over a rule in silence would be worse than to refuse.
_RULE_PACKAGES = frozenset({"annotated_types", "marshmallow", "msgspec", "pydantic"})
_EXAMPLES_LIMIT = 200


@dataclass(frozen=True, slots=True)
class FieldType:
    """The type of a field, and what its annotation says of the field itself."""

    annotation: Any
    """The type."""
    alias: str | None
    """The field's JSON name, where it says one."""
    required: bool | None
    """What ``Required`` or ``NotRequired`` say."""


def field_type(annotation: Any) -> FieldType:
    """Part a field's annotation into its type and what is said of the field."""
    alias, required = None, None
    metadata: list[Any] = []
    while True:
        origin = typing.get_origin(annotation)
        if typing_objects.is_annotated(origin):
            metadata[:0] = annotation.__metadata__
            annotation = annotation.__origin__
        elif typing_objects.is_required(origin) or typing_objects.is_notrequired(origin):
            required = typing_objects.is_required(origin)
            annotation = typing.get_args(annotation)[0]
        elif typing_objects.is_readonly(origin) or typing_objects.is_final(origin):
            annotation = typing.get_args(annotation)[0]
        else:
            break
    rest = []
    for item in _flat(metadata):
        if isinstance(item, Alias):
            alias = item.name
        else:
            rest.append(item)
    kept = typing.Annotated[(annotation, *rest)] if rest else annotation
    return FieldType(kept, alias, required)


def annotated_value(annotation: Any, builder: Builder, where: str) -> Shape | None:
    """Convert ``Annotated``; see `shape.Converter`."""
    if not typing_objects.is_annotated(typing.get_origin(annotation)):
        return None
    # A marshmallow schema there says how to make the type.
    schema = schema_in(annotation)
    shape = builder.shape(annotation.__origin__ if schema is None else schema, where)
    examples: list[Any] = []
    for item in _flat(annotation.__metadata__):
        if item is schema:
            continue
        if isinstance(item, str):
            shape = described(shape, item)
        elif isinstance(item, Examples):
            examples += item.values
        elif isinstance(item, Alias):
            msg = "an Alias names a parameter or a field; put it around the whole of its type"
            raise builder.refused(where, msg)
        else:
            shape = _with_rule(shape, item, annotation.__origin__, builder, where)
    return _with_examples(shape, examples, builder, where) if examples else shape


def _flat(metadata: Any) -> Iterator[Any]:
    """Take apart what stands for several items."""
    field_info = loaded("pydantic.fields", "FieldInfo")
    for item in metadata:
        if type(item).__name__ in {"Doc", "DocInfo"} and isinstance(
            getattr(item, "documentation", None), str
        ):
            yield item.documentation
        elif field_info is not None and isinstance(item, field_info):
            yield from _of_pydantic(item)
        else:
            yield item


def _of_pydantic(info: Any) -> Iterator[Any]:
    if info.description:
        yield info.description
    if info.alias:
        yield Alias(info.alias)
    if info.examples:
        yield Examples(*info.examples)
    yield from info.metadata
    if not info.is_required():
        yield info  # a default, which belongs to the parameter; refused as unknown


def _with_rule(shape: Shape, item: Any, annotation: Any, builder: Builder, where: str) -> Shape:
    try:
        found = rules_of(item)
    except ValueError as error:
        raise builder.refused(where, f"{error}; change it") from error
    if found is not None:
        return constrained(shape, found, annotation, builder, where)
    if type(item).__module__.partition(".")[0] in _RULE_PACKAGES:
        msg = (
            f"{type(item).__name__} in Annotated is no rule that a tool knows; "
            "check it in the handler and reject, and give defaults in the signature"
        )
        raise builder.refused(where, msg)
    return shape


def _with_examples(shape: Shape, values: list[Any], builder: Builder, where: str) -> Shape:
    try:
        plain = [shape.dump(value) for value in values]
    except Misfit as misfit:
        msg = f"an example {misfit.reason}; change the example or the type"
        raise builder.refused(where, msg) from misfit
    text = ", ".join(json.dumps(value, ensure_ascii=False) for value in plain)
    note = [f"Examples: {text}."] if len(text) <= _EXAMPLES_LIMIT else []
    return noted(shape, *note, examples=json.loads(json.dumps(plain)))


def alias_value(annotation: Any, builder: Builder, where: str) -> Shape | None:
    """Convert NewType and ``type`` aliases; see `shape.Converter`."""
    if typing_objects.is_newtype(annotation):
        return builder.shape(annotation.__supertype__, where)
    alias = typing.get_origin(annotation) or annotation
    if not typing_objects.is_typealiastype(alias):
        return None
    arguments = typing.get_args(annotation)
    mapping = variables_of(alias.__type_params__, arguments)
    if len(arguments) > len(mapping) or len(mapping) < len(alias.__type_params__):
        msg = f"{type_name(annotation)} is generic; write the types that it is used with"
        raise builder.refused(where, msg)

    def build() -> Shape:
        target = alias_target(alias, builder.scope, builder.tool)
        return builder.shape(substituted(target, mapping), where)

    return builder.named(key_of(annotation), alias.__name__, build)
