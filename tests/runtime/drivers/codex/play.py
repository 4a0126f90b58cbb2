"""Records of Codex, played to its dialect."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any

from toolcrib.messages.events import Event
from toolcrib.runtime.drivers.codex.dialect import CodexDialect
from toolcrib.runtime.drivers.interface import Dialect, Emit, Step

THREAD = "01a22fa8-874d-7003-bbd4-f1a496d51bfd"
START = {"type": "thread.started", "thread_id": THREAD}
DONE = {
    "type": "turn.completed",
    "usage": {"input_tokens": 44, "cached_input_tokens": 12, "output_tokens": 20},
}


def dialect(
    *,
    prompt: str = "Hi",
    server_key: str | None = "toolcrib",
    resume: str | None = None,
    spent: Mapping[str, Any] | None = None,
) -> CodexDialect:
    before = {} if resume is None else spent
    return CodexDialect(
        command="codex", prompt=prompt, server_key=server_key, resume=resume, spent=before
    )


def item(name: str, when: str = "completed", /, **fields: Any) -> dict[str, Any]:
    return {"type": f"item.{when}", "item": {"id": name, **fields}}


def play(reader: Dialect, lines: Sequence[str | Mapping[str, Any]]) -> list[Step]:
    texts = [line if isinstance(line, str) else json.dumps(line) for line in lines]
    return [step for text in texts for step in reader.line(text)]


def events(steps: Sequence[Step]) -> list[Event]:
    return [step.event for step in steps if isinstance(step, Emit)]
