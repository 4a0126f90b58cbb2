"""`Tool.wire_schema` says what the real provider's model is offered, to the letter."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from .conftest import ROOT

pytestmark = [pytest.mark.slow, pytest.mark.timeout(200)]


def test_the_view_of_every_tool_is_what_the_model_is_offered(
    provider: str,
    alone: tuple[str, ...],
    binary: Callable[[str], Path],
    tmp_path: Path,
) -> None:
    order = {
        "provider": provider,
        "command": str(binary(provider)),
        "folder": str(tmp_path),
    }
    done = subprocess.run(
        [*alone, sys.executable, "-P", "-m", "staging.tool_views"],
        input=json.dumps(order),
        env={"PATH": os.environ["PATH"], "HOME": str(tmp_path), "TMPDIR": str(tmp_path)}
        | {"PYTHONPATH": str(ROOT / "tests" / "support")},
        capture_output=True,
        text=True,
        timeout=150,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    seen: dict[str, dict[str, Any]] = json.loads(done.stdout)
    assert len(seen["expected"]) == 19
    assert seen["offered"].keys() == seen["expected"].keys()
    for name, offered in seen["offered"].items():
        assert offered == seen["expected"][name], name
