"""The checkout, as the tests about it see it."""

from __future__ import annotations

import configparser
import shutil
import sysconfig
import threading
from pathlib import Path

import pytest
from ahead import Ahead

ROOT = Path(__file__).parents[2]
SCRIPTS = Path(sysconfig.get_path("scripts"))
MYPY = threading.Lock()  # two at a time would share their cache

# What tools make and git ignores; a distribution is built from a copy without it.
MADE = shutil.ignore_patterns(
    *("__pycache__", "*.egg-info", "build", "dist", ".git", ".venv", ".cache"),
    *(".*_cache", ".hypothesis", ".coverage*"),
)


@pytest.fixture(scope="session")
def root() -> Path:
    return ROOT


@pytest.fixture(scope="session")
def setup() -> configparser.ConfigParser:
    parser = configparser.ConfigParser(interpolation=None)
    parser.read(ROOT / "setup.cfg", encoding="utf-8")
    return parser


@pytest.fixture(scope="session")
def packages(setup: configparser.ConfigParser) -> tuple[str, ...]:
    return tuple(setup["options"]["packages"].split())


@pytest.fixture(scope="session")
def modules(packages: tuple[str, ...]) -> dict[str, Path]:
    """Every module of the package, by its dotted name."""
    return {
        package if path.stem == "__init__" else f"{package}.{path.stem}": path
        for package in packages
        for path in sorted(ROOT.joinpath(*package.split(".")[1:]).glob("*.py"))
    }


def pyright_lacks(ahead: Ahead) -> str:
    """Return what pyright lacks here, or nothing."""
    runs = ahead.run([SCRIPTS / "pyright", "--version"], cwd=ROOT)
    return f"Node.js, which pyright runs on: {runs.stderr[-300:]}" if runs.returncode else ""


def copy_checkout(folder: Path) -> Path:
    """Copy the checkout, so that what is done with it leaves nothing in it."""
    copy = folder / "checkout"
    shutil.copytree(ROOT, copy, ignore=MADE, symlinks=True)
    return copy


def files_of(copy: Path) -> tuple[str, ...]:
    """Every file of a copy, relative to it."""
    found = (path for path in copy.rglob("*") if path.is_file())
    return tuple(sorted(path.relative_to(copy).as_posix() for path in found))


@pytest.fixture(scope="session")
def source_copy(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return copy_checkout(tmp_path_factory.mktemp("source"))


@pytest.fixture(scope="session")
def source_files(source_copy: Path) -> tuple[str, ...]:
    """Every source file, relative to the root."""
    return files_of(source_copy)
