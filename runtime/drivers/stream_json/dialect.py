"""One turn of a stream-json conversation, as events and a verdict."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from ....messages.events import Event, Notice, ToolCall, ToolResult
from ....messages.results import Usage
from ....messages.turn import HostedServer, ProcessExit, TurnOutcome
from ..interface import (
    Ask,
    CloseInput,
    Decision,
    Dialect,
    Emit,
    Finished,
    MaskedLine,
    Step,
    Stop,
    TurnRequest,
)
from ..json_lines import JsonLines
from .asking import Approval, Asking
from .background import Background
from .control import refusal, request, user_frame
from .pieces import Pieces
from .records import (
    Call,
    blocks_of,
    call_of,
    cost_of,
    failure_of,
    missing_tools,
    result_text,
    text_of,
    usage_of,
)
from .subagents import Subagents
from .verdict import Turn, judge

__all__ = ["Flavor", "StreamJsonDialect"]

_INITIALIZE = "toolcrib-initialize"
_QUIET = {
    "background_tasks_changed",
    "mcp_status",
    "status",
    "task_notification",
    "task_progress",
    "task_started",
    "task_updated",
    "thinking_tokens",
}
_SYNTHETIC = "<synthetic>"
"""The model of messages that the CLI writes itself, such as about an error."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Flavor:
    """Where the providers that speak stream-json differ."""

    name: str
    """The provider, as messages should name it."""
    approval: Approval
    """Makes the answer to what it asks."""
    initialize: Mapping[str, Any] | None = None
    """The control request to begin with, if there is one."""
    double_encoded: bool = False
    """Whether results of MCP tools are JSON within JSON."""
    plans_end: bool = False
    """Whether a plan that is denied has to end the turn: it would wait for what
    its user says next, and forget what was before."""
    usage_runs_on: bool = False
    """Whether the usage of a ``result`` counts the whole conversation, so that
    the usage of the single messages has to be added up."""
    input_holds_cached: bool = False
    """Whether the input tokens include those that came from a cache."""


