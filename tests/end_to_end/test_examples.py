"""The examples run, with providers that need no account in place of Claude Code."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]

RUN = """
import runpy, sys
import toolcrib
{driver}
del sys.argv[0]
runpy.run_path(sys.argv[0], run_name="__main__")
"""
ASKING = """
from asking_provider import PERMISSION, QUESTION, Asking
toolcrib.Claude = lambda: Asking((PERMISSION, PERMISSION | {"id": "3"}, QUESTION))
"""
ABLE = """
from json_provider import Able
toolcrib.Claude = lambda: Able('{"urgency": "high", "reason": "It is on fire."}')
"""


def _run(name: str, *arguments: str, driver: str, where: Path, told: str = "") -> str:
    command = (sys.executable, "-W", "error", "-c", RUN.format(driver=driver))
    done = subprocess.run(
        [*command, ROOT / "examples" / name, *arguments],
        cwd=where,
        env={"PATH": "/usr/bin:/bin", "HOME": str(where), "PYTHONPATH": f"{ROOT}/tests/support"},
        input=told,
        capture_output=True,
        text=True,
        timeout=50,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    assert not done.stderr
    return done.stdout


def test_somebody_at_the_terminal_decides(tmp_path: Path) -> None:
    said = _run(
        "approve_in_terminal.py", "hello", driver=ASKING, where=tmp_path, told="y\nn\nRed\n"
    )
    assert "[approved by application]" in said
    assert "[denied by application]" in said
    assert "r: Red" in said
    assert said.endswith(
        'Bash {"command": "rm notes.txt"} and not Bash: The user does not want this. '
        "and the answer is r\n"
    )


def test_answers_are_values(tmp_path: Path) -> None:
    said = _run("typed_answers.py", "A", "B", driver=ABLE, where=tmp_path)
    assert said == "A: high, It is on fire.\nB: high, It is on fire.\n"
