"""From a handler to its schemas and its plan."""

from __future__ import annotations

from typing import Any

from .docstrings import parameter_texts
from .handler import Handler, Parameter, Signature, handler_docstring, read_signature
from .overrides import Overrides, input_override, output_override, wrapped_schema
from .plan import Plan
from .portable import check_names, portable, root_fault
from .records import NO_DEFAULT, Field, field_of, is_record, record_shape
from .scope import Scope
from .shape import Builder, Converter, Shape
from .types import CONVERTERS
from .types.annotated import field_type
from .untyped import is_open_object, untyped_shape
from .validation import Validator

__all__ = ["compile_plan"]


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
    record, given = _input(signature, handler, taking)
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


def _input(signature: Signature, handler: Handler, builder: Builder) -> tuple[str | None, Shape]:
    """Return the parameter that takes all arguments, if one does, and their shape."""
    parameters = signature.parameters
    if len(parameters) == 1:
        shape = _record(parameters[0], builder)
        if shape is not None:
            return parameters[0].name, shape
    texts = parameter_texts(handler_docstring(handler))
    members = [_member(one, texts.get(one.name), builder) for one in parameters]
    return None, record_shape(members, make=dict, instance_of=dict, builder=builder, where="")


def _record(only: Parameter, builder: Builder) -> Shape | None:
    """Return the shape of an only parameter whose fields are the arguments."""
    kind = field_type(only.annotation)
    shape = builder.shape(kind.annotation, only.name)
    is_all = is_record(builder.resolved(shape.schema))
    if not is_all and not is_open_object(only.annotation):
        return None
    if only.default is not NO_DEFAULT or kind.alias is not None:
        msg = (
            "its fields are the arguments; remove its default and its Alias, and give the "
            "fields defaults"
        )
        raise builder.refused(only.name, msg)
    return shape


def _member(parameter: Parameter, text: str | None, builder: Builder) -> Field:
    kind = field_type(parameter.annotation)
    return field_of(
        parameter.name,
        builder.shape(kind.annotation, parameter.name),
        builder=builder,
        where=parameter.name,
        wire=kind.alias,
        text=text,
        default=parameter.default,
    )


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
    return CONVERTERS if override is None else (untyped_shape, *CONVERTERS)
