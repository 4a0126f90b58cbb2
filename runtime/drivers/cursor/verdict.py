"""The verdict over one turn of the Cursor CLI."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from ....messages.results import RunReason
from ....messages.turn import ProcessExit, TurnOutcome
from ..wording import explain, shortened
from .records import usage_of

__all__ = ["Turn", "judge"]

_NOUN = r"(?:chat|conversation|session)"


@dataclass(slots=True, kw_only=True)
class Turn:
    """What the records of a turn have told so far."""

    command: str
    """The command, as messages should name it."""
    resume: str | None
    """The conversation that the turn is to go on with."""
    session_id: str | None = None
    """The conversation that the provider names."""
    model: str | None = None
    """The model that it names."""
    pieces: list[str] = field(default_factory=list)
    """The pieces of the answer."""
    terminal: Mapping[str, Any] | None = None
    """The terminal record."""
    fault: str = ""
    """The first thing that the protocol does not allow."""

    def blame(self, fault: str) -> None:
        """Remember a fault, unless there is one already."""
        self.fault = self.fault or fault


def judge(turn: Turn, exit: ProcessExit) -> TurnOutcome:
    """Return the verdict, after the last record and the process's end."""
    reason, message = _failure(turn, exit)
    terminal = turn.terminal or {}
    text = "".join(turn.pieces)
    final = terminal.get("result")
    if not text and reason is None and isinstance(final, str):
        text = final
    return TurnOutcome(
        ok=reason is None,
        reason=reason,
        message=message,
        text=text,
        model=turn.model,
        usage=usage_of(terminal),
        session_id=turn.session_id,
        terminal=turn.terminal,
    )


def _failure(turn: Turn, exit: ProcessExit) -> tuple[RunReason | None, str]:
    if turn.fault:
        return RunReason.PROTOCOL_ERROR, explain(
            turn.command,
            exit,
            turn.fault,
            "Check that the command is a Cursor CLI of a known version.",
        )
    if turn.terminal is None:
        return _early_end(turn, exit)
    if turn.terminal["is_error"] or turn.terminal["subtype"] != "success":
        said = shortened(turn.terminal["result"]) or turn.terminal["subtype"][:100]
        return RunReason.PROVIDER_FAILED, explain(
            turn.command,
            exit,
            f"it reported a failure: {said}",
            "See what it says, then run again.",
        )
    if exit.code != 0 and not exit.forced:
        return RunReason.PROVIDER_FAILED, explain(
            turn.command, exit, "it failed after it reported success", "See its standard error."
        )
    if turn.resume is not None and turn.session_id != turn.resume:
        return RunReason.PROTOCOL_ERROR, explain(
            turn.command,
            exit,
            f"it was to go on with conversation {turn.resume} and answered in {turn.session_id}",
            "Start a new thread.",
        )
    return None, ""


def _early_end(turn: Turn, exit: ProcessExit) -> tuple[RunReason, str]:
    if _rejects_resume(turn, exit):
        return RunReason.RESUME_REJECTED, explain(
            turn.command,
            exit,
            f"it does not know conversation {turn.resume}",
            "Start a new thread.",
        )
    return RunReason.PROVIDER_DIED, explain(
        turn.command,
        exit,
        "it ended before its result record",
        "Run the command by hand to see why; a login may be missing.",
    )


def _rejects_resume(turn: Turn, exit: ProcessExit) -> bool:
    # Kept narrow: a login or network failure must not cost a conversation, nor
    # may a prompt that was worked on count as rejected.
    if turn.resume is None or exit.known_code == 0 or turn.session_id or turn.pieces:
        return False
    name = rf"""["'`]?{re.escape(turn.resume)}["'`]?"""
    missing = r"(?:was |is |could |does )?(?:not (?:be )?found|unknown|not exist)"
    lines = (
        rf"{_NOUN}(?: with)?(?: id)?:? {name}:? {missing}",
        rf"{_NOUN} {missing}:? {name}",
        rf"(?:no|unknown|no such|(?:can ?not|can't|could not|couldn't) find) {_NOUN}\b.*{name}",
        rf"^(?:error: )?no {_NOUN} found\.?$",
        rf"^(?:error: )?{_NOUN} not found\.?$",
    )
    flags = re.IGNORECASE | re.MULTILINE
    return any(re.search(line, exit.stderr, flags) for line in lines)
