"""What the proofs with real providers need: the CLIs, a network of their own, a stage."""

from __future__ import annotations

import functools
import json
import os
import shutil
import subprocess
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from ahead import Ahead, begun
from needs import need

ROOT = Path(__file__).resolve().parents[2]
CLIS = ROOT / ".cache" / "clis"
SUPPORT = ROOT / "tests" / "support"
PROVIDERS = ("codex", "claude", "codebuddy")
WAIT = 150.0
DEAD_PROXY = "http://127.0.0.1:9"
UNKNOWN = "0199aaaa-bbbb-7ccc-8ddd-eeeeffff0000"
GRANDCHILD = "setsid sleep 987 >/dev/null 2>&1 &"

_BINARIES = {
    "codex": "codex_cli_bin/bin/codex",
    "claude": "claude_agent_sdk/_bundled/claude",
    "codebuddy": "codebuddy_agent_sdk/bin/codebuddy-headless",
    "cursor-sdk": "cursor_sdk/_vendor/bridge/bin/cursor-sdk-bridge",
}
_WAYS = (("unshare", "-n"), ("unshare", "-rn"))


@dataclass(frozen=True)
class Host:
    """What one host process said, and what it left."""

    lines: list[dict[str, Any]]
    code: int
    stderr: str
    gone: list[dict[str, Any]]
    leaks: list[str]

    def all(self, what: str) -> list[dict[str, Any]]:
        return [line for line in self.lines if line["what"] == what]

    @property
    def turns(self) -> list[dict[str, Any]]:
        return self.all("turn")

    @property
    def calls(self) -> list[tuple[str, dict[str, Any]]]:
        return [(line["tool"], line["arguments"]) for line in self.all("call")]

    @property
    def clones(self) -> list[str]:
        return sorted({clone for line in self.all("call") for clone in line["clones"]})

    @property
    def variable(self) -> str:
        name: str = self.all("agent")[0]["variable"]
        return name

    @property
    def token(self) -> str:
        token: str = self.all("spawned")[0]["token"]
        return token


@dataclass(frozen=True)
class Scene:
    """What happened on a stage."""

    provider: str
    folder: Path
    hosts: list[Host]
    requests: list[dict[str, Any]]
    wire: list[dict[str, Any]]
    source_files: list[str]
    source_changes: list[str]

    @property
    def host(self) -> Host:
        return self.hosts[0]

    @property
    def turn(self) -> dict[str, Any]:
        turn: dict[str, Any] = self.host.turns[0]
        return turn

    def asked(self, prompt: str) -> list[dict[str, Any]]:
        """The model's requests with this in their prompt."""
        return [request for request in self.requests if prompt in request["prompt"]]

    def of(self, host: Host) -> list[dict[str, Any]]:
        """The requests that carried this host's token, or none at all."""
        return [request for request in self.wire if host.token in str(request["authorization"])]


@functools.cache
def _ways_alone() -> tuple[tuple[str, ...], ...]:
    return tuple(
        way
        for way in _WAYS
        if shutil.which(way[0])
        and subprocess.run([*way, "true"], capture_output=True, check=False).returncode == 0
    )


def binary(provider: str) -> Path:
    """Find a provider's own binary."""
    path = CLIS / _BINARIES[provider]
    need(os.access(path, os.X_OK), f"the {provider} CLI; run `make clis`")
    return path


def run_alone(
    ahead: Ahead,
    arguments: Sequence[str],
    *,
    cwd: Path,
    environment: Mapping[str, str],
    input: str = "",
) -> subprocess.CompletedProcess[str]:
    """Run Python in a network of its own, with what tests share on its path."""
    ways = _ways_alone()
    need(ways, "the right to make a network namespace (unshare -n, unshare -rn)")
    return ahead.run(
        [*ways[0], sys.executable, "-P", *arguments],
        cwd=cwd,
        environment={"PATH": os.environ["PATH"], "PYTHONPATH": str(SUPPORT), **environment},
        input=input,
        timeout=WAIT,
    )


