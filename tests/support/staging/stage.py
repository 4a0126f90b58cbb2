"""The stage of one proof: a network of loopback only, a scripted model, and hosts.

Reads a scene as JSON from standard input and writes what happened to standard
output. It outlives the hosts that it starts, and looks at what they leave.
"""

from __future__ import annotations

import fcntl
import json
import os
import socket
import struct
import subprocess
import sys
import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

from staging.door import SlowDoor
from staging.profiles import commands, prepare
from staging.scan import leaks, living, snapshot
from staging.wire import Wire

from toolcrib.testing import CallTool, ModelServer, RunShell, Say, Turn, WritePlan

_SET_FLAGS = 0x8914
_UP_AND_RUNNING = 0x41
_WAIT = 100.0
_LEFT_FOR = 10.0


def enter_loopback() -> None:
    """Raise the loopback interface, and make sure that there is no other."""
    others = [name for _, name in socket.if_nameindex() if name != "lo"]
    if others:
        sys.exit(f"This network has {others} too; start the stage in a namespace of its own.")
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as any_socket:
        fcntl.ioctl(any_socket, _SET_FLAGS, struct.pack("16sH14x", b"lo", _UP_AND_RUNNING))


def free_port() -> int:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port: int = taken.getsockname()[1]
        return port


def model_of(turns: list[dict[str, Any]] | None) -> ModelServer:
    """Return a model that plays a scene's turns, or follows the prompt."""
    if turns is None:
        return ModelServer()
    return ModelServer(
        [Turn([_part(step) for step in turn["steps"]], turn["when"]) for turn in turns]
    )


def _part(step: Any) -> Any:
    if isinstance(step, list):
        return [_part(each) for each in step]
    if "call" in step:
        return CallTool(step["call"], step.get("arguments", {}))
    if "plan" in step:
        return WritePlan(step["plan"])
    return RunShell(step["shell"]) if "shell" in step else Say(step["say"])


class Stage:
    """Plays one scene."""

    def __init__(self, scene: dict[str, Any]) -> None:
        self._scene = scene
        self._folder = Path(scene["folder"])
        self._clones = self._folder / "clones"
        self._workspace = self._folder / "workspace"
        for name in ("home", "tmp", "workspace", "record"):
            (self._folder / name).mkdir()

    def play(self) -> dict[str, Any]:
        # A new host, a new endpoint.
        ports = [free_port() for _ in self._scene["hosts"]]
        wire = Wire(*ports)
        try:
            with model_of(self._scene.get("model")) as model:
                profile = prepare(self._scene, self._folder, model)
                before = {name: snapshot(Path(name)) for name in profile.sources}
                hosts = [
                    self._host(host, port, profile.options)
                    for host, port in zip(self._scene["hosts"], ports, strict=True)
                ]
                after = {name: snapshot(Path(name)) for name in profile.sources}
        finally:
            requests = wire.end()
        return {
            "hosts": hosts,
            "requests": [_plain_request(request) for request in model.requests],
            "wire": requests,
            "source_files": sorted(name for files in before.values() for name in files),
            "source_changes": _changes(before, after),
        }

    def _host(self, host: dict[str, Any], port: int, options: dict[str, Any]) -> dict[str, Any]:
        environment = self._environment(port, host.get("delay"))
        store = self._folder / "threads.json"
        order = {
            "provider": self._scene["provider"],
            "options": {**options, **commands(self._scene, host)},
            "folder": str(self._folder),
            "clones": str(self._clones),
            "workspace": str(self._workspace),
            "store": str(store),
            "port": port,
            **host,
        }
        process = subprocess.Popen(
            [sys.executable, "-m", "staging.host"],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            env=environment,
            cwd=self._folder / "home",
        )
        return _Watch(process, host, self._folder).follow(json.dumps(order))

    def _environment(self, port: int, delay: float | None) -> dict[str, str]:
        kept = {name: os.environ[name] for name in ("PATH", "PYTHONPATH") if name in os.environ}
        door = {"DOOR": str(SlowDoor(port, delay).port)} if delay else {}
        return {
            **kept,
            **door,
            "GATEWAY": str(port),
            "HOME": str(self._folder / "home"),
            "LANG": "C.UTF-8",
            "RECORD": str(self._folder / "record" / "provider"),
            "TERM": "dumb",
            "TMPDIR": str(self._folder / "tmp"),
            **self._scene.get("environment", {}),
        }


