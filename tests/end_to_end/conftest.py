"""What the whole way needs: a source profile, a system of its own, a script."""

from __future__ import annotations

import hashlib
import http.client
import json
import os
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import psutil
import pytest

from toolcrib import Cursor, System, Tracer
from toolcrib.testing import scripted_cursor

WAIT = 20.0


@pytest.fixture
def tracer() -> Tracer:
    return Tracer()


@pytest.fixture
def clones(tmp_path: Path) -> Path:
    return tmp_path / "clones"


@pytest.fixture
def system(tracer: Tracer, clones: Path) -> Iterator[System]:
    system = System(tracer=tracer, clones=clones)
    yield system
    assert system.stop() == ()


@pytest.fixture
def workspace(tmp_path: Path) -> Path:
    workspace = tmp_path / "workspace"
    workspace.mkdir()
    return workspace


@pytest.fixture
def source(tmp_path: Path) -> Path:
    """A profile like a user's: settings, a login, another MCP server."""
    source = tmp_path / "source"
    (source / "skills" / "review").mkdir(parents=True)
    (source / "skills" / "review" / "SKILL.md").write_text("Be kind.\n")
    (source / "cli-config.json").write_text('{"version": 1}\n')
    (source / "auth.json").write_text('{"accessToken": "of the user"}\n')
    other = {"mcpServers": {"other": {"url": "http://127.0.0.1:9/mcp"}}}
    (source / "mcp.json").write_text(json.dumps(other))
    return source


Scripted = Callable[..., Cursor]


@pytest.fixture
def scripted(tmp_path: Path, source: Path) -> Scripted:
    """Make a driver for a script; its steps may be given alone."""

    def make(*steps: Mapping[str, Any], turns: object = None, **options: Any) -> Cursor:
        script: dict[str, Any] = {"turns": turns or [{"steps": list(steps)}]}
        options.setdefault("profile", source)
        return scripted_cursor(script, directory=tmp_path, **options)

    return make


def snapshot(directory: Path) -> dict[str, tuple[int, int, str]]:
    """Return every file of a directory: mode, change time, content."""
    found: dict[str, tuple[int, int, str]] = {}
    for path in sorted(directory.rglob("*")):
        about = path.lstat()
        data = path.read_bytes() if path.is_file() else b""
        content = hashlib.sha256(data).hexdigest()
        found[str(path.relative_to(directory))] = (about.st_mode, about.st_mtime_ns, content)
    return found


def status(url: str, token: str | None) -> int:
    """Return what the gateway answers to a call with this token."""
    host = url.removeprefix("http://").removesuffix("/mcp")
    body = json.dumps({"jsonrpc": "2.0", "id": 1, "method": "ping"})
    headers = {"Content-Type": "application/json", "Accept": "application/json"}
    if token is not None:
        headers["Authorization"] = f"Bearer {token}"
    connection = http.client.HTTPConnection(host, timeout=WAIT)
    try:
        connection.request("POST", "/mcp", body, headers)
        return connection.getresponse().status
    finally:
        connection.close()


@dataclass(frozen=True)
class Seen:
    """What a provider process found around it."""

    home: Path
    variable: str
    token: str
    url: str

    @property
    def clone(self) -> Path:
        return self.home.parent


def observe(path: Path, variable: str) -> dict[str, str]:
    """Return the script step that writes down where the provider runs."""
    return {"write_file": str(path), "text": f"{{{{env.HOME}}}}\n{{{{env.{variable}}}}}"}


def seen(path: Path, variable: str) -> Seen:
    """Read what `observe` wrote, while the clone is there."""
    home, token = path.read_text().splitlines()
    servers = json.loads(Path(home, ".cursor", "mcp.json").read_text())["mcpServers"]
    return Seen(Path(home), variable, token, servers["toolcrib"]["url"])


def left_of(marker: str) -> list[int]:
    """Return the processes anywhere that carry this host's marker."""
    found = []
    for process in psutil.process_iter():
        try:
            if process.environ().get("TOOLCRIB_HOST") == marker:
                found.append(process.pid)
        except psutil.Error:
            continue
    return [pid for pid in found if pid != os.getpid()]
