"""Type checkers refuse misuse, and see the types that the handles promise."""

from __future__ import annotations

import re
import sys
from pathlib import Path

import pytest
from ahead import Ahead, begun
from needs import need

from .conftest import MYPY, ROOT, SCRIPTS, pyright_lacks

HERE = Path(__file__).parent / "typing"

pytestmark = pytest.mark.timeout(300)


def _marked(text: str) -> set[int]:
    return {n for n, line in enumerate(text.splitlines(), 1) if line.endswith("  # error")}


def _copies(folder: Path) -> tuple[Path, Path]:
    """Copies of both, where no configuration leaves anything out."""
    link = folder / "site" / "toolcrib"
    link.parent.mkdir()
    link.symlink_to(ROOT)
    right, wrong = folder / "right.py", folder / "wrong.py"
    right.write_text((HERE / "right.py").read_text())
    wrong.write_text((HERE / "wrong.txt").read_text())
    return right, wrong


def _compare(said: str) -> None:
    """Hold the errors of the checker against the marks: no more, no fewer."""
    found = re.findall(r"(\w+\.py):(\d+)(?::\d+)?(?: -)?:? error", said)
    assert not [name for name, _ in found if name != "wrong.py"], said
    marked = _marked((HERE / "wrong.txt").read_text())
    assert marked
    assert {int(line) for _, line in found} == marked, said


@begun
def said_by_mypy(ahead: Ahead) -> str:
    right, wrong = _copies(ahead.folder("mypy"))
    options = ["--config-file", "setup.cfg", "--python-executable", sys.executable]
    with MYPY:
        return ahead.run([SCRIPTS / "mypy", *options, right, wrong], cwd=ROOT).stdout


@begun
def said_by_pyright(ahead: Ahead) -> str:
    lacking = pyright_lacks(ahead)
    need(not lacking, lacking)
    folder = ahead.folder("pyright")
    _copies(folder)
    project = folder / "pyrightconfig.json"
    project.write_text('{"include": ["right.py", "wrong.py"], "extraPaths": ["site"]}')
    argv = [str(SCRIPTS / "pyright"), "--project", str(project), "--pythonpath", sys.executable]
    return ahead.run(argv, cwd=folder).stdout


def test_mypy_refuses_each_misuse(said_by_mypy: str) -> None:
    _compare(said_by_mypy)


def test_pyright_refuses_each_misuse(said_by_pyright: str) -> None:
    _compare(said_by_pyright)
