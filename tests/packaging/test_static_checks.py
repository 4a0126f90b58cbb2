"""The checks that read the code without running it, as `make check` and editors run them."""

from __future__ import annotations

import os
import subprocess
import sys
import sysconfig
from collections.abc import Callable
from pathlib import Path

import pytest

SCRIPTS = Path(sysconfig.get_path("scripts"))

pytestmark = pytest.mark.timeout(300)


def _passes(root: Path, *command: str) -> None:
    """Run a tool of this environment; what it prints is the failure."""
    argv = [str(SCRIPTS / command[0]), *command[1:]]
    done = subprocess.run(argv, cwd=root, capture_output=True, text=True, check=False)
    if done.returncode:
        pytest.fail(f"{' '.join(command)}\n{done.stdout}{done.stderr}", pytrace=False)


@pytest.fixture(scope="session", autouse=True)
def site(root: Path) -> None:
    """Let type checkers find the checkout by the package's name."""
    link = root / ".cache" / "site" / "toolcrib"
    link.parent.mkdir(parents=True, exist_ok=True)
    if not link.is_symlink():
        link.symlink_to(os.path.relpath(root, link.parent))


@pytest.fixture(scope="session")
def checked_folders(root: Path) -> list[str]:
    """The folders beside the package that hold Python."""
    return [name for name in ("tests", "examples", "bench") if any(root.glob(f"{name}/**/*.py"))]


def test_the_code_is_formatted(root: Path) -> None:
    _passes(root, "ruff", "format", "--check", "--quiet", "--diff")


def test_the_code_is_clean(root: Path) -> None:
    _passes(root, "ruff", "check", "--quiet", "--output-format", "concise")


def test_imports_run_one_way(root: Path) -> None:
    _passes(root, "lint-imports", "--cache-dir", ".cache/import-linter")


def test_the_package_type_checks_with_mypy(root: Path) -> None:
    _passes(root, "mypy", "-p", "toolcrib", "--python-executable", sys.executable)


def test_what_lies_beside_the_package_type_checks_with_mypy(
    root: Path, checked_folders: list[str]
) -> None:
    _passes(root, "mypy", *checked_folders, "--python-executable", sys.executable)


def test_everything_type_checks_with_pyright(
    root: Path, needs: Callable[[object, str], None]
) -> None:
    runs = subprocess.run(
        [SCRIPTS / "pyright", "--version"], capture_output=True, text=True, check=False
    )
    needs(runs.returncode == 0, f"Node.js, which pyright runs on: {runs.stderr[-300:]}")

    _passes(root, "pyright", "--project", "pyproject.toml", "--pythonpath", sys.executable)
