"""What is asked by a process that asks as Claude Code does, and how it was decided."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import pytest

from toolcrib import (
    Agent,
    ApprovalRequest,
    Approvals,
    ApprovalSettled,
    Event,
    Policy,
    RunError,
    RunFinished,
    Stream,
    System,
)
from toolcrib.testing import scripted_claude

WAIT = 20.0

BASH = {
    "ask": "Bash",
    "arguments": {"command": "rm notes.txt"},
    "save": "run",
    "on_allow": [{"say": "ran {{results.run.arguments.command}}"}],
    "on_deny": [{"say": "denied: {{error.message}}"}],
}
QUESTION = {
    "question": "Which colour?",
    "choices": ["Red", {"label": "Blue", "description": "cold"}],
    "save": "colour",
    "on_allow": [{"say": "painted {{results.colour}}"}],
    "on_deny": [{"say": "denied: {{error.message}}"}],
}
PLAN = {
    "plan": "# Paint it",
    "on_allow": [{"say": "painted"}],
    "on_deny": [{"say": "denied: {{error.message}}"}],
}
CALL = {
    "call": "look_up",
    "arguments": {"key": "ISSUE-42"},
    "save": "found",
    "on_result": [{"say": "found {{results.found.result}}"}],
    "on_error": [{"say": "{{error.code}}: {{error.message}}"}],
}

Make = Callable[..., Agent]
Decide = Callable[[ApprovalRequest], object]


def asks(**rules: Any) -> Policy:
    kinds = {"permission": "ask", "question": "ask", "plan_review": "ask"}
    return Policy(approvals=Approvals(**{**kinds, **rules}))


def maker(system: System, workspace: Path, directory: Path) -> Make:
    """Return what makes an Agent whose provider plays some steps, with everything asked."""

    def make(
        *steps: Mapping[str, Any], rules: Mapping[str, Any] | None = None, **options: Any
    ) -> Agent:
        script = {"turns": [{"steps": list(steps or (BASH,))}]}
        driver = scripted_claude(script, directory=directory)
        options.setdefault("policy", asks(**(rules or {})))
        return Agent(driver, system=system, workspace=workspace, **options)

    return make


def read(stream: Stream, decide: Decide) -> list[Event]:
    """Read a stream to its end, deciding in the thread that reads."""
    events = []
    for event in stream:
        events.append(event)
        if isinstance(event, ApprovalRequest):
            decide(event)
    check(events)
    return events


def check(events: list[Event]) -> None:
    """Hold a run's events to it: one request is settled once, and before the end."""
    asked = [(e.request_id, e.attempt) for e in events if isinstance(e, ApprovalRequest)]
    settled = [(e.request_id, e.attempt) for e in events if isinstance(e, ApprovalSettled)]
    assert len(set(settled)) == len(settled)
    assert set(asked) <= set(settled)
    assert isinstance(events[-1], RunFinished)


def outcomes(events: list[Event]) -> list[tuple[str, str]]:
    return [(e.outcome, e.by) for e in events if isinstance(e, ApprovalSettled)]


def requests(events: list[Event]) -> list[ApprovalRequest]:
    return [event for event in events if isinstance(event, ApprovalRequest)]


def nothing(request: ApprovalRequest) -> None:
    del request


def refusal(stream: Stream) -> RunError:
    with pytest.raises(RunError) as caught:
        stream.result(WAIT)
    return caught.value
