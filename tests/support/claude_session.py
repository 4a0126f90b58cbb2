"""Claude Code's command line, spoken to by hand, and the shapes of its records.

`claude_shapes.json` has the shape of every kind of record that Claude Code
2.1.332 printed when it was recorded: each path, with a question mark where it
is not always there, and what lies there.
"""

from __future__ import annotations

import json
import os
import select
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any

DEADLINE = 30.0
TOKEN = "a-token-of-this-test"
VARIABLE = "TOOLCRIB_TOKEN_0123456789ABCDEF0123456789ABCDEF"
MODULE = ("-P", "-m", "toolcrib.testing.scripted_provider")

SHAPES: dict[str, dict[str, str]] = json.loads(
    Path(__file__).with_name("claude_shapes.json").read_text()
)
LEFT_OUT = {
    # What the real CLI reports of itself, and of the machine.
    *("additional_directories", "analytics_disabled", "capabilities", "memory_paths"),
    *("original_cwd", "product_feedback_disabled", "terminal_slash_commands", "tools"),
    *("mcp_servers", "fast_mode_state", "fast_mode_disabled_reason", "subagent_stats"),
    *("safety_stops", "modelUsage", "per_turn_effort_active", "sandbox_enabled"),
    *("served_by_anthropic", "ultrathink_available", "ultrathink_typed_raises", "view_mode"),
    *("messaging_socket_path", "queued_turn_count", "result_index", "context_management"),
    *("thinking_duration_ms", "thinking_display", "output_tokens_details", "server_tool_use"),
    *("service_tier", "cache_creation", "inference_geo", "iterations", "speed"),
    *("api_error_status", "ttft_ms", "ttft_stream_ms", "time_to_request_ms"),
    *("first_content_frame_ms", "begun_message_ids", "tool_result_meta", "fallback_credit"),
}


class Session:
    """One process, whose input stays open."""

    def __init__(self, root: Path, *arguments: str) -> None:
        self.root = root
        self.workspace = root / "workspace"
        self.records: list[dict[str, Any]] = []
        self._arguments = arguments
        self._rest = b""

    def start(self) -> None:
        inherited = ("PATH", "PYTHONPATH", "LANG", "COVERAGE_PROCESS_START")
        environment = {name: os.environ[name] for name in inherited if name in os.environ}
        environment |= {
            "HOME": str(self.root),
            "CLAUDE_CONFIG_DIR": str(self.root / "profile"),
            VARIABLE: TOKEN,
        }
        script = ("--script", str(self.root / "script.json"))
        self.command = [sys.executable, *MODULE, *script, *self._arguments]
        self.process = subprocess.Popen(
            self.command,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            cwd=self.workspace,
            env=environment,
            start_new_session=True,
        )

    def write(self, line: object) -> None:
        assert self.process.stdin is not None
        text = line if isinstance(line, str) else json.dumps(line)
        self.process.stdin.write(text.encode() + b"\n")
        self.process.stdin.flush()

    def say(self, prompt: str) -> None:
        message = {"role": "user", "content": prompt}
        self.write({"type": "user", "message": message, "parent_tool_use_id": None})

    def respond(self, request: Mapping[str, Any], body: Mapping[str, Any]) -> None:
        response = {"subtype": "success", "request_id": request["request_id"], "response": body}
        self.write({"type": "control_response", "response": response})

    def until(self, fits: Callable[[dict[str, Any]], bool]) -> dict[str, Any]:
        """Read records up to the first that fits."""
        end = time.monotonic() + DEADLINE
        while True:
            while b"\n" not in self._rest:
                self._fill(end)
            line, _, self._rest = self._rest.partition(b"\n")
            record: dict[str, Any] = json.loads(line)
            self.records.append(record)
            if fits(record):
                return record

    def asked(self) -> dict[str, Any]:
        """Read up to the next request."""
        return self.until(lambda record: record["type"] == "control_request")

    def result(self) -> dict[str, Any]:
        """Read up to the next terminal record."""
        return self.until(lambda record: record["type"] == "result")

    def end(self) -> tuple[int, str]:
        """Close the input; return the exit code and standard error."""
        rest, stderr = self.process.communicate(timeout=DEADLINE)
        self.records += [json.loads(line) for line in (self._rest + rest).splitlines()]
        self._rest = b""
        return self.process.returncode, stderr.decode()

    def _fill(self, end: float) -> None:
        assert self.process.stdout is not None
        ready, _, _ = select.select([self.process.stdout], [], [], end - time.monotonic())
        assert ready, f"nothing came; so far: {self.records}"
        data = os.read(self.process.stdout.fileno(), 65536)
        assert data, f"it ended; so far: {self.records}"
        self._rest += data


def kind(record: Mapping[str, Any]) -> str:
    """Return under which name the shapes have a record."""
    name: str = record["type"]
    if name in {"assistant", "user"}:
        return f"{name}/{record['message']['content'][0]['type']}"
    if name == "stream_event":
        event = record["event"]
        inner = event.get("content_block") or event.get("delta") or {}
        return "/".join(part for part in (name, event["type"], inner.get("type")) if part)
    if name == "control_request":
        people = "/people" if record["request"].get("requires_user_interaction") else ""
        return f"{name}/{record['request']['subtype']}{people}"
    return f"{name}/{record['subtype']}" if "subtype" in record else name


FREE = {"input", "tool_use_result", "structured_output", "tool_input"}
NAMES = {bool: "boolean", int: "number", float: "number", str: "string", list: "list"}


def paths(value: object, at: str = "") -> Iterator[tuple[str, str]]:
    """Yield every path in a record, and what lies there."""
    if at:
        yield at, "null" if value is None else NAMES.get(type(value), "object")
    if at.rsplit(".", maxsplit=1)[-1].rstrip("[]") in FREE:
        return
    if isinstance(value, dict):
        for name, inner in value.items():
            yield from paths(inner, f"{at}.{name}" if at else name)
    elif isinstance(value, list):
        for inner in value:
            yield from paths(inner, f"{at}[]")


def check_shape(record: Mapping[str, Any]) -> None:
    """Hold a record to what the real CLI printed."""
    shape = SHAPES[kind(record)]
    known = {path.rstrip("?"): types.split("|") for path, types in shape.items()}
    found = dict(paths(record))
    for path, what in found.items():
        assert path in known, f"{kind(record)}: the real CLI has no {path}"
        assert what in known[path], f"{kind(record)}: {path} is {what}, not {known[path]}"
    always = {path for path in shape if not path.endswith("?")}
    missing = [
        path
        for path in always - set(found)
        if not LEFT_OUT & set(path.replace("[]", "").split("."))
        and path.rpartition("[]")[0] not in found
    ]
    assert missing == [], f"{kind(record)}: {missing}"
