"""The verdict over one turn of the Codex CLI."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from ....messages.results import RunReason
from ....messages.turn import ProcessExit, TurnOutcome
from ..wording import explain, shortened
from .records import failure_text
from .usage import usage_since

__all__ = ["COMPLETED", "FAILED", "Turn", "judge"]

COMPLETED = "turn.completed"
"""The terminal record of a turn that succeeded."""
FAILED = "turn.failed"
"""The terminal record of a turn that did not."""

_TRANSPORT = re.compile(r"Send message error Transport \[\S*\] error: ")
_NEVER_STARTED = "required MCP servers failed to initialize: "


@dataclass(slots=True, kw_only=True)
class Turn:
    """What the records of a turn have told so far."""

    command: str
    """The command, as messages should name it."""
    server_key: str | None
    """The key of the hosted server; ``None`` where there is none."""
    resume: str | None
    """The conversation that the turn is to go on with."""
    spent: Mapping[str, Any] | None
    """What that conversation had used before."""
    session_id: str | None = None
    """The conversation that the provider names."""
    messages: list[str] = field(default_factory=list)
    """The messages of the answer."""
    error: str = ""
    """The last error that it reported, which it may have got over."""
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
    return TurnOutcome(
        ok=reason is None,
        reason=reason,
        message=message,
        text="\n\n".join(turn.messages),
        usage=usage_since(turn.spent, terminal.get("usage")),
        session_id=turn.session_id,
        terminal=turn.terminal,
    )


def _failure(turn: Turn, exit: ProcessExit) -> tuple[RunReason | None, str]:
    def fail(reason: RunReason, what: str, step: str) -> tuple[RunReason, str]:
        return reason, explain(turn.command, exit, what, step, _last_error(exit.stderr))

    if turn.fault:
        step = "Check that the command is a Codex CLI of a known version."
        return fail(RunReason.PROTOCOL_ERROR, turn.fault, step)
    if turn.terminal is None:
        return fail(*_early_end(turn, exit))
    if turn.terminal["type"] == FAILED:
        said = shortened(failure_text(turn.terminal.get("error")) or turn.error)
        what = f"it reported a failure: {said}"
        return fail(RunReason.PROVIDER_FAILED, what, "See what it says, then run again.")
    if exit.code != 0 and not exit.forced:
        what = "it failed after it reported success"
        return fail(RunReason.PROVIDER_FAILED, what, "See its standard error.")
    if turn.session_id is None:
        step = "Check that the command is a Codex CLI of a known version."
        return fail(RunReason.PROTOCOL_ERROR, "it named no conversation", step)
    if turn.resume is not None and turn.session_id != turn.resume:
        what = f"it was to go on with conversation {turn.resume} and answered in {turn.session_id}"
        return fail(RunReason.PROTOCOL_ERROR, what, "Start a new thread.")
    return None, ""


def _early_end(turn: Turn, exit: ProcessExit) -> tuple[RunReason, str, str]:
    cause = _missing_tools(turn, exit)
    if cause is not None:
        return (
            RunReason.TOOLS_UNAVAILABLE,
            f"it could not reach the Agent's tools: {cause}",
            "Check that it may connect to 127.0.0.1.",
        )
    if _rejects_resume(turn, exit):
        what = f"it does not know conversation {turn.resume}"
        return RunReason.RESUME_REJECTED, what, "Start a new thread."
    said = f"; it said: {shortened(turn.error)}" if turn.error else ""
    return (
        RunReason.PROVIDER_DIED,
        f"it ended before its turn did{said}",
        "Run the command by hand to see why; a login may be missing.",
    )


def _last_error(stderr: str) -> str:
    """Return the error that the process ended with, without a backtrace."""
    # It may take several lines, such as the one that a setting is wrong in.
    lines = stderr.splitlines()
    starts = [at for at, line in enumerate(lines) if line.startswith("Error")]
    end = "\n".join(lines[starts[-1] :]) if starts else ""
    return re.split(r"\n\s*\n|\nStack backtrace", end, maxsplit=1)[0]


def _missing_tools(turn: Turn, exit: ProcessExit) -> str | None:
    """Return why the hosted server was not reached, ``None`` where it was not that."""
    for line in exit.stderr.splitlines():
        _, found, servers = line.partition(_NEVER_STARTED)
        # Other servers of the user may be required, and fail, as well.
        for server in servers.split("; ") if found else ():
            name, _, cause = server.partition(": ")
            if name == turn.server_key:
                return shortened(_TRANSPORT.sub("", cause))
    return None


def _rejects_resume(turn: Turn, exit: ProcessExit) -> bool:
    # Kept narrow: a login or network failure must not cost a conversation, nor
    # may a prompt that was worked on count as rejected.
    if turn.resume is None or exit.known_code == 0 or turn.session_id or turn.messages:
        return False
    name = re.escape(turn.resume)
    lines = (
        rf"no rollout found for (?:thread|conversation)(?: id)? {name}\b",
        rf"missing rollout path for thread {name}\b",
        rf"(?:thread|session|conversation) (?:with id )?{name} (?:was )?not found\b",
    )
    return any(re.search(line, exit.stderr, re.IGNORECASE) for line in lines)
