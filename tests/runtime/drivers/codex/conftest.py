"""A user, as the driver finds one: a home, a workspace, an installed command."""

from __future__ import annotations

import tomllib
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import pytest

from toolcrib.messages.secret import Secret
from toolcrib.messages.turn import HostedServer, Launch
from toolcrib.runtime.drivers.codex import Codex
from toolcrib.runtime.drivers.interface import Preflight, TurnRequest
from toolcrib.runtime.profiles.clone import Clone
from toolcrib.runtime.profiles.clones import CloneStore

TOKEN = "s3cret-t0ken"
VARIABLE = "TOOLCRIB_TOKEN_" + "A" * 32
THREAD = "01a22fa8-874d-7003-bbd4-f1a496d51bfd"
SERVER = HostedServer(
    key="toolcrib",
    url="http://127.0.0.1:1/mcp",
    variable=VARIABLE,
    token=Secret(TOKEN),
    tools=("lookup_issue",),
    deadline=120.0,
)


@dataclass(frozen=True)
class World:
    """A user with a home, a workspace and an installed command."""

    home: Path
    workspace: Path
    environment: Mapping[str, str]
    store: CloneStore

    @property
    def profile(self) -> Path:
        return self.home / ".codex"

    @property
    def config(self) -> Path:
        return self.profile / "config.toml"

    def preflight(self, driver: Codex, *, tools: bool = True) -> None:
        driver.preflight(
            Preflight(
                environment=self.environment,
                workspace=self.workspace,
                server_key="toolcrib" if tools else None,
                variable=VARIABLE if tools else None,
            )
        )

    def clone(self, driver: Codex) -> Clone:
        return self.store.create("a", "k", lambda clone: driver.seed(clone, self.environment))

    def request(self, clone: Clone, **changes: Any) -> TurnRequest:
        request = TurnRequest(
            run_id="run-1",
            prompt="Hi",
            workspace=self.workspace,
            clone=clone,
            environment=self.environment,
            server=SERVER,
            resume=None,
        )
        return replace(request, **changes)


@pytest.fixture
def world(tmp_path: Path) -> Iterator[World]:
    home = tmp_path / "home"
    for path in (home / ".codex", tmp_path / "work", tmp_path / "bin"):
        path.mkdir(parents=True)
    command = tmp_path / "bin" / "codex"
    command.write_text("#!/bin/sh\n")
    command.chmod(0o755)
    environment = {"HOME": str(home), "PATH": str(tmp_path / "bin"), "TOOLCRIB_HOST": "h"}
    store = CloneStore(tmp_path / "clones")
    yield World(home, tmp_path / "work", environment, store)
    store.close()


def put(path: Path, text: str = "") -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)
    return path


def read(path: Path) -> Any:
    return tomllib.loads(path.read_text())


def settings(launch: Launch) -> dict[str, Any]:
    """Return what a launch sets over every configuration file, by its dotted name."""
    pairs = zip(launch.argv, launch.argv[1:], strict=False)
    words = (word.partition("=") for flag, word in pairs if flag == "--config")
    return {name: tomllib.loads(f"value = {value}")["value"] for name, _, value in words}


def tree(root: Path) -> dict[str, tuple[int, bytes]]:
    return {
        str(path.relative_to(root)): (path.lstat().st_mode, path.read_bytes())
        for path in root.rglob("*")
        if path.is_file()
    }
