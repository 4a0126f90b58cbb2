"""From a handler to its schemas and its plan."""

from __future__ import annotations

import dataclasses
from typing import Any

from ...errors import DefinitionError
from .converters import SIMPLE_CONVERTERS
from .docstrings import parameter_texts
from .handler import Handler, Signature, handler_docstring, read_signature
from .plan import Plan
from .records import NO_DEFAULT, dataclass_shape, field_of, record_shape
from .scope import Scope
from .shape import Builder, Shape
from .validation import Validator

__all__ = ["compile_plan"]

_CONVERTERS = (*SIMPLE_CONVERTERS[:-1], dataclass_shape, SIMPLE_CONVERTERS[-1])


def compile_plan(
    tool: str, handler: Handler, scope: Scope
) -> tuple[Plan, dict[str, Any], dict[str, Any]]:
    """Make everything that calls of a handler need.

    Args:
        tool: The tool's name, for messages.
        handler: What the tool calls.
        scope: Where the tool is defined.

    Returns:
        The plan, the input schema and the output schema.

    Raises:
        DefinitionError: The handler can't be a tool; says why.
    """
    signature = read_signature(handler, scope, tool)
    taking = Builder(tool, scope, "input", _CONVERTERS)
    giving = Builder(tool, scope, "output", _CONVERTERS)
    record = _record_parameter(signature, tool)
    given = _input_shape(signature, record, handler, taking)
    result = giving.shape(signature.returns, "return")
    input_schema = taking.root(given.schema)
    output_schema, wrapped = _output_schema(result, giving)
    plan = Plan(
        tool=tool,
        handler=handler,
        is_async=signature.is_async,
        context=signature.context,
        record=record,
        input=given,
        output=result,
        wrapped=wrapped,
        accepts=Validator(input_schema),
        returns=Validator(output_schema),
    )
    return plan, input_schema, output_schema


def _record_parameter(signature: Signature, tool: str) -> str | None:
    """Return the only parameter, where it is a dataclass."""
    if len(signature.parameters) != 1:
        return None
    only = signature.parameters[0]
    if not (isinstance(only.annotation, type) and dataclasses.is_dataclass(only.annotation)):
        return None
    if only.default is not NO_DEFAULT:
        msg = "its fields are the arguments; remove its default and give the fields defaults"
        raise DefinitionError(msg, tool=tool, parameter=only.name)
    return only.name


def _input_shape(
    signature: Signature, record: str | None, handler: Handler, builder: Builder
) -> Shape:
    if record is not None:
        return builder.shape(signature.parameters[0].annotation, record)
    texts = parameter_texts(handler_docstring(handler))
    members = [
        field_of(
            one.name,
            builder.shape(one.annotation, one.name),
            text=texts.get(one.name),
            default=one.default,
            builder=builder,
            where=one.name,
        )
        for one in signature.parameters
    ]
    return record_shape(members, make=dict, instance_of=dict)


def _output_schema(result: Shape, builder: Builder) -> tuple[dict[str, Any], bool]:
    schema = builder.root(result.schema)
    if schema.get("type") == "object":
        return schema, False
    # Clients of several revisions drop tools whose output is not an object.
    wrapped = {
        "type": "object",
        "properties": {"result": result.schema},
        "required": ["result"],
        "additionalProperties": False,
    }
    return builder.root(wrapped), True
