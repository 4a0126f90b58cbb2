"""Tells a turn in Claude Code's records."""

from __future__ import annotations

import json
import time
import uuid
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from ..printer import Printer
from ..telling import Answer, Call
from ..toolbox import Toolbox
from .flags import Options
from .records import Records, full_name

__all__ = ["ClaudeTeller"]

_SCRIPTED = "structured"
_OUTPUT_TOOL = "StructuredOutput"


class ClaudeTeller:
    """Tells one turn. See `Teller`.

    What is thought, said and called between two results of tools belongs to
    one message; each block of it has a record of its own.

    Args:
        printer: Where records go.
        records: Makes them.
        toolbox: Where tools are.
        cwd: The workspace.
        options: What the process was started with.
    """

    def __init__(
        self, printer: Printer, records: Records, toolbox: Toolbox, *, cwd: str, options: Options
    ) -> None:
        self.code = 0
        """The exit code that goes with the last terminal record."""
        self._printer = printer
        self._records = records
        self._toolbox = toolbox
        self._cwd = cwd
        self._options = options
        self._began = time.monotonic()
        self._prompt = ""
        self._message = ""
        self._blocks = 0
        self._texts: list[str] = []
        self._texts_of = ""
        self._spoken = 0

    def call_id(self) -> str:
        """Return an id for a new call."""
        return f"toolu_{uuid.uuid4().hex[:24]}"

    def opening(self, prompt: str, servers: Iterable[str]) -> None:
        """Print the init record, with the servers that the turn uses connected."""
        self._prompt = prompt
        states = {key: self._state(key) for key in servers}
        options = self._options
        record = self._records.init(self._cwd, options.mode, states, prompts=options.prompts)
        self._printer.record(record)

    def think(self, pieces: Iterable[str]) -> None:
        """Print a block of thinking."""
        self._block("thinking", {"signature": ""}, pieces)

    def say(self, pieces: Iterable[str]) -> None:
        """Print a block of text."""
        text = self._block("text", {}, pieces)
        # The answer is what the last message says.
        if self._texts_of != self._message:
            self._texts_of, self._texts = self._message, []
        self._texts.append(text)
        self._spoken += len(text)

    def started(self, call: Call) -> None:
        """Print the block of a call."""
        block = {
            "type": "tool_use",
            "id": call.id,
            "name": full_name(call),
            "input": call.arguments,
        }
        begun = {**block, "input": {}}
        written = json.dumps(call.arguments, ensure_ascii=False)
        delta = {"type": "input_json_delta", "partial_json": written}
        self._begin(begun)
        self._event("content_block_delta", index=self._blocks, delta=delta)
        self._end(block)

    def returned(self, call: Call, answer: Answer) -> None:
        """Print what came back from a call."""
        self._stop("tool_use")
        self._printer.record(self._records.tool_result(call, answer))

    def finish(self, override: Mapping[str, Any]) -> None:
        """Print the result record."""
        fields = dict(override)
        structured = fields.pop(_SCRIPTED, None)
        if structured is not None and self._options.schema is not None:
            call = Call(self.call_id(), _OUTPUT_TOOL, structured)
            self.started(call)
            self.returned(call, Answer(("The output was taken.",)))
            written = json.dumps(structured, ensure_ascii=False, separators=(",", ":"))
            fields = {"result": written, "structured_output": structured, **fields}
        self._stop("end_turn")
        took = int((time.monotonic() - self._began) * 1000)
        tokens = (len(self._prompt) // 4 + 1, self._spoken // 4 + 1)
        record = self._records.result("".join(self._texts), tokens, took, fields)
        self.code = 1 if record.get("is_error") is True else 0
        self._printer.record(record)

    def _state(self, key: str) -> Sequence[str] | str:
        # Only turns that call something need it.
        from ..servers import Unavailable

        try:
            return list(self._toolbox.connection(key).tools)
        except Unavailable as error:
            return "needs-auth" if error.code == "unauthorized" else "failed"

    def _block(self, kind: str, more: Mapping[str, str], pieces: Iterable[str]) -> str:
        self._begin({"type": kind, kind: "", **more})
        told = []
        for piece in pieces:
            told.append(piece)
            delta = {"type": f"{kind}_delta", kind: piece}
            self._event("content_block_delta", index=self._blocks, delta=delta)
        text = "".join(told)
        self._end({"type": kind, kind: text, **more})
        return text

    def _begin(self, block: Mapping[str, Any]) -> None:
        if not self._message:
            self._message = f"msg_{uuid.uuid4().hex[:24]}"
            self._blocks = 0
            self._event("message_start", message=self._records.message(self._message, []))
        self._event("content_block_start", index=self._blocks, content_block=block)

    def _end(self, block: Mapping[str, Any]) -> None:
        self._printer.record(self._records.assistant(self._message, block))
        self._event("content_block_stop", index=self._blocks)
        self._blocks += 1

    def _stop(self, reason: str) -> None:
        if self._message:
            delta = {"stop_reason": reason, "stop_sequence": None}
            self._event("message_delta", delta=delta, usage={"output_tokens": 1})
            self._event("message_stop")
            self._message = ""

    def _event(self, kind: str, **more: Any) -> None:
        if self._options.partial:
            event = {"type": kind, **more}
            self._printer.record(self._records.stream_event(self._message, event))
