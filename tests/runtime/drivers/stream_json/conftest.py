"""A user of Claude Code or CodeBuddy, and records of theirs, entered by hand."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, TypeAlias

import pytest

from toolcrib import Claude, CodeBuddy
from toolcrib.messages.events import Event
from toolcrib.messages.secret import Secret
from toolcrib.messages.turn import HostedServer, ProcessExit, TurnOutcome
from toolcrib.runtime.drivers.interface import Dialect, Emit, Preflight, Step, TurnRequest
from toolcrib.runtime.profiles.clone import Clone
from toolcrib.runtime.profiles.clones import CloneStore

Either: TypeAlias = Claude | CodeBuddy

TOKEN = "s3cret-t0ken"
VARIABLE = "TOOLCRIB_TOKEN_" + "A" * 32
SESSION = "01a22fa8-874d-7003-bbd4-f1a496d51bfd"
SERVER = HostedServer(
    key="toolcrib",
    url="http://127.0.0.1:1/mcp",
    variable=VARIABLE,
    token=Secret(TOKEN),
    tools=("lookup_issue",),
    deadline=120.0,
)
CLEAN = ProcessExit(code=0, stderr="")
INIT: dict[str, Any] = {
    "type": "system",
    "subtype": "init",
    "session_id": SESSION,
    "model": "m",
    "tools": ["Bash", "mcp__toolcrib__lookup_issue"],
    "mcp_servers": [{"name": "toolcrib", "status": "connected"}],
}
DONE: dict[str, Any] = {
    "type": "result",
    "subtype": "success",
    "is_error": False,
    "session_id": SESSION,
}
Lines: TypeAlias = Sequence[str | Mapping[str, Any]]


def make_request(**changes: Any) -> TurnRequest:
    request = TurnRequest(
        run_id="run-1",
        prompt="Hi",
        workspace=Path("/work"),
        clone=Clone(Path("/clone")),
        environment={},
        server=SERVER,
        resume=None,
    )
    return replace(request, **changes)


def dialect(driver: Either, **changes: Any) -> Dialect:
    return driver.dialect(make_request(**changes))


def play(reader: Dialect, lines: Lines) -> list[Step]:
    texts = [line if isinstance(line, str) else json.dumps(line) for line in lines]
    return [step for text in texts for step in reader.line(text)]


def events(steps: Sequence[Step]) -> list[Event]:
    return [step.event for step in steps if isinstance(step, Emit)]


def outcome_of(
    driver: Either, lines: Lines, exit: ProcessExit = CLEAN, **changes: Any
) -> TurnOutcome:
    reader = dialect(driver, **changes)
    play(reader, lines)
    return reader.ended(exit)


def said(*blocks: Mapping[str, Any] | str, message: str = "m1", **others: Any) -> dict[str, Any]:
    """A record of the model; a text stands for its block."""
    content = [{"type": "text", "text": b} if isinstance(b, str) else b for b in blocks]
    return {"type": "assistant", "message": {"id": message, "content": content}, **others}


def use(call_id: str, name: str, **arguments: Any) -> dict[str, Any]:
    return {"type": "tool_use", "id": call_id, "name": name, "input": arguments}


def result(call_id: str, content: Any, **others: Any) -> dict[str, Any]:
    block = {"type": "tool_result", "tool_use_id": call_id, "content": content, **others}
    return {"type": "user", "message": {"role": "user", "content": [block]}}


def streamed(kind: str, **event: Any) -> dict[str, Any]:
    return {
        "type": "stream_event",
        "event": {"type": kind, **event},
        "parent_tool_use_id": None,
        "session_id": SESSION,
    }


def system(subtype: str, **members: Any) -> dict[str, Any]:
    return {"type": "system", "subtype": subtype, **members}


@dataclass(frozen=True)
class World:
    """A user with a home, a workspace and installed commands."""

    home: Path
    workspace: Path
    environment: Mapping[str, str]
    store: CloneStore

    def profile(self, driver: Either) -> Path:
        return self.home / f".{driver.provider}"

    def preflight(self, driver: Either, *, tools: bool = True) -> None:
        driver.preflight(
            Preflight(
                environment=self.environment,
                workspace=self.workspace,
                server_key="toolcrib" if tools else None,
                variable=VARIABLE if tools else None,
            )
        )

    def clone(self, driver: Either) -> Clone:
        return self.store.create("a", "k", lambda clone: driver.seed(clone, self.environment))

    def request(self, clone: Clone, **changes: Any) -> TurnRequest:
        given = {"workspace": self.workspace, "clone": clone, "environment": self.environment}
        return make_request(**{**given, **changes})


@pytest.fixture
def world(tmp_path: Path) -> Iterator[World]:
    home = tmp_path / "home"
    for path in (home / ".claude", home / ".codebuddy", tmp_path / "work", tmp_path / "bin"):
        path.mkdir(parents=True)
    for name in ("claude", "codebuddy"):
        command = tmp_path / "bin" / name
        command.write_text("#!/bin/sh\n")
        command.chmod(0o755)
    environment = {"HOME": str(home), "PATH": str(tmp_path / "bin"), "TOOLCRIB_HOST": "h"}
    store = CloneStore(tmp_path / "clones")
    yield World(home, tmp_path / "work", environment, store)
    store.close()


@pytest.fixture(params=[Claude(), CodeBuddy()], ids=["claude", "codebuddy"])
def driver(request: pytest.FixtureRequest) -> Either:
    made: Either = request.param
    return made


def put(path: Path, content: Any = "") -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(content if isinstance(content, str) else json.dumps(content))
    return path


def read(path: Path) -> Any:
    return json.loads(path.read_text())


def tree(root: Path) -> dict[str, tuple[int, bytes]]:
    return {
        str(path.relative_to(root)): (path.lstat().st_mode, path.read_bytes())
        for path in root.rglob("*")
        if path.is_file()
    }
