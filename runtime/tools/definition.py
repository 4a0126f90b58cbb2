"""`define`: from a function and what is said of it to a `Tool`."""

from __future__ import annotations

import json
import math
import re
import sys
from collections.abc import Callable
from typing import Any, overload

from ...errors import DefinitionError
from .handler import Handler, handler_docstring
from .scope import Scope, scope_of
from .tool import Tool, ToolAnnotations

__all__ = ["define"]

# 48, so that the prefix of every provider leaves it within 64 characters.
_NAME = re.compile(r"[A-Za-z][A-Za-z0-9_-]{0,47}")
_DESCRIPTION_LIMIT = 4_000
_NOT_GIVEN: Any = object()


@overload
def define(
    name: str,
    description: str,
    handler: Handler,
    *,
    title: str | None = None,
    read_only: bool | None = None,
    destructive: bool | None = None,
    idempotent: bool | None = None,
    open_world: bool | None = None,
    revision: str | None = None,
    deadline: float | None = None,
) -> Tool: ...
@overload
def define(
    name: str | None = None,
    description: str | None = None,
    *,
    title: str | None = None,
    read_only: bool | None = None,
    destructive: bool | None = None,
    idempotent: bool | None = None,
    open_world: bool | None = None,
    revision: str | None = None,
    deadline: float | None = None,
) -> Callable[[Handler], Tool]: ...
@overload
def define(name: Handler, /) -> Tool: ...
def define(
    name: Any = None,
    description: str | None = None,
    handler: Handler = _NOT_GIVEN,
    *,
    title: str | None = None,
    read_only: bool | None = None,
    destructive: bool | None = None,
    idempotent: bool | None = None,
    open_world: bool | None = None,
    revision: str | None = None,
    deadline: float | None = None,
) -> Tool | Callable[[Handler], Tool]:
    """Define a tool: called with a handler, or as a decorator of one.

    The handler takes one dataclass, whose fields are then the arguments, or
    plain parameters, and may take a ``tool.Context`` besides. Its annotations
    become the schemas; the text of a parameter is a string in ``Annotated``,
    else comes from the docstring. It may be called from several threads at a
    time.

    Args:
        name: What the model calls it, ``[A-Za-z][A-Za-z0-9_-]{0,47}``; as a
            decorator by default the function's name.
        description: What it does, at most 4,000 characters; as a decorator by
            default the first paragraph of the docstring.
        handler: A function, sync or async, or anything else to be called.
        title: A name for people.
        read_only: Claims that the tool changes nothing, or that it does.
        destructive: Claims that it may destroy something, or that it can't.
        idempotent: Claims that a second equal call changes nothing more.
        open_world: Claims that it reaches beyond the application.
        revision: Names its meaning, such as ``v1``; change both together.
        deadline: The longest that a hosted call may take, in seconds.

    Returns:
        The tool; as a decorator a function that makes it.

    Raises:
        DefinitionError: Something can't be a tool like this; names the tool,
            the parameter and what to do.
    """
    options = {
        "title": title,
        "revision": revision,
        "deadline": deadline,
        "read_only": read_only,
        "destructive": destructive,
        "idempotent": idempotent,
        "open_world": open_world,
    }
    if handler is not _NOT_GIVEN:
        return _make(name, description, handler, options, _caller())
    if callable(name):
        return _make(None, None, name, options, _caller())

    def decorate(function: Handler) -> Tool:
        return _make(name, description, function, options, _caller())

    return decorate


def _caller() -> Scope:
    return scope_of(sys._getframe(2))


def _make(
    name: str | None,
    description: str | None,
    handler: Handler,
    options: dict[str, Any],
    scope: Scope,
) -> Tool:
    # Here and not above, so that importing the package loads no library.
    from .compile import compile_plan
    from .docstrings import summary

    name = _checked_name(getattr(handler, "__name__", None) if name is None else name)
    if not callable(handler) or isinstance(handler, type):
        msg = f"needs a function, not {handler!r:.80}"
        raise DefinitionError(msg, tool=name, parameter="handler")
    if description is None:
        description = summary(handler_docstring(handler))
    text = _checked_description(description, name)
    annotations = _checked_annotations(options, name)
    plan, input_schema, output_schema = compile_plan(name, handler, scope)
    return Tool(
        name=name,
        description=text,
        title=_checked_text(options["title"], name, "title"),
        revision=_checked_text(options["revision"], name, "revision"),
        deadline=_checked_deadline(options["deadline"], name),
        annotations=annotations,
        _input_text=json.dumps(input_schema),
        _output_text=json.dumps(output_schema),
        _plan=plan,
    )


def _checked_name(name: object) -> str:
    if name is None or name == "<lambda>":
        msg = "the handler has no name of its own; give one to tool.define"
        raise DefinitionError(msg, parameter="name")
    if not isinstance(name, str) or not _NAME.fullmatch(name):
        msg = (
            f"{name!r:.80} can't be a tool's name; use 1 to 48 of letters, digits, _ and -, "
            "beginning with a letter"
        )
        raise DefinitionError(msg, parameter="name")
    return name


def _checked_description(description: object, tool: str) -> str:
    text = _checked_text(description, tool, "description")
    if text is None:
        msg = "is missing; say what the tool does, here or in the handler's docstring"
        raise DefinitionError(msg, tool=tool, parameter="description")
    if len(text) > _DESCRIPTION_LIMIT:
        msg = (
            f"has {len(text)} characters; providers cut it at {_DESCRIPTION_LIMIT}, so shorten it"
        )
        raise DefinitionError(msg, tool=tool, parameter="description")
    return text


def _checked_text(text: object, tool: str, option: str) -> str | None:
    if text is None:
        return None
    if not isinstance(text, str) or not text.strip():
        msg = "must be text that is not blank; leave it out to have none"
        raise DefinitionError(msg, tool=tool, parameter=option)
    try:
        text.encode()
    except UnicodeEncodeError as error:
        msg = "holds half of a surrogate pair, which is no text"
        raise DefinitionError(msg, tool=tool, parameter=option) from error
    return text.strip()


def _checked_annotations(options: dict[str, Any], tool: str) -> ToolAnnotations:
    claims: dict[str, bool | None] = {}
    for claim in ("read_only", "destructive", "idempotent", "open_world"):
        value = options[claim]
        if value is not None and not isinstance(value, bool):
            msg = f"must be True, False or None, not {value!r:.80}"
            raise DefinitionError(msg, tool=tool, parameter=claim)
        claims[claim] = value
    if claims["read_only"] and claims["destructive"]:
        msg = "a tool that is read_only can't be destructive; drop one of the two"
        raise DefinitionError(msg, tool=tool, parameter="destructive")
    return ToolAnnotations(**claims)


def _checked_deadline(deadline: object, tool: str) -> float | None:
    if deadline is None:
        return None
    number = isinstance(deadline, int | float) and not isinstance(deadline, bool)
    if not number or not math.isfinite(deadline) or deadline <= 0:  # type: ignore[operator, arg-type]
        msg = f"must be a number of seconds above zero, not {deadline!r:.80}"
        raise DefinitionError(msg, tool=tool, parameter="deadline")
    return float(deadline)  # type: ignore[arg-type]
