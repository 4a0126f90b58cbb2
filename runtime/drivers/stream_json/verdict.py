"""The verdict over one turn."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from ....messages.results import RunReason, Usage
from ....messages.turn import ProcessExit, TurnOutcome
from ..wording import explain, shortened
from .records import failure_of

__all__ = ["Turn", "judge"]

_NOUN = r"(?:conversation|session)"


@dataclass(slots=True, kw_only=True)
class Turn:
    """What the records of a turn have told so far."""

    command: str
    """The command, as messages should name it."""
    resume: str | None
    """The conversation that the turn is to go on with."""
    typed: bool = False
    """Whether the answer has to be JSON of a type."""
    session_id: str | None = None
    """The conversation that the provider names."""
    model: str | None = None
    """The model that it names."""
    messages: dict[str, list[str]] = field(default_factory=dict)
    """The pieces of the messages of the answer, by id."""
    usage: Usage | None = None
    """The tokens of all results."""
    terminal: Mapping[str, Any] | None = None
    """The last ``result`` record, or an ``error`` record in its place."""
    missing: str = ""
    """Why the Agent's tools are not there."""
    refused_plan: str = ""
    """Why a plan was denied that ended the turn."""
    fault: str = ""
    """The first thing that the protocol does not allow."""

    def blame(self, fault: str) -> None:
        """Remember a fault, unless there is one already."""
        self.fault = self.fault or fault

    def say(self, message: str, text: str) -> None:
        """Take a piece of a message of the answer."""
        self.messages.setdefault(message, []).append(text)


def judge(turn: Turn, exit: ProcessExit) -> TurnOutcome:
    """Return the verdict, after the last record and the process's end."""
    reason, what, step = _failure(turn, exit)
    text = "\n\n".join(map("".join, turn.messages.values()))
    final = (turn.terminal or {}).get("result")
    if not text and reason is None and isinstance(final, str):
        text = final
    return TurnOutcome(
        ok=reason is None,
        reason=reason,
        message="" if reason is None else explain(turn.command, exit, what, step),
        text=text,
        model=turn.model,
        usage=turn.usage,
        session_id=turn.session_id,
        terminal=turn.terminal,
        output=_output(turn.terminal or {}) if turn.typed else None,
    )


def _output(terminal: Mapping[str, Any]) -> str | None:
    """Return the answer alone, as the provider held it to a schema or said it last."""
    value, text = terminal.get("structured_output"), terminal.get("result")
    if value is not None:
        return json.dumps(value, ensure_ascii=False)
    # What it said on the way is no part of the answer.
    return text if isinstance(text, str) else None


def _failure(turn: Turn, exit: ProcessExit) -> tuple[RunReason | None, str, str]:
    if turn.missing:
        what = f"it started without the Agent's tools: {turn.missing}"
        return (
            RunReason.TOOLS_UNAVAILABLE,
            what,
            ("Check that it may connect to 127.0.0.1, and that no setting denies the tools."),
        )
    if turn.refused_plan:
        what = f"its plan was denied, and it does not go on after that: {turn.refused_plan}"
        return RunReason.APPROVAL_DENIED, what, "Run again, and say what the plan should be."
    if turn.fault:
        step = "Check that the command is a CLI of a known version."
        return RunReason.PROTOCOL_ERROR, turn.fault, step
    if _rejects_resume(turn, exit):
        what = f"it does not know conversation {turn.resume}"
        return RunReason.RESUME_REJECTED, what, "Start a new thread."
    terminal = turn.terminal
    if terminal is None:
        step = "Run the command by hand to see why; a login may be missing."
        return RunReason.PROVIDER_DIED, "it ended before its result record", step
    if terminal.get("is_error") is not False or terminal.get("subtype") != "success":
        what = f"it reported a failure: {shortened(failure_of(terminal))}"
        return RunReason.PROVIDER_FAILED, what, "See what it says, then run again."
    return _late_failure(turn, exit)


def _late_failure(turn: Turn, exit: ProcessExit) -> tuple[RunReason | None, str, str]:
    if exit.code != 0 and not exit.forced:
        what = "it failed after it reported success"
        return RunReason.PROVIDER_FAILED, what, "See its standard error."
    if turn.resume is not None and turn.session_id != turn.resume:
        what = f"it was to go on with conversation {turn.resume} and answered in {turn.session_id}"
        return RunReason.PROTOCOL_ERROR, what, "Start a new thread."
    return None, "", ""


def _rejects_resume(turn: Turn, exit: ProcessExit) -> bool:
    # Kept narrow: a login or network failure must not cost a conversation, nor
    # may a prompt that was worked on count as rejected.
    if turn.resume is None or turn.messages or (turn.terminal is None and exit.known_code == 0):
        return False
    if turn.terminal is not None and turn.terminal.get("subtype") == "success":
        return False
    name = re.escape(turn.resume)
    lines = (
        rf"no {_NOUN} found with session id:? {name}",
        rf"{_NOUN} (?:with id )?{name} (?:was )?not found",
    )
    said = exit.stderr if turn.terminal is None else failure_of(turn.terminal)
    flags = re.IGNORECASE | re.MULTILINE
    return any(re.search(rf"^(?:error: )?{line}\.?\s*$", said, flags) for line in lines)
