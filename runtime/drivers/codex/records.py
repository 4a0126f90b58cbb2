"""The shapes of single records, apart from how they follow one another."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

__all__ = [
    "AgentState",
    "Call",
    "Outcome",
    "call_of",
    "failure_text",
    "outcome_of",
    "plan_of",
    "subagents",
    "text_of",
]

_SHELL = "command_execution"
_MCP = "mcp_tool_call"
_PATCH = "file_change"
_SEARCH = "web_search"
_COLLAB = "collab_tool_call"
_ENDED_AGENT = {"completed", "errored", "interrupted", "shutdown", "not_found"}


@dataclass(frozen=True, slots=True, kw_only=True)
class Call:
    """A tool call, as an item tells it."""

    id: str
    """The item's id, which is unique within a turn."""
    name: str
    """The tool's name: bare for a hosted one, ``server/tool`` for another server's."""
    arguments: Mapping[str, Any]
    """Its arguments."""
    hosted: bool = False
    """Whether it is one of this Agent's tools."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Outcome:
    """How a tool call ended."""

    text: str
    """The result as text."""
    is_error: bool
    """Whether the provider reports it as failed."""


@dataclass(frozen=True, slots=True, kw_only=True)
class AgentState:
    """What an item tells of an agent that the provider started."""

    id: str
    """The agent's thread."""
    ended: bool
    """Whether it is at its end."""
    text: str
    """What it says."""


def call_of(item: Mapping[str, Any], server_key: str | None) -> Call | None:
    """Return the call that an item is, ``None`` for an item of another kind."""
    kind, call_id = item.get("type"), text_of(item, "id")
    if kind == _MCP:
        return _mcp_call(call_id, item, server_key)
    if kind == _SHELL:
        return Call(id=call_id, name="shell", arguments=_picked(item, "command"))
    if kind == _PATCH:
        return Call(id=call_id, name="apply_patch", arguments=_picked(item, "changes"))
    if kind == _SEARCH:
        return Call(id=call_id, name="web_search", arguments=_picked(item, "query", "action"))
    if kind == _COLLAB:
        name = text_of(item, "tool") or "agent"
        arguments = _picked(item, "prompt", "receiver_thread_ids")
        return Call(id=call_id, name=name, arguments=arguments)
    return None


def outcome_of(item: Mapping[str, Any]) -> Outcome:
    """Return how the call of a completed item ended."""
    # An error of null says that there is none.
    error = item.get("error")
    failed = item.get("status") in {"failed", "declined"} or error is not None
    if item.get("type") == _SHELL:
        text = text_of(item, "aggregated_output")
    elif item.get("type") == _MCP:
        text = failure_text(error) if error is not None else _mcp_text(item.get("result"))
    elif item.get("type") == _PATCH:
        text = "\n".join(_change_texts(item.get("changes")))
    else:
        text = "\n".join(state.text for state in subagents(item) if state.text)
    return Outcome(text=text, is_error=failed)


def subagents(item: Mapping[str, Any]) -> list[AgentState]:
    """Return the agents that an item tells of; empty for other items."""
    if item.get("type") != _COLLAB:
        return []
    states = _mapping(item.get("agents_states"))
    receivers = item.get("receiver_thread_ids")
    names = (
        [name for name in receivers if isinstance(name, str)]
        if isinstance(receivers, list)
        else []
    )
    found = []
    for name in dict.fromkeys((*names, *states)):
        state = _mapping(states.get(name))
        ended = state.get("status") in _ENDED_AGENT
        found.append(AgentState(id=name, ended=ended, text=text_of(state, "message")))
    return found


def plan_of(item: Mapping[str, Any]) -> list[Any] | None:
    """Return the steps of a plan, ``None`` for another item."""
    steps = item.get("items")
    return steps if item.get("type") == "todo_list" and isinstance(steps, list) else None


def failure_text(error: Any) -> str:
    """Return what an error says, taken out of the JSON that a model's server sent."""
    text = text_of(error, "message") if isinstance(error, dict) else _as_text(error)
    if text.startswith("{"):
        try:
            inner = json.loads(text)
        except (ValueError, RecursionError):
            return text
        return text_of(_mapping(_mapping(inner).get("error")), "message") or text
    return text


def text_of(values: Mapping[str, Any], name: str) -> str:
    """Return a text of a record, empty where it has none."""
    value = values.get(name)
    return value if isinstance(value, str) else ""


def _mcp_call(call_id: str, item: Mapping[str, Any], server_key: str | None) -> Call:
    server, tool = text_of(item, "server"), text_of(item, "tool")
    hosted = server_key is not None and server == server_key
    return Call(
        id=call_id,
        name=tool if hosted else f"{server}/{tool}",
        arguments=_mapping(item.get("arguments")),
        hosted=hosted,
    )


def _mcp_text(result: Any) -> str:
    content = _mapping(result).get("content")
    parts = content if isinstance(content, list) else []
    text = "\n".join(_part_text(part) for part in parts)
    structured = _mapping(result).get("structured_content")
    return _as_text(structured) if not text and structured is not None else text


def _part_text(part: Any) -> str:
    text = _mapping(part).get("text")
    return text if isinstance(text, str) else _as_text(part)


def _change_texts(changes: Any) -> Iterator[str]:
    for change in changes if isinstance(changes, list) else ():
        yield f"{text_of(_mapping(change), 'kind')} {text_of(_mapping(change), 'path')}".strip()


def _picked(item: Mapping[str, Any], *names: str) -> dict[str, Any]:
    return {name: item[name] for name in names if item.get(name) is not None}


def _as_text(value: Any) -> str:
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)


def _mapping(value: Any) -> Mapping[str, Any]:
    return value if isinstance(value, dict) else {}
