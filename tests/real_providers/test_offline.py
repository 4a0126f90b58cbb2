"""The demonstration and the guide's example, with real CLIs and a scripted model."""

from __future__ import annotations

import os
import re
import subprocess
from dataclasses import dataclass

import pytest
from ahead import Ahead, begun

from .conftest import ROOT, SUPPORT, binary, run_alone

pytestmark = [pytest.mark.slow, pytest.mark.timeout(200)]

KEYS = ("ISSUE-42", "ISSUE-999")
LOOPBACK = "from staging.stage import enter_loopback\nenter_loopback()\n"
DEMO = "import sys\nfrom toolcrib.__main__ import main\nraise SystemExit(main(sys.argv[1:]))"
TOOL = """
import pathlib
from toolcrib import tool

@tool.define
def lookup_issue(key: str) -> str:
    "Look up one issue by key."
    return f"{key} is open"

"""


@dataclass(frozen=True)
class Shown:
    """What a program printed, and the diagram that it left, if any."""

    done: subprocess.CompletedProcess[str]
    diagram: str


def _run(ahead: Ahead, provider: str, code: str, *arguments: str) -> Shown:
    """Run code where a provider's CLI is on PATH, in a network of loopback only."""
    folder = ahead.folder(f"offline-{provider}")
    for name in ("bin", "home", "work"):
        (folder / name).mkdir()
    (folder / "bin" / provider).symlink_to(binary(provider))
    environment = {
        "PATH": f"{folder / 'bin'}{os.pathsep}{os.environ['PATH']}",
        "PYTHONPATH": str(SUPPORT),
        "HOME": str(folder / "home"),
    }
    done = run_alone(
        ahead, ["-c", LOOPBACK + code, *arguments], cwd=folder / "work", environment=environment
    )
    diagram = folder / "work" / "toolcrib-demo.mmd"
    return Shown(done, diagram.read_text() if diagram.exists() else "")


@begun
def demos(ahead: Ahead, provider: str) -> dict[str, Shown]:
    """The demonstration, asked for each key."""
    options = ("demo", "--driver", provider, "--offline")
    return {key: _run(ahead, provider, DEMO, *options, f"Is {key} still open?") for key in KEYS}


@begun
def guided(ahead: Ahead) -> Shown:
    """The guide's example of a scripted model, as it is printed."""
    guide = (ROOT / "docs" / "testing.md").read_text(encoding="utf-8")
    (example,) = re.findall(r"```python\n([^`]*ModelServer.*?)```", guide, re.DOTALL)
    call = "test_codex_offers_and_calls_the_tool(pathlib.Path().absolute())"
    return _run(ahead, "codex", f"{TOOL}{example}\n{call}")


@pytest.mark.parametrize(
    ("key", "call", "answer"),
    [
        (KEYS[0], '"state":"open"', "refund”, is open."),
        (KEYS[1], '"code":"not_found"', "I can't tell about ISSUE-999"),
    ],
)
def test_the_demo_runs_a_real_cli_offline(
    demos: dict[str, Shown], key: str, call: str, answer: str
) -> None:
    done = demos[key].done

    assert done.returncode == 0, done.stdout + done.stderr
    said = done.stdout.replace("\\", "")
    assert f'tool call       lookup_issue {{"key": "{key}"}}' in said
    assert call in said
    assert answer in said
    assert "run finished    ok" in said
    assert demos[key].diagram.startswith("sequenceDiagram")


def test_the_guides_example_of_a_scripted_model_runs_as_it_is_printed(guided: Shown) -> None:
    done = guided.done

    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")
