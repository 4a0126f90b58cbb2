"""`import toolcrib` is fast: what is heavy waits until it is needed."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

HEAVY = ("mcp", "mcp_types", "pydantic", "jsonschema", "jsonschema_rs", "marshmallow", "werkzeug")
HEAVIER = (*HEAVY, "pykka", "uvicorn", "starlette", "httptools", "psutil", "sqlalchemy", "anyio")

REPORT = """
import sys
{statement}
print(*sorted({{name.partition(".")[0] for name in sys.modules}}))
"""


def _loaded_by(statement: str, folder: Path) -> set[str]:
    """Return the top-level modules that a new interpreter has after the statement."""
    done = subprocess.run(
        [sys.executable, "-c", REPORT.format(statement=statement)],
        cwd=folder,
        capture_output=True,
        text=True,
        check=True,
    )
    return set(done.stdout.split())


@pytest.mark.parametrize(
    "statement",
    [
        "import toolcrib",
        "import toolcrib.tool",
        "from toolcrib import tool",
        "import toolcrib.errors",
        "import toolcrib.testing",
    ],
)
def test_an_import_loads_nothing_heavy(statement: str, tmp_path: Path) -> None:
    loaded = _loaded_by(statement, tmp_path)

    assert "toolcrib" in loaded
    assert not loaded & set(HEAVIER)


def test_what_is_loaded_is_seen(tmp_path: Path) -> None:
    assert "werkzeug" in _loaded_by("import toolcrib, werkzeug.http", tmp_path)


def test_every_public_name_can_be_had(tmp_path: Path) -> None:
    import toolcrib

    assert toolcrib.__all__
    assert sorted(toolcrib.__all__) == sorted(set(toolcrib.__all__))
    _loaded_by("from toolcrib import *", tmp_path)
    assert set(toolcrib.__all__) <= set(dir(toolcrib))
