"""Agents that the provider starts: from their start to their end."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from ....messages.events import Event, Subagent
from .records import Call, text_of

__all__ = ["Subagents"]

_NAMES = {"Agent", "Task"}
_NAME = "agent"


@dataclass(slots=True)
class _Agent:
    id: str
    name: str
    opened: bool = False


class Subagents:
    """Turns what is said of agents into events; each starts and ends once."""

    def __init__(self) -> None:
        self._agents: dict[str, _Agent] = {}
        self._tasks: dict[str, str] = {}
        self._prompts: dict[str, str] = {}

    def called(self, call: Call) -> None:
        """Take note of a call, which may be the start of an agent."""
        if call.name in _NAMES and not call.server:
            name = text_of(call.arguments, "subagent_type") or _NAME
            self._agents[call.id] = _Agent(call.id, name)
            self._prompts[call.id] = text_of(call.arguments, "prompt", "description")

    def task(self, record: Mapping[str, Any]) -> list[Event]:
        """Take a ``system`` record; those about something else give no event."""
        subtype, task = record.get("subtype"), text_of(record, "task_id")
        call = text_of(record, "tool_use_id") or self._tasks.get(task, "")
        agent = self._agents.get(call)
        if agent is None:
            return []
        if subtype == "task_started":
            self._tasks[task] = call
            if not agent.opened and task:
                agent.id = task
            return self._open(call)
        if subtype == "task_notification":
            return self._close(call, text_of(record, "summary"))
        return []

    def said(self, call: str, text: str = "") -> list[Event]:
        """Take what the agent of a call says, or that it is at work at all."""
        self._agents.setdefault(call, _Agent(call, _NAME))
        events = self._open(call)
        agent = self._agents[call]
        if text:
            events.append(Subagent(agent_id=agent.id, name=agent.name, kind="delta", text=text))
        return events

    def returned(self, call: str, text: str) -> list[Event]:
        """Take the result of a call, which ends an agent that works in front."""
        agent = self._agents.get(call)
        if agent is None or call in self._tasks.values():
            return []
        return [*self._open(call), *self._close(call, text)]

    def ended(self) -> list[Event]:
        """Take note of the end of the turn, which ends all that are left."""
        return [event for call in list(self._agents) for event in self._close(call, "")]

    def _open(self, call: str) -> list[Event]:
        agent = self._agents[call]
        if agent.opened:
            return []
        agent.opened = True
        text = self._prompts.get(call, "")
        return [Subagent(agent_id=agent.id, name=agent.name, kind="started", text=text)]

    def _close(self, call: str, text: str) -> list[Event]:
        agent = self._agents.pop(call)
        if not agent.opened:
            return []
        return [Subagent(agent_id=agent.id, name=agent.name, kind="finished", text=text)]
