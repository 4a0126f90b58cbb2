"""From a handler to its schemas and its plan."""

from __future__ import annotations

import dataclasses
from typing import Any

from ...errors import DefinitionError
from .converters import SIMPLE_CONVERTERS
from .docstrings import parameter_texts
from .handler import Handler, Signature, handler_docstring, read_signature
from .overrides import Overrides, input_override, output_override, wrapped_schema
from .plan import Plan
from .portable import check_names, portable, root_fault
from .records import NO_DEFAULT, dataclass_shape, field_of, record_shape
from .scope import Scope
from .shape import Builder, Converter, Shape
from .untyped import is_open_object, untyped_shape
from .validation import Validator

__all__ = ["compile_plan"]

_CONVERTERS = (*SIMPLE_CONVERTERS[:-1], dataclass_shape, SIMPLE_CONVERTERS[-1])


def compile_plan(
    tool: str, handler: Handler, scope: Scope, overrides: Overrides
) -> tuple[Plan, dict[str, Any], dict[str, Any]]:
    """Make everything that calls of a handler need.

    Args:
        tool: The tool's name, for messages.
        handler: What the tool calls.
        scope: Where the tool is defined.
        overrides: The schemas that are given.

    Returns:
        The plan, the input schema and the output schema.

    Raises:
        DefinitionError: The handler can't be a tool; says why.
    """
    signature = read_signature(handler, scope, tool)
    taking = Builder(tool, scope, "input", _converters(overrides.input))
    giving = Builder(tool, scope, "output", _converters(overrides.output))
    record = _record_parameter(signature, tool, is_open=overrides.input is not None)
    given = _input_shape(signature, record, handler, taking)
    result = giving.shape(signature.returns, "return")
    input_schema, accepts = _input_schema(given, taking, overrides)
    output_schema, wrapped, returns = _output_schema(result, giving, overrides)
    plan = Plan(
        tool=tool,
        handler=handler,
        is_async=signature.is_async,
        context=signature.context,
        record=record,
        input=given,
        output=result,
        wrapped=wrapped,
        accepts=accepts,
        returns=returns,
    )
    return plan, input_schema, output_schema


def _record_parameter(signature: Signature, tool: str, *, is_open: bool) -> str | None:
    """Return the only parameter, where it takes all the arguments."""
    if len(signature.parameters) != 1:
        return None
    only = signature.parameters[0]
    is_dataclass = isinstance(only.annotation, type) and dataclasses.is_dataclass(only.annotation)
    if not is_dataclass and not (is_open and is_open_object(only.annotation)):
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


def _input_schema(
    given: Shape, builder: Builder, overrides: Overrides
) -> tuple[dict[str, Any], Validator]:
    typed = builder.root(given.schema)
    if overrides.input is None:
        schema = portable(typed, builder.tool, "input")
        accepts = Validator(schema)
    else:
        schema, accepts = input_override(overrides.input, typed, builder.tool)
    check_names(schema, builder.tool)
    return schema, accepts


def _output_schema(
    result: Shape, builder: Builder, overrides: Overrides
) -> tuple[dict[str, Any], bool, Validator]:
    def typed(wrapped: bool) -> dict[str, Any]:
        return builder.root(wrapped_schema(result.schema) if wrapped else result.schema)

    if overrides.output is not None:
        return output_override(overrides.output, typed, builder.tool)
    wrapped = root_fault(typed(False)) is not None
    schema = portable(typed(wrapped), builder.tool, "return")
    return schema, wrapped, Validator(schema)


def _converters(override: object) -> tuple[Converter, ...]:
    return _CONVERTERS if override is None else (untyped_shape, *_CONVERTERS)
