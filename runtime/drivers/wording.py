"""How drivers say that a turn failed: the command, its end, and the next step."""

from __future__ import annotations

from ...messages.turn import ProcessExit

__all__ = ["explain", "shortened"]

_LONGEST = 300


def explain(command: str, exit: ProcessExit, what: str, step: str, said: str = "") -> str:
    """Return the message of a failed turn.

    Args:
        command: The command, as messages should name it.
        exit: How its process ended.
        what: What happened, as a clause without full stop.
        step: What to do next, as a sentence.
        said: What to show of its standard error; unset, the last line.
    """
    ended = f"signal {-exit.code}" if exit.code < 0 else f"exit code {exit.code}"
    if not said:
        lines = [line for line in exit.stderr.splitlines() if line.strip()]
        said = lines[-1] if lines else ""
    shown = f" Its standard error ends: {shortened(said)}" if said else ""
    return f"{command}: {what} ({ended}). {step}{shown}"


def shortened(text: str) -> str:
    """Return a text on one line, and not too long to be read in a message."""
    flat = " ".join(text.split())
    return flat if len(flat) <= _LONGEST else f"{flat[:_LONGEST]}…"
