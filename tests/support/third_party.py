"""A provider of a third party, through the public driver interface."""

from __future__ import annotations

import sys
import threading
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path, PurePosixPath
from typing import ClassVar

from toolcrib.messages.events import TextDelta
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

ECHO = """
import os, pathlib, sys
prompt = sys.stdin.read()
if prompt.startswith("stay"):
    print("staying", flush=True)
    import signal
    signal.pause()
chat = pathlib.Path(sys.argv[1], "chat.txt")
chat.write_text((chat.read_text() if chat.exists() else "") + prompt + "\\n")
print("you said " + prompt)
print("END", flush=True)
"""


class Gate:
    """A place where code of the host can be held."""

    def __init__(self) -> None:
        self.entered = threading.Event()
        self.release = threading.Event()
        self.release.set()

    def hold(self) -> None:
        self.release.clear()

    def go_through(self) -> None:
        self.entered.set()
        assert self.release.wait(30)


class EchoDialect(Dialect):
    def __init__(self, request: TurnRequest) -> None:
        self._request = request
        self._text = ""
        self._ended = False

    def opening(self) -> tuple[Step, ...]:
        return Write(self._request.prompt.encode()), CloseInput()

    def line(self, text: str) -> tuple[Step, ...]:
        if text == "END":
            self._ended = True
            return (Finished(),)
        self._text += text
        return (Emit(TextDelta(text=text)),)

    def ended(self, exit: ProcessExit) -> TurnOutcome:
        if self._ended and exit.code == 0:
            return TurnOutcome(ok=True, text=self._text, session_id="s1")
        return TurnOutcome(
            ok=False, reason=RunReason.PROVIDER_DIED, message="it died", text=self._text
        )


@dataclass(frozen=True)
class Echo(Driver):
    """Says what it was told; each of its methods passes a gate."""

    provider: ClassVar[str] = "echo"
    checking: Gate = field(default_factory=Gate)
    seeding: Gate = field(default_factory=Gate)
    preparing: Gate = field(default_factory=Gate)
    command: tuple[str, ...] = (sys.executable, "-I", "-c", ECHO)
    error: Exception | None = None

    def preflight(self, check: Preflight) -> None:
        self.checking.go_through()
        if self.error is not None:
            raise self.error

    def seed(self, clone: Clone, environment: Mapping[str, str]) -> None:
        self.seeding.go_through()

    def prepare(self, request: TurnRequest) -> Launch:
        self.preparing.go_through()
        return Launch(
            argv=(*self.command, str(request.clone.profile)),
            environment=request.environment,
            cwd=request.workspace,
            grace=0.2,
        )

    def dialect(self, request: TurnRequest) -> Dialect:
        return EchoDialect(request)

    def conversation_files(self, clone: Clone, session_id: str) -> tuple[PurePosixPath, ...]:
        return (PurePosixPath("chat.txt"),) if Path(clone.profile, "chat.txt").exists() else ()