class StreamJsonDialect(Dialect):
    """Reads one turn. See `Dialect` for who calls what.

    Args:
        flavor: The provider's ways.
        command: The command, as messages should name it.
        turn: What is asked.
    """

    def __init__(self, flavor: Flavor, *, command: str, turn: TurnRequest) -> None:
        self._flavor = flavor
        self._prompt = turn.prompt
        self._server: HostedServer | None = turn.server
        typed = turn.output is not None
        self._turn = Turn(command=command, resume=turn.resume, typed=typed)
        key = turn.server.key if turn.server else None
        self._asking = Asking(flavor.name, flavor.approval, key, plans_end=flavor.plans_end)
        self._lines = JsonLines()
        self._masked = False
        self._background = Background()
        self._subagents = Subagents()
        self._pieces = Pieces(self._turn.say)
        self._calls: dict[str, Call] = {}
        self._answered: set[str] = set()
        self._spent: dict[str, Usage] = {}
        self._cost: float | None = None
        self._readers: dict[str, Callable[[dict[str, Any]], list[Step]]] = {
            "system": self._system,
            "assistant": self._assistant,
            "user": self._user,
            "stream_event": self._stream_event,
            "control_request": self._control_request,
            "control_response": self._control_response,
            "control_cancel_request": self._asking.withdrawn,
            "file-history-snapshot": _nothing,
            "keep_alive": _nothing,
            "result": self._result,
            "error": self._error,
        }

    def opening(self) -> tuple[Step, ...]:
        """Write the prompt, or what has to come before it; the input stays open."""
        if self._flavor.initialize is not None:
            return (request(_INITIALIZE, self._flavor.initialize),)
        return (user_frame(self._prompt),)

    def line(self, text: str) -> tuple[Step, ...]:
        """Turn one line into steps; nothing that is printed makes it raise."""
        self._masked = isinstance(text, MaskedLine)
        taken = self._lines.take(text)
        if taken is None or self._turn.missing:
            return ()
        if isinstance(taken, str):
            notice = self._notice("provider.output", "printed no record", {"line": taken})
            return (Emit(notice),)
        reader = self._readers.get(text_of(taken, "type"), self._unknown)
        return tuple(reader(taken))

    def decided(self, ask: Ask, decision: Decision) -> tuple[Step, ...]:
        """Answer what the provider had asked."""
        return tuple(self._asking.decided(ask, decision))

    def ended(self, exit: ProcessExit) -> TurnOutcome:
        """Judge the turn from its records and the exit code together."""
        died = self._turn.terminal is None and exit.code != 0
        if self._lines.broken(died=died):
            self._turn.blame("it printed a record that is not valid JSON")
        self._turn.usage = _total(self._spent, self._cost)
        self._turn.refused_plan = self._asking.refused_plan
        return judge(self._turn, exit)

    def _system(self, record: dict[str, Any]) -> list[Step]:
        subtype = record.get("subtype")
        if subtype == "init":
            return self._init(record)
        if subtype == "permission_denied":
            message = text_of(record, "message") or "The call was not allowed."
            return [Emit(Notice(kind="provider.permission", message=message, data=record))]
        if subtype not in _QUIET:
            return self._unknown(record)
        self._background.take(record)
        return _emitted(self._subagents.task(record))

    def _init(self, record: dict[str, Any]) -> list[Step]:
        # It comes once more for each further turn, and for agents, which name
        # conversations of their own.
        if self._turn.session_id is not None:
            return []
        self._turn.session_id = text_of(record, "session_id") or None
        self._turn.model = text_of(record, "model") or None
        data = {"session_id": self._turn.session_id, "model": self._turn.model}
        steps: list[Step] = [
            Emit(self._notice("provider.session", "started its session", data)),
        ]
        if self._server is not None:
            cause = missing_tools(record, self._server.key, self._server.tools)
            if cause is not None:
                self._turn.missing = cause
                steps.append(Stop())
        return steps

    def _assistant(self, record: dict[str, Any]) -> list[Step]:
        found = blocks_of(record)
        if found is None:
            return self._unknown(record)
        message, blocks = found
        if record["message"].get("model") == _SYNTHETIC:
            text = " ".join(text_of(block, "text") for block in blocks)
            return [Emit(self._notice("provider.message", f"says: {text}", record))]
        parent = text_of(record, "parent_tool_use_id")
        if self._flavor.usage_runs_on:
            self._spend(message, record["message"].get("usage"))
        events = self._subagents.said(parent) if parent else []
        for block in blocks:
            match block.get("type"):
                case "text" if parent:
                    events += self._subagents.said(parent, text_of(block, "text"))
                case "text":
                    events += self._pieces.whole("text", message, text_of(block, "text"))
                case "thinking" if not parent:
                    events += self._pieces.whole("thinking", message, text_of(block, "thinking"))
                case "tool_use":
                    events += self._called(block)
        return _emitted(events)

    def _called(self, block: Mapping[str, Any]) -> list[Event]:
        call = call_of(block, self._server.key if self._server else None)
        if call is None or call.id in self._calls:
            return []
        self._calls[call.id] = call
        self._subagents.called(call)
        self._asking.called(call)
        event = ToolCall(
            call_id=call.id, name=call.name, arguments=call.arguments, hosted=call.hosted
        )
        return [*self._pieces.close(), event]

    def _user(self, record: dict[str, Any]) -> list[Step]:
        found = blocks_of(record)
        if found is None:
            return self._unknown(record)
        results = [block for block in found[1] if block.get("type") == "tool_result"]
        return _emitted([event for block in results for event in self._returned(block)])

    def _returned(self, block: Mapping[str, Any]) -> list[Event]:
        call = self._calls.get(text_of(block, "tool_use_id"))
        if call is None or call.id in self._answered:
            return []
        self._answered.add(call.id)
        twice = self._flavor.double_encoded and call.server
        text = result_text(block.get("content"), double_encoded=twice)
        result = ToolResult(
            call_id=call.id,
            name=call.name,
            text=text,
            is_error=block.get("is_error") is True,
            hosted=call.hosted,
        )
        return [*self._subagents.returned(call.id, text), result]

    def _stream_event(self, record: dict[str, Any]) -> list[Step]:
        event = record.get("event")
        if not isinstance(event, dict):
            return self._unknown(record)
        # What agents say comes whole, so that it does not mix with the answer.
        if record.get("parent_tool_use_id") is not None:
            return []
        kind = event.get("type")
        if kind == "content_block_delta":
            return _emitted(self._pieces.streamed(event.get("delta")))
        if kind == "message_start":
            message = event.get("message")
            self._pieces.message = text_of(message, "id") if isinstance(message, dict) else ""
        elif kind == "message_delta" and self._flavor.usage_runs_on:
            self._spend(self._pieces.message, event.get("usage"))
        elif kind in {"content_block_stop", "message_stop"}:
            return _emitted(self._pieces.close())
        return []

    def _control_request(self, record: dict[str, Any]) -> list[Step]:
        asked = record.get("request")
        number = text_of(record, "request_id")
        if not isinstance(asked, dict) or asked.get("subtype") != "can_use_tool":
            return [
                refusal(number, "toolcrib does not serve this request."),
                *self._unknown(record),
            ]
        return self._asking.asked(number, asked, masked=self._masked)

    def _control_response(self, record: dict[str, Any]) -> list[Step]:
        response = record.get("response")
        if not isinstance(response, dict) or response.get("request_id") != _INITIALIZE:
            return []
        if response.get("subtype") == "success":
            return [user_frame(self._prompt)]
        self._turn.blame(f"it refused to be initialized: {failure_of(response)[:200]}")
        return [Stop()]

    def _result(self, record: dict[str, Any]) -> list[Step]:
        self._turn.terminal = record
        if self._turn.session_id is None:
            self._turn.session_id = text_of(record, "session_id") or None
        if not self._flavor.usage_runs_on:
            self._spend(f"result-{len(self._spent)}", record.get("usage"))
        if not (self._flavor.usage_runs_on and self._turn.resume):
            # It counts from the process's start, or from the conversation's.
            self._cost = cost_of(record)
        closed = _emitted(self._pieces.close())
        match self._background.after(record):
            case "more":
                return closed
            case "perhaps":
                return [*closed, CloseInput()]
            case "done":
                return [*closed, *_emitted(self._subagents.ended()), Finished()]

    def _error(self, record: dict[str, Any]) -> list[Step]:
        # The process would stay, and wait for something else to do.
        self._turn.terminal = record
        events = [*self._pieces.close(), *self._subagents.ended()]
        return [*_emitted(events), Finished()]

    def _spend(self, of: str, counts: object) -> None:
        usage = usage_of(counts, holds_cached=self._flavor.input_holds_cached)
        # A message's record may count nothing where its stream did.
        if usage is not None and (usage.input_tokens or usage.output_tokens):
            self._spent[of] = usage

    def _unknown(self, record: Mapping[str, Any]) -> list[Step]:
        parts = (text_of(record, "type"), text_of(record, "subtype"))
        what = "/".join(part for part in parts if part) or "without a type"
        return [
            Emit(
                self._notice(
                    "provider.record", f"printed a record unknown here: {what[:100]}", record
                )
            )
        ]

    def _notice(self, kind: str, what: str, data: Mapping[str, Any]) -> Notice:
        return Notice(kind=kind, message=f"{self._flavor.name} {what}.", data=data)


def _emitted(events: list[Event]) -> list[Step]:
    return [Emit(event) for event in events]


def _nothing(_record: Mapping[str, Any]) -> list[Step]:
    return []


def _total(spent: Mapping[str, Usage], cost: float | None) -> Usage | None:
    if not spent and cost is None:
        return None
    return Usage(
        cost=cost,
        input_tokens=_sum(usage.input_tokens for usage in spent.values()),
        output_tokens=_sum(usage.output_tokens for usage in spent.values()),
        cached_tokens=_sum(usage.cached_tokens for usage in spent.values()),
    )


def _sum(counts: Iterable[int | None]) -> int | None:
    known = [count for count in counts if count is not None]
    return sum(known) if known else None
