"""The demonstration: the library's main job, once, with nothing but this package.

An Agent lends the tool ``lookup_issue`` to a provider process: the scripted
stand-in for a real CLI, which discovers and calls the tool over the same
gateway, with the same token, as a real one would.
"""

from __future__ import annotations

import json
import tempfile
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import TextIO

from . import tool
from .actors.system import System
from .agent import Agent
from .data import load_demo_script, load_issues
from .errors import RunError
from .messages.events import (
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
from .runtime.tracing import TraceEntry, Tracer, sequence_diagram
from .testing import scripted_cursor

__all__ = ["CLOSE_STEPS", "Recording", "describe", "draw", "lookup_issue", "record", "run_demo"]

PROMPT = "Is ISSUE-42 still open?"
"""What is asked when nothing else is."""

_COLUMNS = ("application", "Agent", "run", "tool registry", "gateway", "profile cleaner", "driver")
_RENAME = {
    "host": "application",
    "agent": "Agent",
    "system-registry": "tool registry",
    "system-gateway": "gateway",
    "system-cleaner": "profile cleaner",
}
CLOSE_STEPS = {
    "CancelRun": "run told to end",
    "CloseProcess": "provider process told to end",
    "SealOwner": "no new clone from here on",
    "RemoveClones": "clone removal begins",
    "ClonesRemoved": "clones removed",
    "RetireToken": "token retired: from here on it is refused",
    "HandlersDrained": "tool handlers drained",
    "ListenerClosed": "listener closed, its port is free",
    "TokenRetired": "registration gone",
    "AgentClosed": "Agent closed",
}
"""What the messages of a close mean, in words."""


@dataclass
class Issue:
    """What the tool tells of an issue."""

    key: str
    title: str
    state: str


@tool.define(title="Issue lookup", read_only=True, idempotent=True, revision="v1")
def lookup_issue(key: str) -> Issue:
    """Look up one issue by its key.

    Args:
        key: The issue's key, such as ISSUE-42.
    """
    found = load_issues().get(key)
    if found is None:
        advice = "Choose the key of an issue that exists, such as ISSUE-42."
        raise tool.reject("not_found", advice)
    return Issue(key=key, title=found["title"], state=found["state"])


@dataclass(frozen=True, slots=True)
class Recording:
    """What actors said to each other."""

    run: tuple[TraceEntry, ...]
    """From the first message to the run's end."""
    close: tuple[TraceEntry, ...]
    """From the application's close on."""


def run_demo(prompt: str, out: TextIO, diagram: Path) -> int:
    """Run the demonstration.

    Args:
        prompt: What to ask.
        out: Where to print.
        diagram: The file for the run's sequence diagram.

    Returns:
        The process's exit code: 0 where the run succeeded.
    """
    code, recording = record(prompt, out)
    print("\nclose, in order:", file=out)
    for line in close_order(recording.close):
        print(f"  {line}", file=out)
    diagram.write_text(draw(recording.run + recording.close, "A run and its close"), "utf-8")
    print(f"\nsequence diagram of this run: {diagram}", file=out)
    return code


def record(prompt: str, out: TextIO) -> tuple[int, Recording]:
    """Run the prompt and close, with every message recorded.

    Args:
        prompt: What to ask.
        out: Where to print the events as they happen.
    """
    tracer = Tracer()
    code = 0
    with (
        tempfile.TemporaryDirectory(prefix="toolcrib-demo-") as folder,
        System(tracer=tracer, clones=Path(folder, "clones")) as system,
    ):
        profile, workspace = Path(folder, "profile"), Path(folder, "workspace")
        profile.mkdir()
        workspace.mkdir()
        driver = scripted_cursor(load_demo_script(), profile=profile, directory=folder)
        agent = Agent(driver, tools=[lookup_issue], workspace=workspace, system=system)
        with agent:
            stream = agent.stream(prompt)
            for event in stream:
                print(describe(event), file=out, flush=True)
            try:
                print(f"\nfinal text: {stream.result().text}", file=out)
            except RunError as error:
                print(f"\nthe run failed: {error}", file=out)
                code = 1
            tracer.wait_for(lambda entry: entry.kind == "RunEnded", 10)
            before = len(tracer.entries())
    entries = tracer.entries()
    ended = next(i for i, e in enumerate(entries) if e.kind == "AgentClosed") + 1
    return code, Recording(tuple(entries[:before]), tuple(entries[before:ended]))


def close_order(entries: Iterable[TraceEntry]) -> list[str]:
    """Say in words what happened in a close, in the order it happened."""
    return [CLOSE_STEPS[entry.kind] for entry in entries if entry.kind in CLOSE_STEPS]


def draw(entries: Iterable[TraceEntry], title: str) -> str:
    """Draw recorded messages as a Mermaid sequence diagram."""
    public = (entry for entry in entries if not entry.kind.startswith("_"))
    return sequence_diagram(
        public,
        title=title,
        participants=_COLUMNS,
        rename=_RENAME,
        varying=("EventsRead", "EventsTaken"),
    )


def describe(event: Event) -> str:
    """Say an event in one line."""
    match event:
        case RunStarted(provider=provider, prompt=prompt):
            line = f"run started     {provider}: {prompt}"
        case ProcessInfo(kind="stderr", text=text):
            line = f"stderr          {text}"
        case ProcessInfo(kind=kind, pid=pid, exit_code=code):
            line = f"process {kind:<7} pid {pid}" + ("" if code is None else f", exit code {code}")
        case Thinking(text=text):
            line = f"thinking        {text}"
        case TextDelta(text=text):
            line = f"text            {text}"
        case ToolCall(name=name, arguments=arguments):
            line = f"tool call       {name} {json.dumps(dict(arguments))}"
        case ToolResult(name=name, text=text, is_error=is_error):
            line = f"tool {'error ' if is_error else 'result'}     {name} {text}"
        case Subagent(name=name, kind=kind, text=text):
            line = f"subagent        {name} {kind} {text}"
        case Notice(message=message):
            line = f"notice          {message}"
        case Dropped(count=count):
            line = f"dropped         {count} events"
        case RunFinished(ok=ok, message=message):
            line = f"run finished    {'ok' if ok else message}"
    return f"{event.sequence:>3}  {line}"
