"""Events and results, for tests of streams."""

from __future__ import annotations

from toolcrib.errors import RunError
from toolcrib.messages.events import (
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
from toolcrib.messages.results import Result, RunReason
from toolcrib.runtime.streams import EventStream

DEADLINE = 20.0


def make_result(text: str = "done") -> Result:
    return Result(
        run_id="run_1",
        thread_key=None,
        provider="cursor",
        model=None,
        text=text,
        usage=None,
        session_id=None,
        exit_code=0,
        terminal=None,
        stderr="",
    )


def make_error(message: str = "it failed") -> RunError:
    return RunError(message, reason=RunReason.PROVIDER_FAILED, result=make_result(""))


def started() -> RunStarted:
    return RunStarted(provider="cursor", prompt="hello")


def finished() -> RunFinished:
    return RunFinished(ok=True, reason=None, message="", text="done", usage=None)


def delta(text: str = "x") -> TextDelta:
    return TextDelta(text=text)


def notice(number: int = 0) -> Notice:
    return Notice(kind="test", message=str(number))


def drain(stream: EventStream) -> list[Event]:
    events: list[Event] = []
    while (event := stream.get(DEADLINE)) is not None:
        events.append(event)
    return events


CONTENT: list[Event] = [
    delta(),
    Thinking(text="x"),
    Subagent(agent_id="a", name="n", kind="delta"),
    ProcessInfo(kind="stderr", pid=1, text="line"),
]
ESSENTIAL: list[Event] = [
    TextDelta(text="", phase="start"),
    TextDelta(text="", phase="end"),
    Thinking(text="", phase="start"),
    Thinking(text="", phase="end"),
    Subagent(agent_id="a", name="n", kind="started"),
    Subagent(agent_id="a", name="n", kind="finished"),
    ProcessInfo(kind="spawned", pid=1),
    ProcessInfo(kind="exited", pid=1, exit_code=0),
    ToolCall(call_id="1", name="t", arguments={}, hosted=True),
    ToolResult(call_id="1", name="t", text="", is_error=False, hosted=True),
    notice(),
    started(),
    finished(),
]
