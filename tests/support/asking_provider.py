"""A provider of a third party that asks before it does anything."""

from __future__ import annotations

import json
import sys
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import PurePosixPath
from types import MappingProxyType
from typing import Any, ClassVar

from toolcrib.messages.approvals import Choice
from toolcrib.messages.events import TextDelta
from toolcrib.messages.results import RunReason
from toolcrib.runtime.drivers.interface import (
    Ask,
    Capabilities,
    CloseInput,
    Decision,
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

__all__ = ["Asking"]

PERMISSION: dict[str, Any] = {
    "id": "1",
    "kind": "permission",
    "title": "Run `rm notes.txt`",
    "tool": "Bash",
    "arguments": {"command": "rm notes.txt"},
}
QUESTION: dict[str, Any] = {
    "id": "2",
    "kind": "question",
    "title": "Which colour?",
    "tool": "AskUser",
    "choices": [{"key": "r", "label": "Red"}, {"key": "b", "label": "Blue"}],
}

# Asks one thing after the other, and says in the end how they were decided.
_PROVIDER = """
import json, sys
asks = json.loads(sys.stdin.readline())
said = []
for ask in asks:
    print(json.dumps({"ask": ask}), flush=True)
    said.append(sys.stdin.readline().strip())
print(json.dumps({"say": " and ".join(said)}), flush=True)
"""


class _Dialect(Dialect):
    def __init__(self, asks: tuple[Mapping[str, Any], ...]) -> None:
        self._asks = asks
        self._text = ""

    def opening(self) -> tuple[Step, ...]:
        return (Write(json.dumps([dict(ask) for ask in self._asks]).encode() + b"\n"),)

    def line(self, text: str) -> tuple[Step, ...]:
        record = json.loads(text)
        if "ask" in record:
            asked = record["ask"]
            choices = tuple(Choice(**choice) for choice in asked.pop("choices", ()))
            return (Ask(**asked, choices=choices),)
        self._text = record["say"]
        return Emit(TextDelta(text=self._text)), CloseInput(), Finished()

    def decided(self, ask: Ask, decision: Decision) -> tuple[Step, ...]:
        if not decision.approved:
            said = f"not {ask.tool}: {decision.reason}"
        elif ask.kind == "question":
            said = f"the answer is {decision.answer}"
        else:
            arguments = decision.arguments if decision.arguments is not None else ask.arguments
            said = f"{ask.tool} {json.dumps(dict(arguments))}"
        return (Write(said.encode() + b"\n"),)

    def ended(self, exit: ProcessExit) -> TurnOutcome:
        if self._text:
            return TurnOutcome(ok=True, text=self._text)
        return TurnOutcome(ok=False, reason=RunReason.PROVIDER_DIED, message="it died")


@dataclass(frozen=True)
class Asking(Driver):
    """Asks what it is made with, by default for leave to run a command."""

    provider: ClassVar[str] = "asking"
    capabilities: ClassVar[Capabilities] = Capabilities(
        approvals=MappingProxyType(
            {
                "permission": frozenset({"ask", "auto_approve", "auto_reject"}),
                "plan_review": frozenset({"ask", "auto_approve", "auto_reject"}),
                "question": frozenset({"ask", "auto_reject"}),
            }
        )
    )
    asks: tuple[Mapping[str, Any], ...] = (PERMISSION,)

    def preflight(self, check: Preflight) -> None:
        """Everything is there."""

    def seed(self, clone: Clone, environment: Mapping[str, str]) -> None:
        """It has no profile."""

    def prepare(self, request: TurnRequest) -> Launch:
        return Launch(
            argv=(sys.executable, "-I", "-c", _PROVIDER),
            environment=request.environment,
            cwd=request.workspace,
            grace=0.2,
        )

    def dialect(self, request: TurnRequest) -> Dialect:
        return _Dialect(self.asks)

    def conversation_files(self, clone: Clone, session_id: str) -> tuple[PurePosixPath, ...]:
        return ()
