"""One turn of the Codex CLI: its JSON records, as events and a verdict."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any

from ....messages.events import (
    Event,
    Notice,
    Subagent,
    TextDelta,
    Thinking,
    ToolCall,
    ToolResult,
)
from ....messages.turn import ProcessExit, TurnOutcome
from ..interface import CloseInput, Dialect, Emit, Finished, Step, Write
from ..json_lines import JsonLines
from .records import Call, call_of, failure_text, outcome_of, plan_of, subagents, text_of
from .verdict import COMPLETED, FAILED, Turn, judge

__all__ = ["CodexDialect"]

_AGENT = "agent"


class CodexDialect(Dialect):
    """Reads one turn. See `Dialect` for who calls what.

    Args:
        command: The command, as messages should name it.
        prompt: What to ask.
        server_key: The key of the hosted server; ``None`` where there is none.
        resume: The conversation that the turn is to go on with.
        spent: The tokens that the conversation has used before; ``None`` is unknown.
        typed: Whether the answer has to be JSON of a type.
    """

    def __init__(
        self,
        *,
        command: str,
        prompt: str,
        server_key: str | None,
        resume: str | None,
        spent: Mapping[str, Any] | None,
        typed: bool = False,
    ) -> None:
        self._prompt = prompt
        self._server_key = server_key
        self._turn = Turn(command=command, server_key=server_key, resume=resume, spent=spent)
        self._typed = typed
        self._lines = JsonLines()
        self._calls: dict[str, Call] = {}
        self._ended_calls: set[str] = set()
        self._agents: set[str] = set()
        self._ended_agents: set[str] = set()
        self._readers: dict[str, Callable[[dict[str, Any]], list[Event]]] = {
            "thread.started": self._thread,
            "turn.started": _nothing,
            "item.started": self._item,
            "item.updated": self._item,
            "item.completed": self._item,
            "error": self._error,
            COMPLETED: self._terminal,
            FAILED: self._terminal,
        }

    def opening(self) -> tuple[Step, ...]:
        """Write the prompt and close the input."""
        return (Write(self._prompt.encode(errors="replace")), CloseInput())

    def line(self, text: str) -> tuple[Step, ...]:
        """Turn one line into events; nothing that is printed makes it raise."""
        record = self._lines.take(text)
        if record is None:
            return ()
        if isinstance(record, str):
            return (Emit(_notice("provider.output", "printed no record", {"line": record})),)
        if self._turn.terminal is not None:
            self._turn.blame("it printed a record after its turn had ended")
            return ()
        reader = self._readers.get(text_of(record, "type"), _unknown)
        steps: tuple[Step, ...] = tuple(Emit(event) for event in reader(record))
        return steps if self._turn.terminal is None else (*steps, Finished())

    def ended(self, exit: ProcessExit) -> TurnOutcome:
        """Judge the turn from its records and the exit code together."""
        if self._lines.broken(died=exit.code != 0 and self._turn.terminal is None):
            self._turn.blame("it printed a record that is not valid JSON")
        outcome = judge(self._turn, exit)
        if not self._typed or not self._turn.messages:
            return outcome
        # What it said on the way is no part of the answer.
        return replace(outcome, output=self._turn.messages[-1])

    def _thread(self, record: dict[str, Any]) -> list[Event]:
        session = text_of(record, "thread_id")
        if not session:
            self._turn.blame("it printed a thread id that is no text")
        elif self._turn.session_id not in {None, session}:
            self._turn.blame("its records name different threads")
        self._turn.session_id = self._turn.session_id or session or None
        data = {"session_id": self._turn.session_id}
        return [_notice("provider.session", "started its session", data)]

    def _error(self, record: dict[str, Any]) -> list[Event]:
        # Codex reports each lost connection to its model as an error, and may
        # get over it; a turn that failed has a record of its own.
        self._turn.error = failure_text(record)
        return [Notice(kind="provider.error", message=self._turn.error, data=record)]

    def _terminal(self, record: dict[str, Any]) -> list[Event]:
        self._turn.terminal = record
        return []

    def _item(self, record: dict[str, Any]) -> list[Event]:
        item, done = record.get("item"), record["type"] == "item.completed"
        if not isinstance(item, dict) or not text_of(item, "id"):
            return _unknown(record)
        call = call_of(item, self._server_key)
        if call is not None:
            return self._call(call, item, done=done)
        plan = plan_of(item)
        if plan is not None:
            return [_notice("provider.plan", "has a plan", {"steps": plan})]
        return self._said(item, done=done) if _is_said(item) else _unknown(record)

    def _said(self, item: Mapping[str, Any], *, done: bool) -> list[Event]:
        text = text_of(item, "text")
        if item["type"] == "error":
            return [Notice(kind="provider.warning", message=text_of(item, "message"), data=item)]
        if not done or not text:
            return []  # it comes again, and whole
        if item["type"] == "reasoning":
            return [Thinking(text=text, phase="start"), Thinking(text="", phase="end")]
        self._turn.messages.append(text)
        name = text_of(item, "id")
        return [
            TextDelta(text=text, message_id=name, phase="start"),
            TextDelta(text="", message_id=name, phase="end"),
        ]

    def _call(self, call: Call, item: Mapping[str, Any], *, done: bool) -> list[Event]:
        if call.id in self._ended_calls:
            return []
        events: list[Event] = []
        if call.id not in self._calls:
            self._calls[call.id] = call
            events.append(
                ToolCall(
                    call_id=call.id, name=call.name, arguments=call.arguments, hosted=call.hosted
                )
            )
        events += self._agents_of(item)
        if done:
            self._ended_calls.add(call.id)
            events.append(_result(self._calls.pop(call.id), item))
        return events

    def _agents_of(self, item: Mapping[str, Any]) -> list[Event]:
        events: list[Event] = []
        for agent in subagents(item):
            if agent.id not in self._agents:
                self._agents.add(agent.id)
                task = text_of(item, "prompt")
                events.append(Subagent(agent_id=agent.id, name=_AGENT, kind="started", text=task))
            # Each later call tells the state again.
            if agent.ended and agent.id not in self._ended_agents:
                self._ended_agents.add(agent.id)
                text = agent.text
                events.append(Subagent(agent_id=agent.id, name=_AGENT, kind="finished", text=text))
        return events


def _result(call: Call, item: Mapping[str, Any]) -> ToolResult:
    outcome = outcome_of(item)
    return ToolResult(
        call_id=call.id,
        name=call.name,
        text=outcome.text,
        is_error=outcome.is_error,
        hosted=call.hosted,
    )


def _is_said(item: Mapping[str, Any]) -> bool:
    kind = item.get("type")
    name = "message" if kind == "error" else "text"
    return kind in {"agent_message", "reasoning", "error"} and isinstance(item.get(name), str)


def _nothing(_record: Mapping[str, Any]) -> list[Event]:
    return []


def _unknown(record: Mapping[str, Any]) -> list[Event]:
    item = record.get("item")
    inner = text_of(item, "type") if isinstance(item, dict) else ""
    what = "/".join(part for part in (text_of(record, "type"), inner) if part) or "without a type"
    return [_notice("provider.record", f"printed a record unknown here: {what[:100]}", record)]


def _notice(kind: str, what: str, data: Mapping[str, Any]) -> Notice:
    return Notice(kind=kind, message=f"Codex {what}.", data=data)
