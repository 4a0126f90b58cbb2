"""One turn of the Cursor CLI: its stream-json records, as events and a verdict."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, Literal

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
from .records import Call, assistant_texts, call_of, outcome_of, terminal_fault
from .verdict import Turn, judge

__all__ = ["CursorDialect"]


class CursorDialect(Dialect):
    """Reads one turn. See `Dialect` for who calls what.

    Args:
        command: The command, as messages should name it.
        prompt: What to ask.
        server_key: The key of the hosted server; ``None`` where there is none.
        resume: The conversation that the turn is to go on with.
    """

    def __init__(
        self, *, command: str, prompt: str, server_key: str | None, resume: str | None
    ) -> None:
        self._prompt = prompt
        self._server_key = server_key
        self._turn = Turn(command=command, resume=resume)
        self._open: Literal["", "text", "thinking"] = ""
        self._calls: dict[str, Call] = {}
        self._ended_calls: set[str] = set()
        self._lines = JsonLines()
        self._readers: dict[str, Callable[[dict[str, Any]], list[Event]]] = {
            "system": self._system,
            "user": _nothing,
            "interaction_query": _nothing,
            "thinking": self._thinking,
            "assistant": self._assistant,
            "tool_call": self._tool_call,
            "result": self._result,
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
            return _emitted([_notice("provider.output", "printed no record", {"line": record})])
        if self._turn.terminal is not None:
            self._turn.blame("it printed a record after its result record")
            return ()
        self._note_session(record)
        reader = self._readers.get(_kind(record), _unknown)
        steps = _emitted(reader(record))
        return steps if self._turn.terminal is None else (*steps, Finished())

    def ended(self, exit: ProcessExit) -> TurnOutcome:
        """Judge the turn from its records and the exit code together."""
        if self._lines.broken(died=exit.code != 0 and self._turn.terminal is None):
            self._turn.blame("it printed a record that is not valid JSON")
        return judge(self._turn, exit)

    def _note_session(self, record: Mapping[str, Any]) -> None:
        session = record.get("session_id")
        if session is None:
            return
        if not isinstance(session, str) or not session:
            self._turn.blame("it printed a session id that is no text")
        elif self._turn.session_id is None:
            self._turn.session_id = session
        elif session != self._turn.session_id:
            self._turn.blame("its records name different session ids")

    def _system(self, record: dict[str, Any]) -> list[Event]:
        if record.get("subtype") != "init":
            return _unknown(record)
        model = record.get("model")
        if isinstance(model, str):
            self._turn.model = model
        data = {"session_id": self._turn.session_id, "model": self._turn.model}
        return [_notice("provider.session", "started its session", data)]

    def _thinking(self, record: dict[str, Any]) -> list[Event]:
        subtype, text = record.get("subtype"), record.get("text")
        if subtype == "completed":
            return self._close_open() if self._open == "thinking" else []
        if subtype != "delta" or not isinstance(text, str):
            return _unknown(record)
        return self._piece("thinking", text)

    def _assistant(self, record: dict[str, Any]) -> list[Event]:
        texts = assistant_texts(record)
        if texts is None:
            return _unknown(record)
        self._turn.pieces += texts
        return [event for text in texts for event in self._piece("text", text)]

    def _piece(self, kind: Literal["text", "thinking"], text: str) -> list[Event]:
        if not text:
            return []
        make = TextDelta if kind == "text" else Thinking
        if self._open == kind:
            return [make(text=text, phase="delta")]
        events = self._close_open()
        self._open = kind
        return [*events, make(text=text, phase="start")]

    def _close_open(self) -> list[Event]:
        was, self._open = self._open, ""
        if not was:
            return []
        return [
            TextDelta(text="", phase="end") if was == "text" else Thinking(text="", phase="end")
        ]

    def _tool_call(self, record: dict[str, Any]) -> list[Event]:
        subtype = record.get("subtype")
        call = call_of(record, self._server_key)
        if call is None or subtype not in {"started", "completed"}:
            return _unknown(record)
        if call.id in self._ended_calls:
            return []
        events = self._close_open()
        if call.id not in self._calls:
            self._calls[call.id] = call
            events += _started(call)
        if subtype == "completed":
            events += _completed(self._calls.pop(call.id), record)
            self._ended_calls.add(call.id)
        return events

    def _result(self, record: dict[str, Any]) -> list[Event]:
        fault = terminal_fault(record)
        if fault is not None:
            self._turn.blame(fault)
        self._turn.terminal = record
        return self._close_open()


def _started(call: Call) -> list[Event]:
    events: list[Event] = [
        ToolCall(call_id=call.id, name=call.name, arguments=call.arguments, hosted=call.hosted)
    ]
    if call.agent is not None:
        events.append(
            Subagent(agent_id=call.agent_id, name=call.agent, kind="started", text=call.task)
        )
    return events


def _completed(call: Call, record: Mapping[str, Any]) -> list[Event]:
    outcome = outcome_of(record)
    events: list[Event] = []
    if call.agent is not None:
        events.append(
            Subagent(agent_id=call.agent_id, name=call.agent, kind="finished", text=outcome.text)
        )
    result = ToolResult(
        call_id=call.id,
        name=call.name,
        text=outcome.text,
        is_error=outcome.is_error,
        hosted=call.hosted,
    )
    return [*events, result]


def _emitted(events: list[Event]) -> tuple[Step, ...]:
    return tuple(Emit(event) for event in events)


def _nothing(_record: Mapping[str, Any]) -> list[Event]:
    return []


def _unknown(record: Mapping[str, Any]) -> list[Event]:
    kind, subtype = _kind(record), record.get("subtype")
    what = f"{kind}/{subtype}" if isinstance(subtype, str) else kind or "without a type"
    return [_notice("provider.record", f"printed a record unknown here: {what[:100]}", record)]


def _notice(kind: str, what: str, data: Mapping[str, Any]) -> Notice:
    return Notice(kind=kind, message=f"Cursor {what}.", data=data)


def _kind(record: Mapping[str, Any]) -> str:
    kind = record.get("type")
    return kind if isinstance(kind, str) else ""
