"""What the proofs with real providers need: the CLIs, a network of their own, a stage."""

from __future__ import annotations

import json
import os
import shutil
import signal
import subprocess
import sys
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

ROOT = Path(__file__).resolve().parents[2]
CLIS = ROOT / ".cache" / "clis"
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

Needs = Callable[[object, str], None]


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


Play = Callable[..., Scene]


@pytest.fixture(scope="session")
def alone(needs: Needs) -> tuple[str, ...]:
    """The command that gives a process a network of its own."""
    ways = [
        way
        for way in _WAYS
        if shutil.which(way[0])
        and subprocess.run([*way, "true"], capture_output=True, check=False).returncode == 0
    ]
    needs(ways, "the right to make a network namespace (unshare -n, unshare -rn)")
    return ways[0]


@pytest.fixture(scope="session")
def binary(needs: Needs) -> Callable[[str], Path]:
    """Find a provider's own binary."""

    def find(provider: str) -> Path:
        path = CLIS / _BINARIES[provider]
        needs(os.access(path, os.X_OK), f"the {provider} CLI; run `make clis`")
        return path

    return find


@pytest.fixture(scope="session")
def play(
    alone: tuple[str, ...],
    binary: Callable[[str], Path],
    tmp_path_factory: pytest.TempPathFactory,
) -> Play:
    """Play a scene: ``play("codex", hosts=[{"turns": […]}], …)``."""

    def run(provider: str, *, found: bool = False, **scene: Any) -> Scene:
        folder = tmp_path_factory.mktemp(provider)
        scene |= {"provider": provider, "folder": str(folder)}
        if provider in PROVIDERS and not found:
            scene["command"] = str(binary(provider))
        paths = [str(ROOT / "tests" / "support"), *([str(CLIS)] if found else [])]
        environment = {"PATH": os.environ["PATH"], "PYTHONPATH": os.pathsep.join(paths)}
        command = [*alone, sys.executable, "-P", "-m", "staging.stage"]
        report = json.loads(_answer(command, json.dumps(scene), environment, folder))
        hosts = [Host(**host) for host in report.pop("hosts")]
        return Scene(provider, folder, hosts, **report)

    return run


def _answer(command: list[str], order: str, environment: dict[str, str], folder: Path) -> str:
    stage = subprocess.Popen(
        command,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        env=environment,
        cwd=folder,
        start_new_session=True,
    )
    try:
        answer, said = stage.communicate(order, WAIT)
    except subprocess.TimeoutExpired:
        os.killpg(stage.pid, signal.SIGKILL)  # the hosts too, whose guards then clean up
        _, said = stage.communicate()
        pytest.fail(f"The scene takes longer than {WAIT} s. So far:\n{said}", pytrace=False)
    assert stage.returncode == 0, said
    return answer


@pytest.fixture(scope="session", params=PROVIDERS)
def provider(request: pytest.FixtureRequest) -> str:
    name: str = request.param
    return name


@pytest.fixture(scope="session")
def whole(provider: str, play: Play) -> Scene:
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
        provider,
        environment=proxies,
        hosts=[{"turns": first, "wrapper": "record"}, {"turns": second, "wrapper": "record"}],
    )


@pytest.fixture(scope="session")
def told(provider: str, play: Play) -> Scene:
    """A model that meets every kind of failure, and one that prints its environment."""
    failures = [
        {"call": "refuse"},
        {"call": "crash"},
        {"call": "lookup_issue", "arguments": {"key": 7}},
        {"say": "I give up."},
    ]
    environment = [{"shell": "env"}, {"say": "It is: {{result}}"}]
    return play(
        provider,
        unboxed=True,
        model=[
            {"when": "Fail", "steps": failures},
            {"when": "Print", "steps": environment},
        ],
        hosts=[{"turns": [{"prompt": "Fail."}, {"prompt": "Print.", "thread": "t"}]}],
    )


@pytest.fixture(scope="session")
def broken(provider: str, play: Play) -> Scene:
    """Runs that end in the middle of a tool: the provider's by cancel and signals, the host's."""
    steps = [{"shell": GRANDCHILD}, {"call": "hold"}, {"say": "Done."}]
    acts = ("cancel", "SIGTERM", "SIGKILL")
    return play(
        provider,
        unboxed=True,
        model=[{"when": "", "steps": steps}],
        hosts=[
            {"turns": [{"prompt": act, "act": act} for act in acts], "wrapper": "record"},
            {"turns": [{"prompt": "die"}], "die": True, "wrapper": "record"},
        ],
    )


@pytest.fixture(scope="session")
def started(provider: str, play: Play) -> Scene:
    """A gateway that answers late, a variable that is missing, a token that is wrong."""
    turns = [{"prompt": _call("lookup_issue", key="ISSUE-42")}]
    return play(
        provider,
        hosts=[
            {"turns": turns, "wrapper": "door", "delay": 3.0},
            {"turns": turns, "wrapper": "unset"},
            {"turns": turns, "wrapper": "wrong"},
        ],
    )


def _call(name: str, **arguments: str) -> str:
    return f"CALL {name} {json.dumps(arguments)}"
