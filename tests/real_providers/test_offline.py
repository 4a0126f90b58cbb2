"""The demonstration and the guide's example, with real CLIs and a scripted model."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
DEADLINE = 100.0
LOOPBACK = "from staging.stage import enter_loopback\nenter_loopback()\n"
TOOL = """
import pathlib
from toolcrib import tool

@tool.define
def lookup_issue(key: str) -> str:
    "Look up one issue by key."
    return f"{key} is open"

"""

Run = Callable[..., subprocess.CompletedProcess[str]]


@pytest.fixture
def run(alone: tuple[str, ...], binary: Callable[[str], Path], tmp_path: Path) -> Run:
    """Run code where a provider's CLI is on PATH, in a network of loopback only."""

    def start(provider: str, code: str, *arguments: str) -> subprocess.CompletedProcess[str]:
        for name in ("bin", "home", "work"):
            (tmp_path / name).mkdir()
        (tmp_path / "bin" / provider).symlink_to(binary(provider))
        environment = {
            "PATH": f"{tmp_path / 'bin'}{os.pathsep}{os.environ['PATH']}",
            "PYTHONPATH": str(ROOT / "tests" / "support"),
            "HOME": str(tmp_path / "home"),
        }
        return subprocess.run(
            [*alone, sys.executable, "-P", "-c", LOOPBACK + code, *arguments],
            capture_output=True,
            text=True,
            cwd=tmp_path / "work",
            env=environment,
            timeout=DEADLINE,
            check=False,
        )

    return start


@pytest.mark.parametrize(
    ("key", "call", "answer"),
    [
        ("ISSUE-42", '"state":"open"', "refund”, is open."),
        ("ISSUE-999", '"code":"not_found"', "I can't tell about ISSUE-999"),
    ],
)
def test_the_demo_runs_a_real_cli_offline(
    run: Run, provider: str, tmp_path: Path, key: str, call: str, answer: str
) -> None:
    code = "from toolcrib.__main__ import main\nraise SystemExit(main(sys.argv[1:]))"
    prompt = f"Is {key} still open?"

    done = run(provider, f"import sys\n{code}", "demo", "--driver", provider, "--offline", prompt)

    assert done.returncode == 0, done.stdout + done.stderr
    said = done.stdout.replace("\\", "")
    assert f'tool call       lookup_issue {{"key": "{key}"}}' in said
    assert call in said
    assert answer in said
    assert "run finished    ok" in said
    assert (tmp_path / "work" / "toolcrib-demo.mmd").read_text().startswith("sequenceDiagram")


def test_the_guides_example_of_a_scripted_model_runs_as_it_is_printed(run: Run) -> None:
    guide = (ROOT / "docs" / "testing.md").read_text(encoding="utf-8")
    (example,) = re.findall(r"```python\n([^`]*ModelServer.*?)```", guide, re.DOTALL)
    call = "test_codex_offers_and_calls_the_tool(pathlib.Path().absolute())"

    done = run("codex", f"{TOOL}{example}\n{call}")

    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")
