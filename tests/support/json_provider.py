"""A provider of a third party that takes every option and answers as it is told."""

from __future__ import annotations

import sys
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import PurePosixPath
from typing import ClassVar

from toolcrib.messages.events import TextDelta
from toolcrib.messages.results import RunReason
from toolcrib.runtime.drivers.interface import (
    Capabilities,
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

__all__ = ["Able", "AbleNatively"]

_ANSWER = "import sys; sys.stdin.read(); print(sys.argv[1])"


class _Dialect(Dialect):
    def __init__(self, native: bool) -> None:
        self._native = native
        self._text = ""

    def opening(self) -> tuple[Step, ...]:
        return Write(b"."), CloseInput()

    def line(self, text: str) -> tuple[Step, ...]:
        self._text = text
        return Emit(TextDelta(text=text)), Finished()

    def ended(self, exit: ProcessExit) -> TurnOutcome:
        if exit.code != 0 or exit.forced:
            reason = RunReason.PROVIDER_DIED
            return TurnOutcome(ok=False, reason=reason, message="it died", text=self._text)
        return TurnOutcome(
            ok=True,
            text="done" if self._native else self._text,
            output=self._text if self._native else None,
            session_id="s1",
        )


@dataclass(frozen=True)
class Able(Driver):
    """Says one line, and keeps what it was asked to do."""

    provider: ClassVar[str] = "able"
    capabilities: ClassVar[Capabilities] = Capabilities(
        sandbox=frozenset({"read_only", "workspace_write"}),
        model=True,
        instructions=True,
        skills=True,
        mcp=frozenset({"stdio", "http"}),
    )
    answer: str = "done"
    requests: list[TurnRequest] = field(default_factory=list, compare=False)

    def preflight(self, check: Preflight) -> None:
        """Everything is there."""

    def seed(self, clone: Clone, environment: Mapping[str, str]) -> None:
        """It has no profile."""

    def prepare(self, request: TurnRequest) -> Launch:
        self.requests.append(request)
        return Launch(
            argv=(sys.executable, "-I", "-c", _ANSWER, self.answer),
            environment=request.environment,
            cwd=request.workspace,
            grace=0.2,
        )

    def dialect(self, request: TurnRequest) -> Dialect:
        return _Dialect(self.capabilities.native_output)

    def conversation_files(self, clone: Clone, session_id: str) -> tuple[PurePosixPath, ...]:
        (clone.profile / "chat").write_text("hi")
        return (PurePosixPath("chat"),)


@dataclass(frozen=True)
class AbleNatively(Able):
    """Holds its answer to a schema by itself."""

    capabilities: ClassVar[Capabilities] = Capabilities(native_output=True)
