"""The rules of tests/conftest.py, tried on test runs of their own."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

LACKING = """
    def test_it(needs):
        needs(False, "a moon rocket")
"""
MODULE_SKIP = """
    import pytest
    pytest.skip("no moon", allow_module_level=True)
"""
EXPECTED_FAILURE = """
    import pytest
    @pytest.mark.xfail(reason="known")
    def test_it():
        assert False
"""
THREAD = """
    import threading
    def test_it():
        threading.Thread(target=threading.Event().wait, name="{name}", daemon=True).start()
"""
PROCESS = """
    import subprocess, sys
    children = []
    def test_it():
        children.append(subprocess.Popen([sys.executable, "-c", "input()"],
                                         stdin=subprocess.PIPE))
    def test_later(request):
        children[0].communicate()
"""

# A process that starts in the first test, and ends with the second, which lets it.
BEGUN = """
    import os, pathlib, sys
    import pytest
    from ahead import begun
    here = pathlib.Path(__file__).parent
    for name in ("start", "started", "go"):
        os.mkfifo(here / name)
    CODE = "open('started', 'w').close(); open('go').close(); print('went')"
    @begun
    def early(ahead):
        pytest.skip("no moon")
    @begun
    def late(ahead):
        open(here / "start").close()
        return ahead.run([sys.executable, "-c", CODE], cwd=here).stdout
    @pytest.fixture(scope="session")
    def go():
        open(here / "go", "w").close()
    def test_skipped(early):
        pass
    def test_first():
        open(here / "start", "w").close()
        open(here / "started").close()
    def test_second(go, late):
        assert late == "went\\n"
"""


def _run(
    folder: Path, root: Path, test: str, **variables: str
) -> subprocess.CompletedProcess[str]:
    shutil.copy(root / "tests" / "conftest.py", folder)
    conftest = folder / "conftest.py"
    conftest.write_text(conftest.read_text().replace("LEAVE_TIME = 10.0", "LEAVE_TIME = 0.2"))
    lines = [line.removeprefix("    ") for line in test.splitlines()]
    (folder / "test_it.py").write_text("\n".join(lines))
    (folder / "pytest.ini").write_text("[pytest]\n")
    environment = {name: value for name, value in os.environ.items() if name != "CI"}
    # What the conftest imports; and no plugin, which would take most of the time.
    support = {
        "PYTHONPATH": str(root / "tests" / "support"),
        "PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1",
    }
    return subprocess.run(
        [sys.executable, "-m", "pytest", "-p", "no:cacheprovider", "."],
        cwd=folder,
        env=environment | support | variables,
        capture_output=True,
        text=True,
        check=False,
    )


def test_a_skip_is_told_at_the_end_of_the_run(tmp_path: Path, root: Path) -> None:
    done = _run(tmp_path, root, LACKING)

    assert done.returncode == 0
    assert "NOT TESTED ON THIS MACHINE" in done.stdout
    assert "test_it.py::test_it: Skipped: this machine lacks a moon rocket" in done.stdout
    assert "1 skipped" in done.stdout.splitlines()[-1]


@pytest.mark.parametrize("test", [LACKING, MODULE_SKIP], ids=["test", "module"])
def test_a_skip_is_a_failure_in_ci(tmp_path: Path, root: Path, test: str) -> None:
    done = _run(tmp_path, root, test, CI="true")

    assert done.returncode != 0
    assert "With CI=true a skipped test is a failure." in done.stdout


def test_an_expected_failure_is_no_skip(tmp_path: Path, root: Path) -> None:
    done = _run(tmp_path, root, EXPECTED_FAILURE, CI="true")

    assert done.returncode == 0
    assert "NOT TESTED" not in done.stdout


def test_a_thread_of_ours_that_outlives_its_test_is_an_error(tmp_path: Path, root: Path) -> None:
    done = _run(tmp_path, root, THREAD.format(name="toolcrib-run-7"))

    assert done.returncode != 0
    assert "the test left behind: thread toolcrib-run-7" in done.stdout


def test_an_idle_system_thread_may_stay(tmp_path: Path, root: Path) -> None:
    assert _run(tmp_path, root, THREAD.format(name="toolcrib-system-timer")).returncode == 0


def test_a_child_process_that_outlives_its_test_is_an_error(tmp_path: Path, root: Path) -> None:
    done = _run(tmp_path, root, PROCESS)

    assert "the test left behind: process" in done.stdout
    assert "2 passed, 1 error" in done.stdout.splitlines()[-1]


def test_a_process_that_works_ahead_of_its_test_is_left_behind_by_none(
    tmp_path: Path, root: Path
) -> None:
    done = _run(tmp_path, root, BEGUN)

    assert done.returncode == 0, done.stdout
    assert "test_skipped: Skipped: no moon" in done.stdout
    assert "2 passed, 1 skipped" in done.stdout.splitlines()[-1]
