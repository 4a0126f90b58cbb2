"""The shapes of single records, apart from how they follow one another."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from ....messages.results import Usage

__all__ = [
    "Call",
    "Outcome",
    "assistant_texts",
    "call_of",
    "outcome_of",
    "terminal_fault",
    "usage_of",
]

_SUFFIX = "ToolCall"
_SUCCESS = "success"


@dataclass(frozen=True, slots=True, kw_only=True)
class Call:
    """A tool call, as a ``tool_call`` record tells it."""

    id: str
    """The provider's id; may hold any character."""
    name: str
    """The tool's name: bare for a hosted one, ``server/tool`` for another server's."""
    arguments: Mapping[str, Any]
    """Its arguments."""
    hosted: bool
    """Whether it is one of this Agent's tools."""
    agent: str | None = None
    """The kind of agent that it starts; ``None`` where it starts none."""
    agent_id: str = ""
    """The id of that agent."""
    task: str = ""
    """What that agent is told."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Outcome:
    """How a tool call ended."""

    text: str
    """The result as text."""
    is_error: bool
    """Whether the provider reports it as failed."""


def call_of(record: Mapping[str, Any], server_key: str | None) -> Call | None:
    """Return the call of a ``tool_call`` record, ``None`` for an unknown shape."""
    call_id = record.get("call_id")
    variant = _variant(record)
    if not isinstance(call_id, str) or variant is None:
        return None
    kind, body = variant
    arguments = _mapping(body.get("args"))
    name = kind.removesuffix(_SUFFIX)
    if name == "mcp":
        return _mcp_call(call_id, arguments, server_key)
    if name == "task":
        agent_id = arguments.get("agentId")
        return Call(
            id=call_id,
            name=name,
            arguments=arguments,
            hosted=False,
            agent=_agent_kind(arguments),
            agent_id=agent_id if isinstance(agent_id, str) and agent_id else call_id,
            task=_first_text(arguments, "prompt", "description"),
        )
    return Call(id=call_id, name=name, arguments=arguments, hosted=False)


def outcome_of(record: Mapping[str, Any]) -> Outcome:
    """Return how the call of a completed ``tool_call`` record ended."""
    variant = _variant(record)
    result = variant[1].get("result") if variant else None
    if not isinstance(result, dict):
        return Outcome(text="" if result is None else _as_text(result), is_error=False)
    success = result.get(_SUCCESS)
    if success is not None:
        failed = isinstance(success, dict) and success.get("isError") is True
        return Outcome(text=_success_text(success), is_error=failed)
    for kind, detail in result.items():
        if detail is not None:
            return Outcome(text=_failure_text(kind, detail), is_error=True)
    return Outcome(text="", is_error=False)


def assistant_texts(record: Mapping[str, Any]) -> list[str] | None:
    """Return the texts of an ``assistant`` record, ``None`` for an unknown shape."""
    content = _mapping(record.get("message")).get("content")
    if not isinstance(content, list):
        return None
    parts = [part for part in content if isinstance(part, dict) and part.get("type") == "text"]
    return [part["text"] for part in parts if isinstance(part.get("text"), str)]


def terminal_fault(record: Mapping[str, Any]) -> str | None:
    """Return what a ``result`` record lacks, ``None`` where it is whole."""
    for name, kind in (("subtype", str), ("is_error", bool), ("result", str)):
        if not isinstance(record.get(name), kind):
            return f"its result record has no proper {name}"
    return None


def usage_of(record: Mapping[str, Any]) -> Usage | None:
    """Return the tokens that a ``result`` record counts, ``None`` for no count."""
    counts = _mapping(record.get("usage"))
    usage = Usage(
        input_tokens=_count(counts, "inputTokens"),
        output_tokens=_count(counts, "outputTokens"),
        cached_tokens=_count(counts, "cacheReadTokens"),
    )
    return None if usage == Usage() else usage


def _variant(record: Mapping[str, Any]) -> tuple[str, Mapping[str, Any]] | None:
    variants = [
        (name, body)
        for name, body in _mapping(record.get("tool_call")).items()
        if name.endswith(_SUFFIX) and name != _SUFFIX and isinstance(body, dict)
    ]
    return variants[0] if len(variants) == 1 else None


def _mcp_call(call_id: str, body: Mapping[str, Any], server_key: str | None) -> Call:
    server = _first_text(body, "providerIdentifier", "serverIdentifier")
    tool = _first_text(body, "toolName")
    name = _first_text(body, "name")
    if not tool:
        # Without the parts only "<server>-<tool>" is left; the server is known
        # for sure where it is ours.
        prefix = f"{server or server_key or ''}-"
        if prefix != "-" and name.startswith(prefix):
            server, tool = prefix[:-1], name.removeprefix(prefix)
        else:
            tool = name
    hosted = server_key is not None and server == server_key
    shown = tool if hosted or not server else f"{server}/{tool}"
    arguments = _mapping(body.get("args"))
    return Call(id=call_id, name=shown, arguments=arguments, hosted=hosted)


def _agent_kind(arguments: Mapping[str, Any]) -> str:
    kind = _mapping(arguments.get("subagentType"))
    custom = _first_text(_mapping(kind.get("custom")), "name")
    return custom or next(iter(kind), "") or "task"


def _success_text(success: Any) -> str:
    if isinstance(success, dict):
        if isinstance(success.get("content"), list):
            return "\n".join(_content_text(part) for part in success["content"])
        if isinstance(success.get("conversationSteps"), list):
            return "\n".join(_step_texts(success["conversationSteps"]))
    return _as_text(success)


def _step_texts(steps: list[Any]) -> Iterator[str]:
    for step in steps:
        text = _first_text(_mapping(_mapping(step).get("assistantMessage")), "text")
        if text:
            yield text


def _content_text(part: Any) -> str:
    text = part.get("text") if isinstance(part, dict) else part
    if isinstance(text, dict):
        text = text.get("text")
    return text if isinstance(text, str) else _as_text(part)


def _failure_text(kind: str, detail: Any) -> str:
    if isinstance(detail, dict):
        return _first_text(detail, "reason", "message", "error", "errorMessage") or kind
    return _as_text(detail) or kind


def _first_text(values: Mapping[str, Any], *names: str) -> str:
    found = (values.get(name) for name in names)
    return next((value for value in found if isinstance(value, str) and value), "")


def _as_text(value: Any) -> str:
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)


def _mapping(value: Any) -> Mapping[str, Any]:
    return value if isinstance(value, dict) else {}


def _count(counts: Mapping[str, Any], name: str) -> int | None:
    value = counts.get(name)
    if isinstance(value, int) and not isinstance(value, bool) and value >= 0:
        return value
    return None
