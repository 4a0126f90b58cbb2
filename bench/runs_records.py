"""The records that both readers get, and the command that prints them."""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from .runs_child import RECORDS

__all__ = ["Prepared", "prepare"]

_SESSION = "11111111-2222-3333-4444-555555555555"
_PIECE = "some words "


@dataclass(frozen=True, slots=True)
class Prepared:
    """A command that prints records."""

    command: Path
    """The command, which takes the arguments of Claude Code."""
    environment: dict[str, str]
    """What it needs in its environment."""
    pieces: int
    """How many pieces of text it prints."""
    text: str
    """The answer that they make."""


def prepare(folder: Path, pieces: int) -> Prepared:
    """Write a command and its records into a folder.

    Args:
        folder: Where to.
        pieces: How many pieces of text there are to be, a record each.
    """
    command = folder / "claude"
    source = Path(__file__).with_name("runs_child.py").read_text()
    command.write_text(f"#!{sys.executable} -IS\n{source}")
    command.chmod(0o755)
    records = folder / f"records-{pieces}.jsonl"
    text = _PIECE * pieces
    records.write_text("".join(f"{json.dumps(one)}\n" for one in _records(pieces, text)))
    return Prepared(command, {RECORDS: str(records)}, pieces, text)


def _records(pieces: int, text: str) -> Iterator[dict[str, Any]]:
    yield {
        "type": "system",
        "subtype": "init",
        "session_id": _SESSION,
        "model": "bench",
        "cwd": "/",
        "tools": [],
        "mcp_servers": [],
        "claude_code_version": "2.1.332",
    }
    message = {"id": "msg_1", "type": "message", "role": "assistant", "model": "bench"}
    yield _streamed({"type": "message_start", "message": {**message, "content": []}})
    block = {"type": "text", "text": ""}
    yield _streamed({"type": "content_block_start", "index": 0, "content_block": block})
    delta = {"type": "text_delta", "text": _PIECE}
    piece = _streamed({"type": "content_block_delta", "index": 0, "delta": delta})
    for _ in range(pieces):
        yield piece
    yield _streamed({"type": "content_block_stop", "index": 0})
    content = [{"type": "text", "text": text}]
    whole = {**message, "content": content}
    yield {
        "type": "assistant",
        "message": whole,
        "parent_tool_use_id": None,
        "session_id": _SESSION,
        "uuid": _SESSION,
    }
    yield _streamed({"type": "message_stop"})
    yield {
        "type": "result",
        "subtype": "success",
        "is_error": False,
        "duration_ms": 1,
        "duration_api_ms": 1,
        "num_turns": 1,
        "result": text,
        "session_id": _SESSION,
        "total_cost_usd": 0.0,
        "usage": {"input_tokens": 1, "output_tokens": pieces},
    }


def _streamed(event: dict[str, Any]) -> dict[str, Any]:
    return {
        "type": "stream_event",
        "event": event,
        "session_id": _SESSION,
        "parent_tool_use_id": None,
        "uuid": "99999999-8888-7777-6666-555555555555",
    }
