"""What docs/runs.md shows is what happens."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import pytest

from toolcrib import AgentKeywords, Event, RunReason

ROOT = Path(__file__).resolve().parents[2]
PAGE = (ROOT / "docs" / "runs.md").read_text(encoding="utf-8")
EXAMPLES = re.findall(r"```python\n(.*?)```", PAGE, re.DOTALL)

# Those that name a provider that can ask get one that needs no account.
RUN = """
import runpy, sys
import toolcrib
from asking_provider import Asking
toolcrib.Claude = Asking
runpy.run_path(sys.argv[1], run_name="__main__")
"""


def test_the_page_has_its_examples() -> None:
    assert len(EXAMPLES) == 8
    assert all("assert" in example for example in EXAMPLES)


@pytest.mark.parametrize("example", EXAMPLES, ids=range(len(EXAMPLES)))
def test_an_example_runs_as_it_is_printed(example: str, tmp_path: Path) -> None:
    program = tmp_path / "example.py"
    program.write_text(example, encoding="utf-8")
    done = subprocess.run(
        [sys.executable, "-W", "error", "-c", RUN, program],
        cwd=tmp_path,
        env={
            "PATH": "/usr/bin:/bin",
            "HOME": str(tmp_path),
            "PYTHONPATH": f"{ROOT}/tests/support",
        },
        capture_output=True,
        text=True,
        timeout=50,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    assert not done.stderr


def test_every_option_event_and_value_is_on_the_page() -> None:
    tables = "\n".join(line for line in PAGE.splitlines() if line.startswith("|"))
    for name in (*AgentKeywords.__optional_keys__, *(kind.__name__ for kind in Event.__args__)):
        assert f"`{name}`" in tables, name
    assert RunReason.INVALID_OUTPUT.name in PAGE
