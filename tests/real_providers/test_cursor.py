"""Cursor: its CLI can't be had here, but the agent runtime of its own SDK can."""

from __future__ import annotations

import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from .conftest import Play

pytestmark = [pytest.mark.slow, pytest.mark.timeout(120)]


def test_cursors_runtime_finds_our_server_in_the_file_that_the_driver_writes(
    play: Play, binary: Callable[[str], Path]
) -> None:
    binary("cursor-sdk")
    scene = play(
        "cursor-sdk",
        found=True,
        runtime=[sys.executable, "-P", "-m", "staging.cursor_runtime"],
        hosts=[{"turns": [{"prompt": "List your tools."}]}],
    )

    assert scene.turn["error"] is None, scene.turn["error"]
    methods = [request["method"] for request in scene.wire if request["verb"] == "POST"]
    assert methods[0] == "initialize"
    assert "tools/list" in methods
    assert {request["authorization"] for request in scene.wire} == {f"Bearer {scene.host.token}"}
    assert scene.wire[0]["params"]["clientInfo"]["name"] == "Cursor"
    assert scene.source_changes == []
    assert scene.host.leaks == []
