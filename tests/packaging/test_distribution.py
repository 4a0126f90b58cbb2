"""The wheel and the sdist: what is in them, and that they work elsewhere."""

from __future__ import annotations

import os
import re
import subprocess
import sys
import tarfile
import venv
import zipfile
from dataclasses import dataclass
from importlib import metadata
from pathlib import Path

import pytest
from ahead import Ahead, begun
from needs import need

from .conftest import copy_checkout, files_of

pytestmark = [pytest.mark.slow, pytest.mark.timeout(600)]

SETUPTOOLS = 77  # the lowest major version that pyproject.toml asks for
FOREIGN = {"PYTHONPATH", "PYTHONHOME", "VIRTUAL_ENV"}
REGISTRY = "a package registry"


@dataclass(frozen=True)
class Built:
    """The sdist and the wheel built from it, and the wheel in a clean environment."""

    sdist: Path
    wheel: Path
    source_files: tuple[str, ...]
    scripts: Path | None
    lacking: str

    @property
    def wheel_files(self) -> set[str]:
        with zipfile.ZipFile(self.wheel) as archive:
            return set(archive.namelist())


def _run(ahead: Ahead, *argv: str | Path, cwd: Path) -> subprocess.CompletedProcess[str]:
    environment = {name: value for name, value in os.environ.items() if name not in FOREIGN}
    return ahead.run(argv, cwd=cwd, environment=environment)


def _pip(ahead: Ahead, *argv: str | Path, cwd: Path) -> subprocess.CompletedProcess[str]:
    return _run(ahead, sys.executable, "-m", "pip", "--disable-pip-version-check", *argv, cwd=cwd)


@begun
def built(ahead: Ahead) -> Built:
    folder = ahead.folder("distributions")
    copy, out = copy_checkout(folder), folder / "out"
    # Whether pip gets the one package that any build needs.
    wanted = f"setuptools>={SETUPTOOLS}"
    argv = ("download", "--no-deps", "--quiet", "-d", folder, wanted)
    reached = _pip(ahead, *argv, cwd=folder).returncode == 0
    build: list[str | Path] = [sys.executable, "-m", "build", "--outdir", out, copy]
    if int(metadata.version("setuptools").partition(".")[0]) >= SETUPTOOLS:
        build.append("--no-isolation")
    else:
        need(reached, REGISTRY)
    done = _run(ahead, *build, cwd=folder)
    assert done.returncode == 0, done.stdout + done.stderr
    (sdist,), (wheel,) = out.glob("*.tar.gz"), out.glob("*.whl")
    lacking = "" if reached else REGISTRY
    scripts = None if lacking else _installed(ahead, wheel)
    return Built(sdist, wheel, files_of(copy), scripts, lacking)


def _installed(ahead: Ahead, wheel: Path) -> Path:
    """Install the wheel in a clean environment; return its folder of scripts."""
    folder = ahead.folder("clean")
    # The pip of this environment installs there, so that no other has to be unpacked.
    venv.create(folder)
    scripts = folder / "bin"
    argv = ("--python", scripts / "python", "install", "--quiet", wheel)
    done = _pip(ahead, *argv, cwd=folder)
    assert done.returncode == 0, done.stderr
    return scripts


def test_the_wheel_holds_every_file_of_the_package(
    built: Built, packages: tuple[str, ...]
) -> None:
    folders = {package.replace(".", "/") for package in packages}
    wanted = {
        f"toolcrib/{name}"
        for name in built.source_files
        if f"toolcrib/{name}".rpartition("/")[0] in folders
        and Path(name).suffix in {".py", ".json", ".typed"}
    }

    assert wanted <= built.wheel_files
    assert folders == {name.rpartition("/")[0] for name in wanted}


def test_the_wheel_holds_nothing_else(built: Built, packages: tuple[str, ...]) -> None:
    folders = {package.replace(".", "/") for package in packages}
    others = {name for name in built.wheel_files if ".dist-info/" not in name}

    assert {name.rpartition("/")[0] for name in others} == folders


def test_the_sdist_holds_every_source_file(built: Built) -> None:
    with tarfile.open(built.sdist) as archive:
        inside = {member.name.partition("/")[2] for member in archive.getmembers()}

    assert built.source_files
    assert not set(built.source_files) - inside


def test_the_wheel_is_told_as_typed_and_licensed(built: Built) -> None:
    (path,) = (name for name in built.wheel_files if name.endswith(".dist-info/METADATA"))
    text = zipfile.ZipFile(built.wheel).read(path).decode()

    assert "toolcrib/py.typed" in built.wheel_files
    assert re.search(r"^License(-Expression)?: MIT$", text, re.MULTILINE)
    assert any(name.endswith("licenses/LICENSE") for name in built.wheel_files)


def test_the_demo_runs_from_an_installed_wheel(built: Built, tmp_path: Path, ahead: Ahead) -> None:
    need(built.scripts, built.lacking)
    assert built.scripts is not None
    done = _run(ahead, built.scripts / "toolcrib", "demo", cwd=tmp_path)

    assert done.returncode == 0, done.stdout + done.stderr
    assert "lookup_issue" in done.stdout
    assert "ISSUE-42" in done.stdout


def test_the_package_runs_as_a_module(built: Built, tmp_path: Path, ahead: Ahead) -> None:
    need(built.scripts, built.lacking)
    assert built.scripts is not None
    done = _run(ahead, built.scripts / "python", "-m", "toolcrib", "--help", cwd=tmp_path)

    assert done.returncode == 0, done.stderr
    assert "demo" in done.stdout
