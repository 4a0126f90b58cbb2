"""The JSON Schema of pydantic models, in the subset that every provider keeps.

Loaded by the first model that a tool uses.
"""

from __future__ import annotations

from typing import Any

from pydantic import TypeAdapter
from pydantic.errors import PydanticUndefinedAnnotation, PydanticUserError
from pydantic.json_schema import GenerateJsonSchema, JsonSchemaValue
from pydantic_core import core_schema

from ..shape import Builder, Shape
from .foreign import Foreign

__all__ = ["adapter_of", "schema_of"]


class _Closed(GenerateJsonSchema):
    """Refuses unknown fields, unless a model says what becomes of them."""

    def model_schema(self, schema: core_schema.ModelSchema) -> JsonSchemaValue:
        extra = schema["cls"].model_config.get("extra")
        return _closed(super().model_schema(schema), extra)

    def dataclass_schema(self, schema: core_schema.DataclassSchema) -> JsonSchemaValue:
        extra = getattr(schema["cls"], "__pydantic_config__", {}).get("extra")
        return _closed(super().dataclass_schema(schema), extra)

    def typed_dict_schema(self, schema: core_schema.TypedDictSchema) -> JsonSchemaValue:
        extra = schema.get("extra_behavior")
        return _closed(super().typed_dict_schema(schema), extra)


def _closed(schema: JsonSchemaValue, extra: str | None) -> JsonSchemaValue:
    if extra is None and "properties" in schema:
        schema.setdefault("additionalProperties", False)
    return schema


def adapter_of(cls: type, builder: Builder, where: str) -> TypeAdapter[Any]:
    """Return what validates and dumps a model.

    Raises:
        DefinitionError: The model is not complete.
    """
    try:
        adapter: TypeAdapter[Any] = TypeAdapter(cls)
        adapter.rebuild(raise_errors=True)
    except (PydanticUndefinedAnnotation, PydanticUserError) as error:
        msg = f"{cls.__name__} is no complete model: {error.message}"
        raise builder.refused(where, msg) from error
    return adapter


def schema_of(adapter: TypeAdapter[Any], cls: type, builder: Builder, where: str) -> Shape:
    """Return the schema of a model as a shape that converts nothing.

    Args:
        adapter: Knows the model.
        cls: The model.
        builder: Whose type it is, with the direction.
        where: The parameter or field, for messages.

    Raises:
        DefinitionError: Pydantic can't say what the model's JSON is, or a
            field says too little of it.
    """
    mode: Any = "validation" if builder.direction == "input" else "serialization"
    try:
        schema = adapter.json_schema(mode=mode, by_alias=True, schema_generator=_Closed)
    except PydanticUserError as error:
        msg = f"pydantic has no JSON Schema for {cls.__name__}: {error.message}"
        raise builder.refused(where, msg) from error
    return Foreign(builder, cls, schema.pop("$defs", {}), where).shape(schema)
