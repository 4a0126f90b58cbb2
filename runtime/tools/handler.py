"""A handler, looked at: its parameters, what it returns, what it says of itself."""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable
from dataclasses import dataclass
from types import FunctionType
from typing import Any

from ...errors import DefinitionError
from .context import Context
from .scope import Scope, function_hints

__all__ = ["Handler", "Parameter", "Signature", "handler_docstring", "read_signature"]

Handler = Callable[..., object]
"""A function, sync or async, or whatever can be called like one."""


@dataclass(frozen=True, slots=True)
class Parameter:
    """A parameter that the model fills in."""

    name: str
    """Its name."""
    annotation: Any
    """Its type, with names resolved."""
    default: Any
    """Its default, else `inspect.Parameter.empty`."""


@dataclass(frozen=True, slots=True)
class Signature:
    """What a tool has to know of its handler."""

    parameters: tuple[Parameter, ...]
    """What the model fills in, in order."""
    context: str | None
    """The parameter that takes the `Context`."""
    returns: Any
    """The type of the result, with names resolved."""
    is_async: bool
    """Whether it is written with ``async def``."""


def handler_docstring(handler: Handler) -> str | None:
    """Return the docstring of the function behind a handler."""
    function = _function_of(handler)
    return function.__doc__ if function else None


def read_signature(handler: Handler, scope: Scope, tool: str) -> Signature:
    """Read a handler's signature.

    Raises:
        DefinitionError: It can't be called by name with JSON values.
    """
    function = _function_of(handler)
    if function is None:
        msg = "the handler has no Python signature; wrap it in a function with annotations"
        raise DefinitionError(msg, tool=tool)
    # A decorator may make another kind of function of it.
    kinds = (function, _called(handler))
    if any(inspect.isgeneratorfunction(one) or inspect.isasyncgenfunction(one) for one in kinds):
        msg = "the handler is a generator; return a list instead of yielding"
        raise DefinitionError(msg, tool=tool)
    hints = function_hints(function, scope, tool)
    if "return" not in hints:
        msg = "the handler does not say what it returns; annotate it, with None for nothing"
        if function.__name__ == "<lambda>":
            msg = "the handler does not say what it returns, as no lambda can; write it with `def`"
        raise DefinitionError(msg, tool=tool, parameter="return")
    taken = [_checked(one, hints, function, tool) for one in _open_parameters(handler)]
    contexts = [one.name for one in taken if one.annotation is Context]
    if len(contexts) > 1:
        msg = "a handler takes at most one tool.Context; remove the others"
        raise DefinitionError(msg, tool=tool, parameter=contexts[1])
    return Signature(
        parameters=tuple(one for one in taken if one.annotation is not Context),
        context=contexts[0] if contexts else None,
        returns=hints["return"],
        is_async=any(map(inspect.iscoroutinefunction, kinds)),
    )


def _open_parameters(handler: Handler) -> list[inspect.Parameter]:
    bound: set[str] = set()
    if isinstance(handler, functools.partial):
        # A bound keyword is the host's; inspect shows it as one with a default.
        bound = set(handler.keywords)
    return [one for one in inspect.signature(handler).parameters.values() if one.name not in bound]


def _checked(
    parameter: inspect.Parameter, hints: dict[str, Any], function: FunctionType, tool: str
) -> Parameter:
    reason = None
    if parameter.kind in {parameter.VAR_POSITIONAL, parameter.VAR_KEYWORD}:
        reason = "takes any number of values; name each parameter, or take a list or a dict"
    elif parameter.kind is parameter.POSITIONAL_ONLY:
        reason = "is positional-only; remove the `/`, since arguments come by name"
    elif parameter.name in {"self", "cls"} and (
        parameter.name not in hints or _is_in_class(function)
    ):
        reason = "looks like an unbound method's; define the tool from a bound method"
    elif parameter.name not in hints:
        reason = "has no annotation; give it a type"
    if reason:
        raise DefinitionError(reason, tool=tool, parameter=parameter.name)
    return Parameter(parameter.name, hints[parameter.name], parameter.default)


def _is_in_class(function: FunctionType) -> bool:
    owner, _, _ = function.__qualname__.rpartition(".")
    return bool(owner) and not owner.endswith("<locals>")


def _function_of(handler: Any) -> FunctionType | None:
    """Return the function whose annotations count."""
    function = inspect.unwrap(_called(handler))
    return function if isinstance(function, FunctionType) else None


def _called(handler: Any) -> Any:
    """Return the function that runs first."""
    while isinstance(handler, functools.partial):
        handler = handler.func
    if not inspect.isroutine(handler) and not isinstance(handler, type):
        handler = type(handler).__call__
    return getattr(handler, "__func__", handler)
