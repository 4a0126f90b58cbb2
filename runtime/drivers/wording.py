"""How drivers say that a turn failed: the command, its end, and the next step."""

from __future__ import annotations

from ...messages.turn import ProcessExit

__all__ = ["explain", "shortened"]

_LONGEST = 300


def explain(command: str, exit: ProcessExit, what: str, step: str) -> str:
    """Return the message of a failed turn.

    Args:
        command: The command, as messages should name it.
        exit: How its process ended; the last line of its standard error is shown.
        what: What happened, as a clause without full stop.
        step: What to do next, as a sentence.
    """
    ended = f"signal {-exit.code}" if exit.code < 0 else f"exit code {exit.code}"
    lines = [line for line in exit.stderr.splitlines() if line.strip()]
    said = f" Last line of its standard error: {shortened(lines[-1])}" if lines else ""
    return f"{command}: {what} ({ended}). {step}{said}"


def shortened(text: str) -> str:
    """Return a text on one line, and not too long to be read in a message."""
    flat = " ".join(text.split())
    return flat if len(flat) <= _LONGEST else f"{flat[:_LONGEST]}…"
