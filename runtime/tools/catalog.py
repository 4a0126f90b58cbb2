"""A frozen set of tools, as an Agent lends it."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Mapping
from types import MappingProxyType
from typing import Any

from ...errors import DefinitionError
from .plan import canonical
from .tool import Tool, ToolAnnotations

__all__ = ["Catalog"]

_DOMAIN = b"toolcrib.catalog.v1\0"
_HINTS = {
    "read_only": "readOnlyHint",
    "destructive": "destructiveHint",
    "idempotent": "idempotentHint",
    "open_world": "openWorldHint",
}
# Claude Code gives its model the first 2 KB of a longer result, and a file with
# the whole; a tool may ask for more characters, up to a ceiling.
_INLINE_HINT = "anthropic/maxResultSizeChars"
_INLINE_DEFAULT = 50_000
_INLINE_CEILING = 500_000
_WRAPPING = len('{"result":}')


class Catalog:
    """Tools by name. Never changes, whatever happens to what it was made of.

    Args:
        tools: The tools, in any order; may be none.

    Raises:
        DefinitionError: Something is no tool, or two names are the same for a
            provider.
    """

    __slots__ = ("_fingerprint", "_tools")

    def __init__(self, tools: Iterable[Tool]) -> None:
        checked = sorted(_checked(tools), key=lambda one: one.name)
        self._tools = MappingProxyType({one.name: one for one in checked})
        facts = canonical([_facts(one) for one in checked])
        self._fingerprint = "sha256:" + hashlib.sha256(_DOMAIN + facts.encode()).hexdigest()

    @property
    def tools(self) -> Mapping[str, Tool]:
        """The tools by name, in the order of their names; read-only."""
        return self._tools

    @property
    def names(self) -> tuple[str, ...]:
        """The names, sorted."""
        return tuple(self._tools)

    @property
    def fingerprint(self) -> str:
        """``sha256:`` and 64 digits, over all that a model sees, and revisions."""
        return self._fingerprint

    def listing(self) -> tuple[dict[str, Any], ...]:
        """Return fresh descriptors as MCP lists them, in the order of the names."""
        return tuple(_descriptor(one) for one in self._tools.values())

    def without_revision(self) -> tuple[str, ...]:
        """Return the names of the tools that have no revision."""
        return tuple(name for name, one in self._tools.items() if one.revision is None)


def _checked(tools: Iterable[Tool]) -> list[Tool]:
    if isinstance(tools, str | bytes | Mapping) or not isinstance(tools, Iterable):
        msg = f"tools must be a list or tuple of tools, not {type(tools).__name__}"
        raise DefinitionError(msg)
    seen: dict[str, str] = {}
    found: list[Tool] = []
    for position, item in enumerate(tools):
        if not isinstance(item, Tool):
            msg = f"is of type {type(item).__name__}; make it a tool with tool.define"
            raise DefinitionError(msg, parameter=f"tools[{position}]")
        key = item.name.replace("-", "_")
        if key in seen:
            raise DefinitionError(_collision(item.name, seen[key]), tool=item.name)
        seen[key] = item.name
        found.append(item)
    return found


def _collision(name: str, other: str) -> str:
    if name == other:
        return "the name is taken by another tool of this set; rename one"
    return f"{other} is the same name for providers that turn `-` into `_`; rename one"


def _claims(annotations: ToolAnnotations) -> dict[str, bool]:
    claims = {name: getattr(annotations, name) for name in _HINTS}
    return {name: claim for name, claim in claims.items() if claim is not None}


def _inline_size(tool: Tool) -> int | None:
    """Return the characters of a result that its host wants the model to see whole."""
    if tool.output_limit is None:
        return None
    size = tool.output_limit + _WRAPPING
    return min(size, _INLINE_CEILING) if size > _INLINE_DEFAULT else None


def _facts(tool: Tool) -> dict[str, Any]:
    return {
        "name": tool.name,
        "title": tool.title,
        "description": tool.description,
        "revision": tool.revision,
        "input_schema": tool.input_schema,
        "output_schema": tool.output_schema,
        "annotations": _claims(tool.annotations),
    }


def _descriptor(tool: Tool) -> dict[str, Any]:
    hints: dict[str, Any] = {_HINTS[name]: on for name, on in _claims(tool.annotations).items()}
    title = {} if tool.title is None else {"title": tool.title}
    # Older revisions of the protocol have the title among the annotations.
    annotations = title | hints
    size = _inline_size(tool)
    return {
        "name": tool.name,
        **title,
        "description": tool.description,
        "inputSchema": tool.input_schema,
        "outputSchema": tool.output_schema,
        **({"annotations": annotations} if annotations else {}),
        **({} if size is None else {"_meta": {_INLINE_HINT: size}}),
    }
