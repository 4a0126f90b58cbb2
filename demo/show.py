"""A run's events, each in one line for a terminal."""

from __future__ import annotations

import json

from ..messages.events import (
    ApprovalRequest,
    ApprovalSettled,
    Dropped,
    Event,
    Notice,
    ProcessInfo,
    RunFinished,
    RunStarted,
    Subagent,
    TextDelta,
    Thinking,
    ToolCall,
    ToolResult,
)

__all__ = ["describe"]


def describe(event: Event) -> str:
    """Say an event in one line; empty where there is nothing to show."""
    match event:
        case RunStarted(provider=provider, prompt=prompt):
            return f"run started     {provider}: {prompt}"
        case ProcessInfo():
            return _process(event)
        case Thinking(text=text):
            return text and f"thinking        {text.strip()}"
        case TextDelta(text=text):
            return text and f"text            {text.strip()}"
        case ToolCall(name=name, arguments=arguments):
            return f"tool call       {name} {json.dumps(dict(arguments), ensure_ascii=False)}"
        case ToolResult(name=name, text=text, is_error=is_error):
            return f"tool {'error ' if is_error else 'result'}     {name} {text}"
        case Subagent(name=name, kind=kind, text=text):
            return f"subagent        {name} {kind} {text}"
        case Notice(message=message):
            return f"notice          {message}"
        case ApprovalRequest(kind=kind, title=title):
            return f"{kind:<16}{title}"
        case ApprovalSettled(outcome=outcome, by=by):
            return f"{outcome:<16}by {by}"
        case Dropped(count=count):
            return f"dropped         {count} events"
        case RunFinished(ok=ok, message=message):
            return f"run finished    {'ok' if ok else message}"


def _process(event: ProcessInfo) -> str:
    if event.kind == "stderr":
        return f"stderr          {event.text}"
    code = "" if event.exit_code is None else f", exit code {event.exit_code}"
    return f"process {event.kind:<7} pid {event.pid}{code}"
