"""A driver of a third party, with a provider of a few lines that calls one tool."""

from __future__ import annotations

import json
import sys
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import PurePosixPath
from typing import ClassVar

from toolcrib.messages.events import TextDelta, ToolCall, ToolResult
from toolcrib.messages.results import RunReason
from toolcrib.runtime.drivers.interface import (
    CloseInput,
    Dialect,
    Driver,
    Emit,
    Finished,
    Launch,
    Preflight,
    ProcessExit,
    Step,
    TurnOutcome,
    TurnRequest,
    Write,
)
from toolcrib.runtime.profiles.clone import Clone

__all__ = ["Own"]

# Without proxies: the environment may name one.
_PROVIDER = """
import json, os, sys, urllib.request
url, variable = sys.argv[1:]
_, name, arguments = sys.stdin.read().split(" ", 2)
call = {"name": name, "arguments": json.loads(arguments), "_meta": {
    "io.modelcontextprotocol/protocolVersion": "2026-07-28",
    "io.modelcontextprotocol/clientInfo": {"name": "own", "version": "1"},
    "io.modelcontextprotocol/clientCapabilities": {}}}
print(json.dumps({"call": name, "arguments": call["arguments"]}), flush=True)
body = json.dumps({"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": call})
headers = {"Authorization": "Bearer " + os.environ[variable], "Content-Type": "application/json",
    "Accept": "application/json, text/event-stream", "MCP-Protocol-Version": "2026-07-28",
    "Mcp-Method": "tools/call", "Mcp-Name": name}
opener = urllib.request.build_opener(urllib.request.ProxyHandler({}))
with opener.open(urllib.request.Request(url, body.encode(), headers)) as response:
    result = json.load(response)["result"]
text = json.dumps(result.get("structuredContent")) or result["content"][0]["text"]
print(json.dumps({"result": text}), flush=True)
"""


class _Dialect(Dialect):
    def __init__(self, prompt: str) -> None:
        self._prompt = prompt
        self._name = ""
        self._text = ""

    def opening(self) -> tuple[Step, ...]:
        return Write(self._prompt.encode()), CloseInput()

    def line(self, text: str) -> tuple[Step, ...]:
        record = json.loads(text)
        if "call" in record:
            self._name = record["call"]
            call = ToolCall(
                call_id="1", name=self._name, arguments=record["arguments"], hosted=True
            )
            return (Emit(call),)
        self._text = f"The tool said: {record['result']}"
        result = ToolResult(
            call_id="1", name=self._name, text=record["result"], is_error=False, hosted=True
        )
        return Emit(result), Emit(TextDelta(text=self._text)), Finished()

    def ended(self, exit: ProcessExit) -> TurnOutcome:
        if self._text and exit.code == 0:
            return TurnOutcome(ok=True, text=self._text)
        return TurnOutcome(ok=False, reason=RunReason.PROVIDER_DIED, message=exit.stderr)


@dataclass(frozen=True)
class Own(Driver):
    """Does what its prompt says: ``CALL tool {json}``."""

    provider: ClassVar[str] = "own"

    def preflight(self, check: Preflight) -> None:
        """Everything is there."""

    def seed(self, clone: Clone, environment: Mapping[str, str]) -> None:
        """It has no profile."""

    def prepare(self, request: TurnRequest) -> Launch:
        server = request.server
        assert server is not None
        return Launch(
            argv=(sys.executable, "-I", "-c", _PROVIDER, server.url, server.variable),
            environment={**request.environment, server.variable: server.token.reveal()},
            cwd=request.workspace,
            secrets=(server.token,),
        )

    def dialect(self, request: TurnRequest) -> Dialect:
        return _Dialect(request.prompt)

    def conversation_files(self, clone: Clone, session_id: str) -> tuple[PurePosixPath, ...]:
        return ()
