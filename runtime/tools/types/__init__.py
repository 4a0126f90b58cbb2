"""The types that tools take and return: a converter for each kind.

A new type is a new converter in `CONVERTERS`. Loaded by the first definition.
"""

from __future__ import annotations

from ..shape import Converter
from .annotated import alias_value, annotated_value
from .choices import enum_value, literal_value
from .classes import attrs_value, dataclass_value, named_tuple_value, typed_dict_value
from .containers import dict_value, list_value, set_value, tuple_value
from .marshmallow_schemas import marshmallow_value
from .pydantic_models import pydantic_value
from .scalars import scalar
from .texts import text_value
from .unions import union_value
from .unsupported import unsupported

__all__ = ["CONVERTERS"]

CONVERTERS: tuple[Converter, ...] = (
    scalar,
    annotated_value,
    alias_value,
    union_value,
    enum_value,
    literal_value,
    text_value,
    list_value,
    tuple_value,
    set_value,
    dict_value,
    pydantic_value,
    marshmallow_value,
    typed_dict_value,
    named_tuple_value,
    attrs_value,
    dataclass_value,
    unsupported,
)
"""Asked in this order; the last one refuses with advice."""
