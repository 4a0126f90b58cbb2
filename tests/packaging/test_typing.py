"""Type checkers refuse misuse, and see the types that the handles promise."""

from __future__ import annotations

import re
import subprocess
import sys
import sysconfig
from collections.abc import Callable
from pathlib import Path

import pytest

SCRIPTS = Path(sysconfig.get_path("scripts"))
HERE = Path(__file__).parent / "typing"

pytestmark = pytest.mark.timeout(300)


def _marked(text: str) -> set[int]:
    return {n for n, line in enumerate(text.splitlines(), 1) if line.endswith("  # error")}


@pytest.fixture
def files(root: Path, tmp_path: Path) -> tuple[Path, Path]:
    """Copies of both, where no configuration leaves anything out."""
    link = tmp_path / "site" / "toolcrib"
    link.parent.mkdir()
    link.symlink_to(root)
    right, wrong = tmp_path / "right.py", tmp_path / "wrong.py"
    right.write_text((HERE / "right.py").read_text())
    wrong.write_text((HERE / "wrong.txt").read_text())
    return right, wrong


def _compare(said: str, wrong: Path) -> None:
    """Hold the errors of the checker against the marks: no more, no fewer."""
    found = re.findall(r"(\w+\.py):(\d+)(?::\d+)?(?: -)?:? error", said)
    elsewhere = [name for name, _ in found if name != wrong.name]
    assert not elsewhere, said
    assert {int(line) for _, line in found} == _marked(wrong.read_text()), said


def test_mypy_refuses_each_misuse(root: Path, files: tuple[Path, Path]) -> None:
    right, wrong = files
    options = ("--config-file", "setup.cfg", "--python-executable", sys.executable)
    done = subprocess.run(
        [SCRIPTS / "mypy", *options, right, wrong],
        cwd=root,
        capture_output=True,
        text=True,
        check=False,
    )
    _compare(done.stdout, wrong)


def test_pyright_refuses_each_misuse(
    root: Path, files: tuple[Path, Path], needs: Callable[[object, str], None]
) -> None:
    runs = subprocess.run(
        [SCRIPTS / "pyright", "--version"], capture_output=True, text=True, check=False
    )
    needs(runs.returncode == 0, f"Node.js, which pyright runs on: {runs.stderr[-300:]}")
    right, wrong = files
    project = right.parent / "pyrightconfig.json"
    project.write_text('{"include": ["right.py", "wrong.py"], "extraPaths": ["site"]}')
    done = subprocess.run(
        [SCRIPTS / "pyright", "--project", project, "--pythonpath", sys.executable],
        cwd=right.parent,
        capture_output=True,
        text=True,
        check=False,
    )
    _compare(done.stdout, wrong)
