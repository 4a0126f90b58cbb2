"""What the README shows is what happens."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import pytest

EXAMPLE = re.compile(
    r"<!-- example: (?P<name>[\w-]+) -->\s*```python\n(?P<code>.*?)```", re.DOTALL
)


@pytest.fixture(scope="module")
def examples(root: Path) -> dict[str, str]:
    text = (root / "README.md").read_text(encoding="utf-8")
    return {found["name"]: found["code"] for found in EXAMPLE.finditer(text)}


def test_the_quickstart_runs_as_it_is_printed(examples: dict[str, str], tmp_path: Path) -> None:
    script = tmp_path / "quickstart.py"
    script.write_text(examples["quickstart"], encoding="utf-8")

    done = subprocess.run(
        [sys.executable, "-W", "error", script],
        cwd=tmp_path,
        capture_output=True,
        text=True,
        check=False,
    )

    assert done.returncode == 0, done.stderr
    assert done.stdout.strip()
    assert not done.stderr


def test_the_readme_names_the_two_commands(root: Path) -> None:
    text = (root / "README.md").read_text(encoding="utf-8")

    assert "make demo" in text
    assert "make test" in text
