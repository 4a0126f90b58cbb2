"""Tells a turn in Cursor's records."""

from __future__ import annotations

import time
from collections.abc import Iterable, Mapping
from typing import Any

from ..printer import Printer
from ..telling import Answer, Call
from .records import Records, mcp_call, mcp_failure, mcp_success, new_call_id

__all__ = ["CursorTeller"]


class CursorTeller:
    """Tells one turn. See `Teller`.

    Args:
        printer: Where records go.
        session_id: The conversation's id.
        cwd: The workspace.
        model: The model's name.
    """

    code = 0

    def __init__(self, printer: Printer, session_id: str, *, cwd: str, model: str) -> None:
        self._printer = printer
        self._records = Records(session_id)
        self._cwd = cwd
        self._model = model
        self._began = time.monotonic()
        self._prompt = ""
        self._said: list[str] = []

    def call_id(self) -> str:
        """Return an id for a new call."""
        return new_call_id()

    def opening(self, prompt: str, servers: Iterable[str]) -> None:
        """Print the init and user records."""
        del servers  # they are looked for at their first use
        self._prompt = prompt
        self._printer.record(self._records.init(self._cwd, self._model))
        self._printer.record(self._records.message("user", prompt))

    def think(self, pieces: Iterable[str]) -> None:
        """Print a thought."""
        for piece in pieces:
            self._printer.record(self._records.thinking(piece))
        self._printer.record(self._records.thinking(None))

    def say(self, pieces: Iterable[str]) -> None:
        """Print a part of the answer."""
        for piece in pieces:
            self._said.append(piece)
            self._printer.record(self._records.message("assistant", piece))

    def started(self, call: Call) -> None:
        """Print the first record of a call."""
        self._printer.record(self._records.tool_call(call.id, _subject(call)))

    def returned(self, call: Call, answer: Answer) -> None:
        """Print the second record of a call."""
        if answer.lost:
            result = mcp_failure(answer.text)
        else:
            result = mcp_success(answer.texts, is_error=answer.is_error)
        self._printer.record(self._records.tool_call(call.id, _subject(call), result))

    def finish(self, override: Mapping[str, Any]) -> None:
        """Print the result record."""
        took = int((time.monotonic() - self._began) * 1000)
        text = "".join(self._said)
        self._printer.record(self._records.result(text, self._prompt, took, override))


def _subject(call: Call) -> dict[str, Any]:
    return mcp_call(call.id, call.server, call.name, call.arguments, call.title)
