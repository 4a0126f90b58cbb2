"""The options of `define`, checked one by one."""

# Without `annotations` of `__future__`: a TypedDict would keep its texts unresolved.
from collections.abc import Mapping
from typing import Any, TypedDict

from ...errors import DefinitionError
from ...messages.numbers import checked_timeout
from .tool import ToolAnnotations

__all__ = [
    "ToolOptions",
    "checked_annotations",
    "checked_deadline",
    "checked_limit",
    "checked_text",
    "known_options",
]

Document = Mapping[str, Any] | str


class ToolOptions(TypedDict, total=False):
    """What can be said of a tool besides its name and description."""

    title: str | None
    """A name for people."""
    read_only: bool | None
    """Claims that the tool changes nothing, or that it does."""
    destructive: bool | None
    """Claims that it may destroy something, or that it can't."""
    idempotent: bool | None
    """Claims that a second equal call changes nothing more, or that it does."""
    open_world: bool | None
    """Claims that it reaches beyond the application, or that it does not."""
    revision: str | None
    """Names its meaning, such as ``v1``; change both together."""
    input_schema: Document | None
    """Describes the arguments in place of the inferred schema, as JSON Schema
    2020-12: a mapping or JSON text."""
    output_schema: Document | bool | None
    """Describes the result in the same way; `True` for anything."""
    output_limit: int | None
    """The largest result, in bytes of its JSON text."""
    deadline: float | None
    """The longest that a hosted call may take, in seconds."""


def known_options(given: Mapping[str, Any], tool: str | None) -> dict[str, Any]:
    """Return all options, ``None`` where not given, with schemas copied at once.

    Raises:
        TypeError: There is no such option.
        DefinitionError: A schema is no JSON document.
    """
    names = ToolOptions.__annotations__
    for name in given:
        if name not in names:
            msg = f"define() has no option {name!r}; it has {', '.join(sorted(names))}"
            raise TypeError(msg)
    options = dict.fromkeys(names) | dict(given)
    for name in ("input_schema", "output_schema"):
        if options[name] is not None:
            from .document import read_document

            options[name] = read_document(options[name], tool, name)
    return options


def checked_annotations(options: Mapping[str, Any], tool: str) -> ToolAnnotations:
    """Return the claims; refuse those that contradict each other."""
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
    if claims["read_only"] and claims["idempotent"] is False:
        msg = "a tool that is read_only changes nothing the second time; drop one of the two"
        raise DefinitionError(msg, tool=tool, parameter="idempotent")
    return ToolAnnotations(**claims)


def checked_limit(limit: object, tool: str) -> int | None:
    """Return the largest size of a result."""
    if limit is None:
        return None
    if not isinstance(limit, int) or isinstance(limit, bool) or limit < 1:
        msg = f"must be a whole number of bytes from 1, not {limit!r:.80}"
        raise DefinitionError(msg, tool=tool, parameter="output_limit")
    return int(limit)


def checked_text(text: object, tool: str, option: str) -> str | None:
    """Return a text without blanks around it."""
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


def checked_deadline(deadline: object, tool: str) -> float | None:
    """Return the deadline in seconds."""
    if deadline is None:
        return None
    try:
        return checked_timeout("it", deadline)
    except (TypeError, ValueError) as error:
        msg = f"must be a number of seconds above zero: {error}"
        raise DefinitionError(msg, tool=tool, parameter="deadline") from None
