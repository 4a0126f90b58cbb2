"""The demonstration and the diagrams, as a newcomer meets them."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from toolcrib.demo import PROMPT
from toolcrib.demo.recording import close_diagram, run_diagram

DIAGRAMS = Path(__file__).parents[2] / "diagrams"
STALE = "the drawing is not what the system does; run `make diagrams` and look at the difference"


def demo(folder: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-m", "toolcrib", "demo", *arguments],
        cwd=folder,
        capture_output=True,
        text=True,
        check=False,
    )


def in_order(text: str, *words: str) -> bool:
    place = 0
    for word in words:
        place = text.find(word, place) + 1
        if not place:
            return False
    return True


def test_the_demo_shows_call_result_final_text_and_close(tmp_path: Path) -> None:
    done = demo(tmp_path)
    assert done.returncode == 0, done.stderr
    assert not done.stderr
    assert in_order(
        done.stdout,
        "run started",
        'tool call       lookup_issue {"key": "ISSUE-42"}',
        '"state":"open"',
        "run finished    ok",
        "final text:",
        "is open.",
        "close, in order:",
        "clones removed",
        "token refused",
        "listener closed",
        "Agent closed",
    )
    diagram = (tmp_path / "toolcrib-demo.mmd").read_text()
    assert diagram.startswith("sequenceDiagram")
    assert "AgentClosed" in diagram
    assert list(tmp_path.iterdir()) == [tmp_path / "toolcrib-demo.mmd"]


def test_an_unknown_key_shows_how_a_rejection_reaches_the_model(tmp_path: Path) -> None:
    done = demo(tmp_path, "Is ISSUE-999 still open?", "--diagram", str(tmp_path / "d" / "x.mmd"))
    assert done.returncode == 0, done.stderr
    assert in_order(done.stdout, '"code":"not_found"', "I can't tell about ISSUE-999")
    assert (tmp_path / "d" / "x.mmd").exists()


def test_a_diagram_that_can_not_be_written_is_said_after_the_run(tmp_path: Path) -> None:
    done = demo(tmp_path, "Good morning!", "--diagram", str(tmp_path))
    assert done.returncode == 1
    assert not done.stderr
    assert in_order(done.stdout, "Agent closed", f"{tmp_path} can't be written", "--diagram")


def test_a_prompt_without_a_key_needs_no_tool(tmp_path: Path) -> None:
    done = demo(tmp_path, "Good morning!")
    assert done.returncode == 0, done.stderr
    assert "tool call" not in done.stdout


@pytest.mark.parametrize(
    ("name", "draw"), [("run.mmd", lambda: run_diagram(PROMPT)), ("close.mmd", close_diagram)]
)
def test_the_diagrams_show_what_the_system_does(name: str, draw: object) -> None:
    assert callable(draw)
    assert draw() == (DIAGRAMS / name).read_text(), STALE


@pytest.mark.parametrize(
    ("driver", "package"),
    [("codex", "@openai/codex"), ("claude", "claude-agent-sdk"), ("codebuddy", "codebuddy-code")],
)
@pytest.mark.parametrize("offline", [(), ("--offline",)])
def test_a_cli_that_is_not_installed_is_told_with_what_to_install(
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    driver: str,
    package: str,
    offline: tuple[str, ...],
) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    monkeypatch.setenv("HOME", str(tmp_path))
    done = demo(tmp_path, "--driver", driver, *offline)
    assert done.returncode == 1
    assert not done.stderr
    assert in_order(done.stdout, "the run failed:", "Install it with", package, "Agent closed")
