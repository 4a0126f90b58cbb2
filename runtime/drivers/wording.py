"""What drivers say: to the application of a turn that failed, to a model of its answer."""

from __future__ import annotations

import json

from ...messages.options import OutputSchema
from ...messages.turn import ProcessExit

__all__ = ["asking_for", "explain", "shortened"]

_LONGEST = 300


def asking_for(output: OutputSchema, prompt: str) -> str:
    """Return a prompt that asks for an answer of a form, where nothing else can."""
    schema = json.dumps(dict(output.schema), ensure_ascii=False)
    return (
        f"{prompt}\n\nEnd with one JSON value and nothing else: no other text, no code "
        f"fence. It is a {output.name} and has to fit this JSON Schema:\n{schema}"
    )


def explain(command: str, exit: ProcessExit, what: str, step: str, said: str = "") -> str:
    """Return the message of a failed turn.

    Args:
        command: The command, as messages should name it.
        exit: How its process ended.
        what: What happened, as a clause without full stop.
        step: What to do next, as a sentence.
        said: What to show of its standard error; unset, the last line.
    """
    code = "unknown" if exit.known_code is None else exit.code
    ended = f"signal {-exit.code}" if exit.code < 0 else f"exit code {code}"
    if not said:
        lines = [line for line in exit.stderr.splitlines() if line.strip()]
        said = lines[-1] if lines else ""
    shown = f" Its standard error ends: {shortened(said)}" if said else ""
    return f"{command}: {what} ({ended}). {step}{shown}"


def shortened(text: str) -> str:
    """Return a text on one line, and not too long to be read in a message."""
    flat = " ".join(text.split())
    return flat if len(flat) <= _LONGEST else f"{flat[:_LONGEST]}…"
