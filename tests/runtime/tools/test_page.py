"""What docs/tools.md shows is what happens."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import pytest

PAGE = Path(__file__).resolve().parents[3] / "docs" / "tools.md"
EXAMPLES = re.findall(r"```python\n(.*?)```", PAGE.read_text(encoding="utf-8"), re.DOTALL)


def test_the_page_has_its_examples() -> None:
    assert len(EXAMPLES) == 7
    assert all("assert" in example for example in EXAMPLES)


@pytest.mark.parametrize("example", EXAMPLES, ids=range(len(EXAMPLES)))
def test_an_example_runs_as_it_is_printed(example: str, tmp_path: Path) -> None:
    program = tmp_path / "example.py"
    program.write_text(example, encoding="utf-8")
    done = subprocess.run(
        [sys.executable, "-W", "error", program],
        cwd=tmp_path,
        capture_output=True,
        text=True,
        timeout=30,
        check=False,
    )
    assert done.returncode == 0, done.stderr


def test_every_option_of_define_is_on_the_page() -> None:
    from toolcrib.runtime.tools.options import ToolOptions

    table = PAGE.read_text(encoding="utf-8").partition("## Handlers")[0]
    for option in ToolOptions.__annotations__:
        assert re.search(rf"^\| [^|]*\b{option}\b[^|]*\|", table, re.MULTILINE), option