class _Watch:
    """Reads what one host says, kills it where the scene wants so, and looks after it."""

    def __init__(self, process: subprocess.Popen[str], host: dict[str, Any], folder: Path) -> None:
        self._process = process
        self._host = host
        self._folder = folder
        self._lines: list[dict[str, Any]] = []
        self._gone: list[dict[str, Any]] = []
        self._watchers: list[threading.Thread] = []

    def follow(self, order: str) -> dict[str, Any]:
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        assert self._process.stderr is not None
        stderr: list[str] = []
        reader = threading.Thread(target=lambda: stderr.extend(self._process.stderr or ()))
        reader.start()
        limit = threading.Timer(_WAIT, self._process.kill)
        limit.start()
        self._process.stdin.write(order)
        self._process.stdin.close()
        for line in self._process.stdout:
            self._take(json.loads(line))
        code = self._process.wait()
        limit.cancel()
        reader.join()
        for watcher in self._watchers:
            watcher.join()
        token = self._token()
        return {
            "lines": self._lines,
            "code": code,
            "stderr": "".join(stderr),
            "gone": self._gone,
            "leaks": leaks(token, self._folder) if token else [],
        }

    def _take(self, line: dict[str, Any]) -> None:
        self._lines.append(line)
        # Where the scene takes too long, this is all that the test can show.
        sys.stderr.write(f"{line['at']:.2f} {line['what']} {line.get('error') or ''}\n")
        if line["what"] == "call" and line["tool"] == "hold":
            if self._host.get("die"):
                self._process.kill()
            watcher = threading.Thread(target=self._watch, args=(line,))
            self._watchers.append(watcher)
            watcher.start()

    def _watch(self, line: dict[str, Any]) -> None:
        """Measure how long after the deed processes and clone are still there."""
        start = time.monotonic()
        tree = [(pid, created, command) for pid, created, command in line["tree"]]
        clones = [Path(name) for name in line["clones"]]
        waits: dict[str, Callable[[], object]] = {
            "processes": lambda: living(tree),
            "clones": lambda: [str(path) for path in clones if path.exists()],
        }
        gone: dict[str, Any] = {}
        self._gone.append(gone)
        while waits and time.monotonic() - start < _LEFT_FOR:
            for name in [name for name, left in waits.items() if not left()]:
                gone[name] = time.monotonic() - start
                del waits[name]
            threading.Event().wait(0.05)
        for name, left in waits.items():
            gone[f"left {name}"] = left()

    def _token(self) -> str | None:
        tokens = (line["token"] for line in self._lines if line["what"] == "spawned")
        return next((token for token in tokens if token), None)


def _plain_request(request: Any) -> dict[str, Any]:
    return {
        "protocol": request.protocol,
        "model": request.model,
        "said": [message.text for message in request.messages if message.role == "system"],
        "prompt": request.prompt,
        "results": [result.text for result in request.results],
        "errors": [result.is_error for result in request.results],
        "messages": [
            [message.role, message.text]
            for message in request.messages
            if message.role != "system"
        ],
        "tools": {
            tool.full_name: {"description": tool.description, "schema": dict(tool.schema)}
            for tool in request.tools
            if tool.full_name.startswith("mcp__")
        },
        # Where CodeBuddy lists the skills that there are.
        "skills": next((tool.description for tool in request.tools if tool.name == "Skill"), ""),
        # Where CodeBuddy and Codex list the agents that there are.
        "agents": "".join(
            f"{tool.description}{json.dumps(dict(tool.schema))}"
            for tool in request.tools
            if tool.full_name in {"Agent", "collaboration__spawn_agent"}
        ),
        "all_tools": [tool.full_name for tool in request.tools],
    }


def _changes(before: dict[str, Any], after: dict[str, Any]) -> list[str]:
    return [
        f"{folder}/{name}"
        for folder, files in before.items()
        for name in sorted(files.keys() | after[folder].keys())
        if files.get(name) != after[folder].get(name)
    ]


if __name__ == "__main__":
    enter_loopback()
    json.dump(Stage(json.load(sys.stdin)).play(), sys.stdout)
