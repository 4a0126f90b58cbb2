"""The shapes of single records, apart from how they follow one another."""

from __future__ import annotations

import json
import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from ....messages.results import Usage

__all__ = [
    "Call",
    "blocks_of",
    "call_of",
    "cost_of",
    "failure_of",
    "is_count",
    "missing_tools",
    "result_text",
    "text_of",
    "usage_of",
]

_PREFIX = "mcp__"
_CONNECTED = "connected"


@dataclass(frozen=True, slots=True, kw_only=True)
class Call:
    """A tool call, as a ``tool_use`` block tells it."""

    id: str
    """The provider's id."""
    name: str
    """The tool's name: bare for a hosted one, ``server/tool`` for another server's."""
    arguments: Mapping[str, Any]
    """Its arguments."""
    hosted: bool
    """Whether it is one of this Agent's tools."""
    server: bool
    """Whether it is a tool of any MCP server."""


def text_of(record: Mapping[str, Any], *names: str) -> str:
    """Return the first of some members that is a text with something in it."""
    for name in names:  # a generator takes three times as long, and all records pass here
        value = record.get(name)
        if isinstance(value, str) and value:
            return value
    return ""


def blocks_of(record: Mapping[str, Any]) -> tuple[str, list[Mapping[str, Any]]] | None:
    """Return a message's id and its blocks, ``None`` for an unknown shape."""
    message = record.get("message")
    if not isinstance(message, dict):
        return None
    content = message.get("content")
    if isinstance(content, str):
        content = [{"type": "text", "text": content}]
    if not isinstance(content, list):
        return None
    blocks: list[Mapping[str, Any]] = [part for part in content if isinstance(part, dict)]
    return text_of(message, "id"), blocks


def call_of(block: Mapping[str, Any], server_key: str | None) -> Call | None:
    """Return the call of a ``tool_use`` block, ``None`` for an unknown shape."""
    call_id, name = block.get("id"), block.get("name")
    if not isinstance(call_id, str) or not isinstance(name, str):
        return None
    server, tool = _split(name)
    hosted = server_key is not None and server == server_key
    arguments = block.get("input")
    return Call(
        id=call_id,
        name=tool if hosted or not server else f"{server}/{tool}",
        arguments=arguments if isinstance(arguments, dict) else {},
        hosted=hosted,
        server=bool(server),
    )


def _split(name: str) -> tuple[str, str]:
    server, found, tool = name.removeprefix(_PREFIX).partition("__")
    if name.startswith(_PREFIX) and server and found and tool:
        return server, tool
    return "", name


def result_text(content: object, *, double_encoded: bool = False) -> str:
    """Return the text of a ``tool_result`` block's content.

    Args:
        content: A text, or a list of blocks.
        double_encoded: Whether its text is a list of blocks once more, as JSON.
    """
    text = _joined(content)
    if double_encoded:
        try:
            inner = json.loads(text)
        except (ValueError, RecursionError):
            return text
        if isinstance(inner, list) and all(_is_block(part) for part in inner):
            return _joined(inner)
    return text


def _joined(content: object) -> str:
    if content is None:
        return ""
    if isinstance(content, list):
        return "\n".join(_part(part) for part in content)
    return _as_text(content)


def _part(part: object) -> str:
    text = part.get("text") if isinstance(part, dict) and part.get("type") == "text" else part
    return _as_text(text)


def _is_block(part: object) -> bool:
    return isinstance(part, dict) and isinstance(part.get("type"), str)


def _as_text(value: object) -> str:
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)


def missing_tools(
    record: Mapping[str, Any], server_key: str, tools: tuple[str, ...]
) -> str | None:
    """Return why the session of an ``init`` record lacks the hosted tools.

    A server may be called connected before its tools are there, and the model
    is then asked without them; so the list of tools counts as well.

    Args:
        record: The first ``init`` record.
        server_key: The hosted server's key.
        tools: The names of its tools.

    Returns:
        A clause for a message; ``None`` where the tools are there, or where
        the record does not tell.
    """
    states = dict(_server_states(record))
    if "mcp_servers" in record:
        state = states.get(server_key, "unknown to it")
        if state != _CONNECTED:
            return f"it reports the server {server_key!r} as {state}"
    offered = record.get("tools")
    if not isinstance(offered, list):
        return None
    missing = [name for name in tools if f"{_PREFIX}{server_key}__{name}" not in offered]
    return f"it does not offer {', '.join(missing)}" if missing else None


def _server_states(record: Mapping[str, Any]) -> Iterator[tuple[str, str]]:
    for member in ("mcp_servers_unavailable", "mcp_servers"):
        servers = record.get(member)
        for server in servers if isinstance(servers, list) else ():
            if isinstance(server, dict) and isinstance(server.get("name"), str):
                yield server["name"], text_of(server, "status") or "in no known state"


def failure_of(record: Mapping[str, Any]) -> str:
    """Return what a ``result`` or ``error`` record says of a failure."""
    errors = record.get("errors")
    texts = [text for text in errors if isinstance(text, str)] if isinstance(errors, list) else []
    if texts:
        return "; ".join(texts)
    error = record.get("error")
    if isinstance(error, dict):
        return text_of(error, "message") or json.dumps(error)
    return text_of(record, "result", "error", "message", "subtype")


def usage_of(counts: object, *, holds_cached: bool = False) -> Usage | None:
    """Return a ``usage`` member as tokens, ``None`` for no count.

    Args:
        counts: The member.
        holds_cached: Whether its input tokens include those of a cache.
    """
    if not isinstance(counts, dict):
        return None
    fresh, read, made = (
        _count(counts, name)
        for name in ("input_tokens", "cache_read_input_tokens", "cache_creation_input_tokens")
    )
    counted = (fresh,) if holds_cached else (fresh, read, made)
    parts = [part for part in counted if part is not None]
    usage = Usage(
        input_tokens=sum(parts) if parts else None,
        output_tokens=_count(counts, "output_tokens"),
        cached_tokens=read,
    )
    return None if usage == Usage() else usage


def cost_of(result: Mapping[str, Any]) -> float | None:
    """Return what a ``result`` record says that it cost, in US dollars."""
    value = result.get("total_cost_usd")
    if isinstance(value, bool) or not isinstance(value, (int, float)):
        return None
    return float(value) if 0 <= value < math.inf else None


def _count(counts: Mapping[str, Any], name: str) -> int | None:
    value = counts.get(name)
    return value if is_count(value) else None


def is_count(value: object) -> bool:
    """Tell whether a value counts something."""
    return isinstance(value, int) and not isinstance(value, bool) and value >= 0
