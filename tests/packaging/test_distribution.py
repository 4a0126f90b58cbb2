"""The wheel and the sdist: what is in them, and that they work elsewhere."""

from __future__ import annotations

import importlib.util
import os
import re
import subprocess
import sys
import tarfile
import venv
import zipfile
from collections.abc import Callable
from importlib import metadata
from pathlib import Path

import pytest

pytestmark = [pytest.mark.slow, pytest.mark.timeout(600)]

SETUPTOOLS = 77  # the lowest major version that pyproject.toml asks for
FOREIGN = {"PYTHONPATH", "PYTHONHOME", "VIRTUAL_ENV"}

Needs = Callable[[object, str], None]


def _run(*argv: str | Path, cwd: Path) -> subprocess.CompletedProcess[str]:
    environment = {name: value for name, value in os.environ.items() if name not in FOREIGN}
    return subprocess.run(
        argv, cwd=cwd, env=environment, capture_output=True, text=True, check=False
    )


@pytest.fixture(scope="module")
def registry_reached(tmp_path_factory: pytest.TempPathFactory) -> bool:
    """Ask pip for the one package that any build needs."""
    folder = tmp_path_factory.mktemp("reach")
    argv = (sys.executable, "-m", "pip", "download", "--no-deps", "--quiet", "-d", folder)
    return _run(*argv, f"setuptools>={SETUPTOOLS}", cwd=folder).returncode == 0


@pytest.fixture(scope="module")
def distributions(
    source_copy: Path,
    tmp_path_factory: pytest.TempPathFactory,
    needs: Needs,
    request: pytest.FixtureRequest,
) -> Path:
    """Build the sdist, and the wheel from the sdist."""
    out = tmp_path_factory.mktemp("distributions")
    argv = [sys.executable, "-m", "build", "--outdir", str(out)]
    if int(metadata.version("setuptools").partition(".")[0]) >= SETUPTOOLS:
        argv.append("--no-isolation")
    else:
        needs(request.getfixturevalue("registry_reached"), "a package registry")
    built = _run(*argv, source_copy, cwd=out)
    assert built.returncode == 0, built.stdout + built.stderr
    return out


@pytest.fixture(scope="module")
def wheel(distributions: Path) -> Path:
    (found,) = distributions.glob("*.whl")
    return found


@pytest.fixture(scope="module")
def wheel_files(wheel: Path) -> set[str]:
    with zipfile.ZipFile(wheel) as archive:
        return set(archive.namelist())


@pytest.fixture(scope="module")
def installed(
    wheel: Path,
    registry_reached: bool,
    needs: Needs,
    tmp_path_factory: pytest.TempPathFactory,
) -> Path:
    """Install the wheel in a clean environment; return its folder of scripts."""
    needs(registry_reached, "a package registry")
    needs(importlib.util.find_spec("ensurepip"), "ensurepip (Debian's python3-venv)")
    folder = tmp_path_factory.mktemp("clean")
    venv.create(folder, with_pip=True)
    scripts = folder / "bin"
    done = _run(scripts / "python", "-m", "pip", "install", "--quiet", wheel, cwd=folder)
    assert done.returncode == 0, done.stderr
    return scripts


def test_the_wheel_holds_every_file_of_the_package(
    wheel_files: set[str], packages: tuple[str, ...], source_files: tuple[str, ...]
) -> None:
    folders = {package.replace(".", "/") for package in packages}
    wanted = {
        f"toolcrib/{name}"
        for name in source_files
        if f"toolcrib/{name}".rpartition("/")[0] in folders
        and Path(name).suffix in {".py", ".json", ".typed"}
    }

    assert wanted <= wheel_files
    assert folders == {name.rpartition("/")[0] for name in wanted}


def test_the_wheel_holds_nothing_else(wheel_files: set[str], packages: tuple[str, ...]) -> None:
    folders = {package.replace(".", "/") for package in packages}
    others = {name for name in wheel_files if ".dist-info/" not in name}

    assert {name.rpartition("/")[0] for name in others} == folders


def test_the_sdist_holds_every_source_file(
    distributions: Path, source_files: tuple[str, ...]
) -> None:
    (sdist,) = distributions.glob("*.tar.gz")
    with tarfile.open(sdist) as archive:
        inside = {member.name.partition("/")[2] for member in archive.getmembers()}

    assert not set(source_files) - inside


def test_the_wheel_is_told_as_typed_and_licensed(wheel: Path, wheel_files: set[str]) -> None:
    (path,) = (name for name in wheel_files if name.endswith(".dist-info/METADATA"))
    text = zipfile.ZipFile(wheel).read(path).decode()

    assert "toolcrib/py.typed" in wheel_files
    assert re.search(r"^License(-Expression)?: MIT$", text, re.MULTILINE)
    assert any(name.endswith("licenses/LICENSE") for name in wheel_files)


def test_the_demo_runs_from_an_installed_wheel(installed: Path, tmp_path: Path) -> None:
    done = _run(installed / "toolcrib", "demo", cwd=tmp_path)

    assert done.returncode == 0, done.stdout + done.stderr
    assert "lookup_issue" in done.stdout
    assert "ISSUE-42" in done.stdout


def test_the_package_runs_as_a_module(installed: Path, tmp_path: Path) -> None:
    done = _run(installed / "python", "-m", "toolcrib", "--help", cwd=tmp_path)

    assert done.returncode == 0, done.stderr
    assert "demo" in done.stdout
