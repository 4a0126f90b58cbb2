"""`define`: from a function and what is said of it to a `Tool`."""

from __future__ import annotations

import json
import re
import sys
from collections.abc import Callable
from typing import Any, Unpack, overload

from ...errors import DefinitionError
from .handler import Handler, handler_docstring
from .options import (
    ToolOptions,
    checked_annotations,
    checked_deadline,
    checked_limit,
    checked_text,
    known_options,
)
from .scope import Scope, scope_of
from .tool import Tool

__all__ = ["define"]

# 48, so that the prefix of every provider leaves it within 64 characters.
_NAME = re.compile(r"[A-Za-z][A-Za-z0-9_-]{0,47}")
_DESCRIPTION_LIMIT = 4_000
_NOT_GIVEN: Any = object()


@overload
def define(
    name: str, description: str, handler: Handler, **options: Unpack[ToolOptions]
) -> Tool: ...
@overload
def define(
    name: str | None = None, description: str | None = None, **options: Unpack[ToolOptions]
) -> Callable[[Handler], Tool]: ...
@overload
def define(name: Handler, /) -> Tool: ...
def define(
    name: Any = None,
    description: str | None = None,
    handler: Handler = _NOT_GIVEN,
    **options: Unpack[ToolOptions],
) -> Tool | Callable[[Handler], Tool]:
    """Define a tool: called with a handler, or as a decorator of one.

    The handler takes one record, such as a dataclass, whose fields are then the
    arguments, or plain parameters, and may take a ``tool.Context`` besides. Its
    annotations become the schemas; the text of a parameter is a string in
    ``Annotated``, else comes from the docstring. It may be called from several
    threads at a time.

    Args:
        name: What the model calls it, ``[A-Za-z][A-Za-z0-9_-]{0,47}``; as a
            decorator by default the function's name.
        description: What it does, at most 4,000 characters; as a decorator by
            default the first paragraph of the docstring.
        handler: A function, sync or async, or anything else to be called.
        **options: ``title``: a name for people. ``read_only``, ``destructive``,
            ``idempotent``, ``open_world``: claims, `True` or `False`.
            ``revision``: names its meaning, such as ``v1``; change both
            together. ``input_schema``, ``output_schema``: JSON Schemas, as
            mappings or text, in place of the inferred ones. ``output_limit``:
            the largest result, in bytes of JSON. ``deadline``: the longest that
            a hosted call may take, in seconds.

    Returns:
        The tool; as a decorator a function that makes it.

    Raises:
        DefinitionError: Something can't be a tool like this; names the tool,
            the parameter and what to do.
    """
    known = known_options(options, name if isinstance(name, str) else None)
    if handler is not _NOT_GIVEN:
        return _make(name, description, handler, known, _caller())
    if callable(name) or isinstance(name, classmethod):
        return _make(None, None, name, known, _caller())

    def decorate(function: Handler) -> Tool:
        return _make(name, description, function, known, _caller())

    return decorate


def _caller() -> Scope:
    return scope_of(sys._getframe(2))


def _make(
    name: str | None,
    description: str | None,
    handler: Any,
    options: dict[str, Any],
    scope: Scope,
) -> Tool:
    # Here and not above, so that importing the package loads no library.
    from .compile import compile_plan
    from .docstrings import summary
    from .overrides import Overrides

    if isinstance(handler, classmethod):
        msg = "is a classmethod without its class; define the tool outside, from Class.method"
        raise DefinitionError(msg, tool=name, parameter="handler")
    name = _checked_name(getattr(handler, "__name__", None) if name is None else name)
    if not callable(handler) or isinstance(handler, type):
        msg = f"needs a function, not {handler!r:.80}"
        raise DefinitionError(msg, tool=name, parameter="handler")
    if description is None:
        description = summary(handler_docstring(handler))
    text = _checked_description(description, name)
    annotations = checked_annotations(options, name)
    overrides = Overrides(options["input_schema"], options["output_schema"])
    plan, input_schema, output_schema = compile_plan(name, handler, scope, overrides)
    return Tool(
        name=name,
        description=text,
        title=checked_text(options["title"], name, "title"),
        revision=checked_text(options["revision"], name, "revision"),
        deadline=checked_deadline(options["deadline"], name),
        output_limit=checked_limit(options["output_limit"], name),
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
    text = checked_text(description, tool, "description")
    if text is None:
        msg = "is missing; say what the tool does, here or in the handler's docstring"
        raise DefinitionError(msg, tool=tool, parameter="description")
    if len(text) > _DESCRIPTION_LIMIT:
        msg = (
            f"has {len(text)} characters; providers cut it at {_DESCRIPTION_LIMIT}, so shorten it"
        )
        raise DefinitionError(msg, tool=tool, parameter="description")
    return text
