"""What the README shows is what happens."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

EXAMPLE = re.compile(
    r"<!-- example: (?P<name>[\w-]+) -->\s*```python\n(?P<code>.*?)```", re.DOTALL
)
SCRIPT = {
    "turns": [
        {
            "when": {"prompt": "(?P<key>ISSUE-[0-9]+)"},
            "steps": [
                {"call": "lookup_issue", "arguments": {"key": "{{match.key}}"}, "save": "state"},
                {"say": "It is {{results.state.result}}."},
            ],
        }
    ]
}


@pytest.fixture(scope="module")
def examples(root: Path) -> dict[str, str]:
    text = (root / "README.md").read_text(encoding="utf-8")
    return {found["name"]: found["code"] for found in EXAMPLE.finditer(text)}


def test_the_quickstart_runs_as_it_is_printed(examples: dict[str, str], tmp_path: Path) -> None:
    program = tmp_path / "quickstart.py"
    program.write_text(examples["quickstart"], encoding="utf-8")
    script = tmp_path / "script.json"
    script.write_text(json.dumps(SCRIPT), encoding="utf-8")
    # The CLI that `Cursor()` looks for on the path; the scripted one stands in.
    cli = tmp_path / "bin" / "agent"
    cli.parent.mkdir()
    module = "toolcrib.testing.scripted_provider"
    cli.write_text(f'#!/bin/sh\nexec {sys.executable} -P -m {module} --script {script} "$@"\n')
    cli.chmod(0o755)
    environment = os.environ | {
        "PATH": f"{cli.parent}:{os.environ['PATH']}",
        "HOME": str(tmp_path),
    }

    done = subprocess.run(
        [sys.executable, "-W", "error", program],
        cwd=tmp_path,
        env=environment,
        capture_output=True,
        text=True,
        check=False,
    )

    assert done.returncode == 0, done.stderr
    assert done.stdout == "It is open.\n"
    assert not done.stderr


def test_the_scripted_example_runs_as_it_is_printed(
    examples: dict[str, str], tmp_path: Path
) -> None:
    program = tmp_path / "scripted.py"
    program.write_text(examples["scripted"], encoding="utf-8")

    done = subprocess.run(
        [sys.executable, "-W", "error", program],
        cwd=tmp_path,
        capture_output=True,
        text=True,
        check=False,
    )

    assert done.returncode == 0, done.stderr
    assert done.stdout == "ISSUE-42 is open.\n"
    assert not done.stderr


def test_the_readme_names_the_two_commands(root: Path) -> None:
    text = (root / "README.md").read_text(encoding="utf-8")

    assert "make demo" in text
    assert "make test" in text
