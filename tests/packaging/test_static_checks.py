"""The checks that read the code without running it, as `make check` and editors run them."""

from __future__ import annotations

import contextlib
import os
import sys

import pytest
from ahead import Ahead, begun
from needs import need

from .conftest import MYPY, ROOT, SCRIPTS, pyright_lacks

pytestmark = pytest.mark.timeout(300)

# A check: the command and what it prints, or nothing when it passes.
Complaint = str


def _complaint(ahead: Ahead, *command: str) -> Complaint:
    """Run a tool of this environment."""
    done = ahead.run([SCRIPTS / command[0], *command[1:]], cwd=ROOT)
    return f"{' '.join(command)}\n{done.stdout}{done.stderr}" if done.returncode else ""


def _lay_link() -> None:
    """Let type checkers find the checkout by the package's name."""
    link = ROOT / ".cache" / "site" / "toolcrib"
    link.parent.mkdir(parents=True, exist_ok=True)
    with contextlib.suppress(FileExistsError):
        link.symlink_to(os.path.relpath(ROOT, link.parent))


@begun
def formatting(ahead: Ahead) -> Complaint:
    return _complaint(ahead, "ruff", "format", "--check", "--quiet", "--diff")


@begun
def cleanness(ahead: Ahead) -> Complaint:
    return _complaint(ahead, "ruff", "check", "--quiet", "--output-format", "concise")


@begun
def layers(ahead: Ahead) -> Complaint:
    return _complaint(ahead, "lint-imports", "--cache-dir", ".cache/import-linter")


@begun
def mypy(ahead: Ahead) -> tuple[Complaint, Complaint]:
    """What mypy says of the package, and of the folders with Python beside it."""
    _lay_link()
    beside = [name for name in ("tests", "examples", "bench") if any(ROOT.glob(f"{name}/**/*.py"))]
    environment = ("--python-executable", sys.executable)
    with MYPY:
        package = _complaint(ahead, "mypy", "-p", "toolcrib", *environment)
        return package, _complaint(ahead, "mypy", *beside, *environment)


@begun
def pyright(ahead: Ahead) -> Complaint:
    _lay_link()
    lacking = pyright_lacks(ahead)
    need(not lacking, lacking)
    project = ("--project", "pyproject.toml", "--pythonpath", sys.executable)
    return _complaint(ahead, "pyright", *project)


def _holds(complaint: Complaint) -> None:
    if complaint:
        pytest.fail(complaint, pytrace=False)


def test_the_code_is_formatted(formatting: Complaint) -> None:
    _holds(formatting)


def test_the_code_is_clean(cleanness: Complaint) -> None:
    _holds(cleanness)


def test_imports_run_one_way(layers: Complaint) -> None:
    _holds(layers)


def test_the_package_type_checks_with_mypy(mypy: tuple[Complaint, Complaint]) -> None:
    _holds(mypy[0])


def test_what_lies_beside_the_package_type_checks_with_mypy(
    mypy: tuple[Complaint, Complaint],
) -> None:
    _holds(mypy[1])


def test_everything_type_checks_with_pyright(pyright: Complaint) -> None:
    _holds(pyright)
