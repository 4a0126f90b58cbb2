"""The checkout, as the tests about it see it."""

from __future__ import annotations

import configparser
import shutil
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]

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


@pytest.fixture(scope="session")
def source_copy(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A copy of the checkout to build from, so that a build leaves nothing in it."""
    copy = tmp_path_factory.mktemp("source") / "checkout"
    shutil.copytree(ROOT, copy, ignore=MADE, symlinks=True)
    return copy


@pytest.fixture(scope="session")
def source_files(source_copy: Path) -> tuple[str, ...]:
    """Every source file, relative to the root."""
    found = (path for path in source_copy.rglob("*") if path.is_file())
    return tuple(sorted(path.relative_to(source_copy).as_posix() for path in found))
