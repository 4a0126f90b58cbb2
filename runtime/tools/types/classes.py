"""Dataclasses, NamedTuples, TypedDicts and attrs classes, generic or not.

attrs is not imported: a class that was made with it has brought it along.
"""

from __future__ import annotations

import dataclasses
import inspect
import sys
import typing
from collections.abc import Iterable, Mapping
from typing import Any

from typing_extensions import is_typeddict

from ..docstrings import parameter_texts
from ..generics import key_of, owner_variables, substituted
from ..records import NO_DEFAULT, Field, construct, field_of, record_shape, with_default
from ..scope import Declared, class_hints
from ..shape import Builder, Shape
from .annotated import FieldType, field_type
from .loaded import loaded

__all__ = ["attrs_value", "dataclass_value", "named_tuple_value", "typed_dict_value"]

# Factories of these names are safe to call at definition; others may count,
# draw lots or read a clock: they run in calls only.
_EMPTY = (list, dict, set, frozenset, tuple)


@dataclasses.dataclass(frozen=True, slots=True)
class _Member:
    """A field of a class, whatever kind of class it is."""

    declared: Declared
    """Its name, type and owner."""
    default: Any = NO_DEFAULT
    """Its default."""
    factory: Any = None
    """What makes its default in the constructor."""
    required: bool = True
    """Whether results have it."""
    metadata: Mapping[Any, Any] = dataclasses.field(default_factory=dict)
    """What the host noted of it."""
    argument: str | None = None
    """What the constructor calls it, if not by its name."""


def dataclass_value(annotation: Any, builder: Builder, _where: str) -> Shape | None:
    """Convert dataclasses; see `shape.Converter`."""
    cls = typing.get_origin(annotation) or annotation
    if not (isinstance(cls, type) and dataclasses.is_dataclass(cls)):
        return None
    declared = dataclasses.fields(cls)
    if builder.direction == "input":
        declared = tuple(one for one in declared if one.init)
    members = [
        _Member(
            Declared(one.name, one.type, _dataclass_owner(cls, one)),
            NO_DEFAULT if one.default is dataclasses.MISSING else one.default,
            None if one.default_factory is dataclasses.MISSING else one.default_factory,
            metadata=one.metadata,
        )
        for one in declared
    ]
    return _class_shape(annotation, members, builder)


def _dataclass_owner(cls: type, field: dataclasses.Field[Any]) -> type:
    """Return the class that declares a field; its subclasses share the object."""
    known = "__dataclass_fields__"
    return [base for base in cls.__mro__ if base.__dict__.get(known, {}).get(field.name) is field][
        -1
    ]


def named_tuple_value(annotation: Any, builder: Builder, where: str) -> Shape | None:
    """Convert NamedTuples, as objects with their fields; see `shape.Converter`."""
    cls = typing.get_origin(annotation) or annotation
    if not (isinstance(cls, type) and issubclass(cls, tuple) and hasattr(cls, "_fields")):
        return None
    owner = next(base for base in cls.__mro__ if "_fields" in base.__dict__)
    types = inspect.get_annotations(owner)
    made: Any = cls
    if set(types) != set(made._fields):
        msg = f"{cls.__name__} does not say what its fields hold; write a typing.NamedTuple"
        raise builder.refused(where, msg)
    members = [
        _Member(Declared(name, types[name], owner), made._field_defaults.get(name, NO_DEFAULT))
        for name in made._fields
    ]
    return _class_shape(annotation, members, builder)


def typed_dict_value(annotation: Any, builder: Builder, _where: str) -> Shape | None:
    """Convert TypedDicts; see `shape.Converter`."""
    cls = typing.get_origin(annotation) or annotation
    if not is_typeddict(cls):
        return None
    return _class_shape(annotation, _typed_dict_members(cls), builder)


def _typed_dict_members(cls: Any) -> list[_Member]:
    # Generic bases are told by no other means: a TypedDict inherits from dict only.
    found: dict[str, _Member] = {}
    for base in getattr(cls, "__orig_bases__", ()):
        origin = typing.get_origin(base) or base
        if is_typeddict(origin):
            found |= {one.declared.name: one for one in _typed_dict_members(origin)}
    for name, kind in inspect.get_annotations(cls).items():
        known = found.get(name)
        if known is None or known.declared.annotation is not kind:
            found[name] = _Member(Declared(name, kind, cls))
    # Where annotations are texts, this does not know `Required` yet; `field_type` does.
    required = cls.__required_keys__
    return [dataclasses.replace(one, required=name in required) for name, one in found.items()]