def play(ahead: Ahead, provider: str, *, found: bool = False, **scene: Any) -> Scene:
    """Play a scene: ``play(ahead, "codex", hosts=[{"turns": […]}], …)``."""
    folder = ahead.folder(provider)
    scene |= {"provider": provider, "folder": str(folder)}
    if provider in PROVIDERS and not found:
        scene["command"] = str(binary(provider))
    path = os.pathsep.join([str(SUPPORT), *([str(CLIS)] if found else [])])
    done = run_alone(
        ahead,
        ["-m", "staging.stage"],
        cwd=folder,
        environment={"PYTHONPATH": path},
        input=json.dumps(scene),
    )
    assert done.returncode == 0, done.stderr
    report = json.loads(done.stdout)
    hosts = [Host(**host) for host in report.pop("hosts")]
    return Scene(provider, folder, hosts, **report)


@pytest.fixture(scope="session", params=PROVIDERS)
def provider(request: pytest.FixtureRequest) -> str:
    name: str = request.param
    return name


@begun
def whole(ahead: Ahead, provider: str) -> Scene:
    """A thread over two turns of one host and one of the next, and all of it recorded.

    The host's environment names proxies that answer nobody.
    """
    proxies = dict.fromkeys(("HTTP_PROXY", "http_proxy", "HTTPS_PROXY", "https_proxy"), DEAD_PROXY)
    first = [
        {"thread": "t", "prompt": _call("lookup_issue", key="ISSUE-42")},
        {"thread": "t", "prompt": _call("remember", note="milk")},
    ]
    second = [
        {"thread": "t", "prompt": _call("lookup_issue", key="ISSUE-43")},
        {"thread": "t", "prompt": "Who are you?", "rename": UNKNOWN},
    ]
    return play(
        ahead,
        provider,
        environment=proxies,
        hosts=[{"turns": first, "wrapper": "record"}, {"turns": second, "wrapper": "record"}],
    )


@begun
def told(ahead: Ahead, provider: str) -> Scene:
    """A model that meets every kind of failure, and one that prints its environment."""
    failures = [
        {"call": "refuse"},
        {"call": "crash"},
        {"call": "lookup_issue", "arguments": {"key": 7}},
        {"say": "I give up."},
    ]
    environment = [{"shell": "env"}, {"say": "It is: {{result}}"}]
    return play(
        ahead,
        provider,
        unboxed=True,
        model=[
            {"when": "Fail", "steps": failures},
            {"when": "Print", "steps": environment},
        ],
        hosts=[{"turns": [{"prompt": "Fail."}, {"prompt": "Print.", "thread": "t"}]}],
    )


@begun
def broken(ahead: Ahead, provider: str) -> Scene:
    """Runs that end in the middle of a tool: the provider's by cancel and signals, the host's."""
    steps = [{"shell": GRANDCHILD}, {"call": "hold"}, {"say": "Done."}]
    acts = ("cancel", "SIGTERM", "SIGKILL")
    return play(
        ahead,
        provider,
        unboxed=True,
        model=[{"when": "", "steps": steps}],
        hosts=[
            {"turns": [{"prompt": act, "act": act} for act in acts], "wrapper": "record"},
            {"turns": [{"prompt": "die"}], "die": True, "wrapper": "record"},
        ],
    )


@begun
def started(ahead: Ahead, provider: str) -> Scene:
    """A gateway that answers late, a variable that is missing, a token that is wrong."""
    turns = [{"prompt": _call("lookup_issue", key="ISSUE-42")}]
    return play(
        ahead,
        provider,
        hosts=[
            {"turns": turns, "wrapper": "door", "delay": 3.0},
            {"turns": turns, "wrapper": "unset"},
            {"turns": turns, "wrapper": "wrong"},
        ],
    )


def _call(name: str, **arguments: str) -> str:
    return f"CALL {name} {json.dumps(arguments)}"
