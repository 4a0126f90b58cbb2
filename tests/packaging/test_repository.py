"""The configuration and the text of the repository, taken by their word."""

from __future__ import annotations

import configparser
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

# Folders of the checkout that are not part of the import package.
BESIDE = {"tests", "docs", "examples", "bench", "diagrams"}

# The classes of one letter keep this pattern from finding itself.
PLACES = re.compile(
    r"(?<![\w.])/(wor[k]|roo[t]|opt/py[p]i)/"
    r"|py[p]i\.org|python[h]osted\.org|npm[j]s\.org|proxy\.golan[g]\.org"
)


def _places(text: str) -> Iterator[str]:
    for number, line in enumerate(text.splitlines(), 1):
        for found in PLACES.finditer(line):
            yield f"{number}: {found.group()}"


def test_every_folder_with_code_is_a_listed_package(
    packages: tuple[str, ...], source_files: tuple[str, ...]
) -> None:
    folders = [Path(name).parent for name in source_files if Path(name).name == "__init__.py"]
    inside = [folder.parts for folder in folders if not BESIDE & set(folder.parts[:1])]

    assert sorted(".".join(("toolcrib", *parts)) for parts in inside) == sorted(packages)


def test_no_module_lies_outside_a_package(
    packages: tuple[str, ...], source_files: tuple[str, ...]
) -> None:
    modules = [Path(name) for name in source_files if name.endswith(".py")]
    owners = {
        ".".join(("toolcrib", *module.parent.parts)): module
        for module in modules
        if not (BESIDE | {".ci"}) & set(module.parts[:1])
    }

    assert set(owners) == set(packages)


def test_no_folder_beside_the_package_is_a_package(source_files: tuple[str, ...]) -> None:
    # pytest would import the checkout a second time, under its folder's name.
    assert not [
        name
        for name in source_files
        if Path(name).parts[0] in BESIDE and Path(name).name == "__init__.py"
    ]


def test_both_pytest_configurations_say_the_same(
    root: Path, setup: configparser.ConfigParser
) -> None:
    inner = configparser.ConfigParser()
    inner.read(root / "tests" / "pytest.ini", encoding="utf-8")
    outer = dict(setup["tool:pytest"])

    assert outer.pop("testpaths") == "tests"
    assert outer.pop("cache_dir").startswith(".cache/")
    outer["pythonpath"] = outer["pythonpath"].removeprefix("tests/")
    outer["addopts"] = outer["addopts"].replace("--confcutdir=tests", "").strip()
    assert outer == dict(inner["pytest"])


def test_no_file_names_a_machine_or_a_registry(
    root: Path, source_copy: Path, source_files: tuple[str, ...]
) -> None:
    here = {str(path) for path in (root, Path.home()) if len(path.parts) > 2}
    found = [
        f"{name}:{place}"
        for name in source_files
        for place in _places((source_copy / name).read_text(encoding="utf-8", errors="replace"))
    ]

    found += [
        f"{name}: {place}"
        for name in source_files
        for place in here
        if place in (source_copy / name).read_text(encoding="utf-8", errors="replace")
    ]

    assert not found, "\n".join(found)


@pytest.mark.parametrize("path", ["work/main", "root/.cache", "opt/pypi/simple"])
def test_a_machines_path_is_found(path: str) -> None:
    assert list(_places(f"see '/{path}'"))
    assert not list(_places(f"see '{path}' and '$HOME/{path}'"))


@pytest.mark.parametrize("parts", [("py", "pi"), ("files", "pythonhosted"), ("registry", "npmjs")])
def test_a_registry_is_found(parts: tuple[str, str]) -> None:
    # In parts, so that this file names none either.
    host = (".", "")[parts[0] == "py"].join(parts)
    assert list(_places(f"https://{host}.org/simple"))
    assert not list(_places(f"install it from {host}"))