def attrs_value(annotation: Any, builder: Builder, _where: str) -> Shape | None:
    """Convert attrs classes; see `shape.Converter`."""
    cls = typing.get_origin(annotation) or annotation
    has = loaded("attr", "has")
    if has is None or not (isinstance(cls, type) and has(cls)):
        return None
    attr: Any = sys.modules["attr"]
    members = [
        _attrs_member(cls, one, attr)
        for one in attr.fields(cls)
        if one.init or builder.direction == "output"
    ]
    return _class_shape(annotation, members, builder)


def _attrs_member(cls: type, attribute: Any, attr: Any) -> _Member:
    owner = next(
        base
        for base in cls.__mro__
        for one in base.__dict__.get("__attrs_attrs__", ())
        if one.name == attribute.name and not one.inherited
    )
    has_factory = isinstance(attribute.default, attr.Factory)
    given = attribute.default is not attr.NOTHING and not has_factory
    plain_factory = has_factory and not attribute.default.takes_self
    return _Member(
        Declared(attribute.name, attribute.type, owner),
        attribute.default if given else NO_DEFAULT,
        (attribute.default.factory if plain_factory else object) if has_factory else None,
        metadata=attribute.metadata,
        argument=attribute.alias,
    )


def _class_shape(annotation: Any, members: list[_Member], builder: Builder) -> Shape:
    cls = typing.get_origin(annotation) or annotation
    is_dict = is_typeddict(cls)

    def build() -> Shape:
        if builder.direction == "input" and not is_dict:
            _check_constructor(cls, members, builder)
        hints = class_hints([one.declared for one in members], builder.scope, builder.tool)
        texts: dict[str, str] = {}
        for base in reversed(cls.__mro__):
            texts |= parameter_texts(base.__doc__)
        variables = owner_variables(annotation)
        fields = []
        for one in members:
            hint = substituted(hints[one.declared.name], variables.get(one.declared.owner, {}))
            text = texts.get(one.declared.name)
            fields.append(_field(cls, one, field_type(hint), text, builder))
        return record_shape(
            fields,
            make=dict if is_dict else lambda data: construct(cls, data),
            instance_of=dict if is_dict else cls,
            builder=builder,
            where=cls.__name__,
            cls=None if is_dict or builder.direction == "output" else cls,
        )

    return builder.named(key_of(annotation), cls.__name__, build, dict if is_dict else cls)


def _field(
    cls: type, member: _Member, kind: FieldType, text: str | None, builder: Builder
) -> Field:
    name = member.declared.name
    where = f"{cls.__name__}.{name}"
    told = member.metadata
    field = field_of(
        name,
        builder.shape(kind.annotation, where),
        builder=builder,
        where=where,
        wire=kind.alias or told.get("alias") or told.get("data_key") or member.argument,
        text=told.get("description") or text,
        default=NO_DEFAULT if builder.direction == "output" else member.default,
    )
    if builder.direction == "output" or is_typeddict(cls):
        required = member.required if kind.required is None else kind.required
        return dataclasses.replace(field, required=required)
    if member.factory is not None:
        shape = field.shape
        if member.factory in _EMPTY:
            shape = with_default(shape, shape.dump(member.factory()))
        # Left out, so that the constructor makes the default.
        return dataclasses.replace(field, shape=shape, required=False, argument=member.argument)
    return dataclasses.replace(field, argument=member.argument)


def _check_constructor(cls: type, members: Iterable[_Member], builder: Builder) -> None:
    # What has a field and is not among `fields` is either for the constructor
    # alone or of the class, and the constructor knows nothing of the latter.
    known = {one.name for one in dataclasses.fields(cls)} if dataclasses.is_dataclass(cls) else ()
    initial = [
        name
        for name in getattr(cls, "__dataclass_fields__", {})
        if name not in known and name in inspect.signature(cls).parameters
    ]
    if initial:
        msg = (
            f"{initial[0]} is an InitVar, which a result could not give back; make it a field, "
            "or compute it in the handler"
        )
        where = f"{cls.__name__}.{initial[0]}"
        raise builder.refused(where, msg)
    takes = set(inspect.signature(cls).parameters)
    fills = {one.argument or one.declared.name for one in members}
    if takes != fills:
        odd = ", ".join(sorted(takes ^ fills))
        msg = (
            f"its constructor does not take exactly its fields (see {odd}); "
            "leave __init__ as it is made"
        )
        raise builder.refused(cls.__name__, msg)
