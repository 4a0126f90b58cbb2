"""Standard input: prompts, and answers to what was asked."""

from __future__ import annotations

import json
import os
import select
from typing import Any

from ..player import Exit
from ..printer import Printer

__all__ = ["Frames"]

_CHUNK = 1 << 16


class Frames:
    """Reads frames, one JSON object a line, only when somebody waits for them.

    Args:
        descriptor: Where to read.
        printer: Where answers to requests go.
    """

    def __init__(self, descriptor: int, printer: Printer) -> None:
        self._descriptor = descriptor
        self._printer = printer
        self._rest = b""
        self._prompts: list[str] = []
        self._answers: dict[str, dict[str, Any]] = {}
        self.closed = False
        """Whether nothing will come any more."""

    def prompt(self) -> str | None:
        """Wait for a prompt and return it; ``None`` where none will come.

        Raises:
            Exit: Something else than frames came.
        """
        while not self._prompts and not self.closed:
            self._read(None)
        return self._prompts.pop(0) if self._prompts else None

    def answers(self, seconds: float | None) -> dict[str, dict[str, Any]]:
        """Wait for answers, and return the responses that came, by request id.

        Args:
            seconds: How long to wait at most; ``None`` waits for something.

        Raises:
            Exit: Something else than frames came.
        """
        if not self._answers and not self.closed:
            self._read(seconds)
        taken, self._answers = self._answers, {}
        return taken

    def _read(self, seconds: float | None) -> None:
        if not select.select([self._descriptor], [], [], seconds)[0]:
            return
        data = os.read(self._descriptor, _CHUNK)
        self.closed = not data
        *lines, self._rest = (self._rest + data).split(b"\n")
        for line in lines:
            if line.strip():
                self._take(line)

    def _take(self, line: bytes) -> None:
        try:
            frame = json.loads(line)
            kind = frame["type"]
            if kind == "user":
                self._prompts.append(_text(frame["message"]["content"]))
            elif kind == "control_response":
                response = frame["response"]
                self._answers[response["request_id"]] = response
            elif kind == "control_request":
                self._refuse(frame["request_id"], frame["request"]["subtype"])
        except (ValueError, KeyError, TypeError, AttributeError) as error:
            raise Exit(1, f"Error parsing streaming input line: {error!r}") from error

    def _refuse(self, request_id: str, subtype: str) -> None:
        response = {"subtype": "success", "request_id": request_id, "response": {}}
        if subtype != "initialize":
            error = f"Unsupported control request subtype: {subtype}"
            response = {"subtype": "error", "request_id": request_id, "error": error}
        self._printer.record({"type": "control_response", "response": response})


def _text(content: Any) -> str:
    if isinstance(content, str):
        return content
    return "".join(block["text"] for block in content if block["type"] == "text")
