"""Cursor: its CLI can't be had here, but the agent runtime of its own SDK can."""

from __future__ import annotations

import sys

import pytest
from ahead import Ahead, begun

from .conftest import Scene, binary, play

pytestmark = [pytest.mark.slow, pytest.mark.timeout(120)]


@begun
def listed(ahead: Ahead) -> Scene:
    binary("cursor-sdk")
    return play(
        ahead,
        "cursor-sdk",
        found=True,
        runtime=[sys.executable, "-P", "-m", "staging.cursor_runtime"],
        hosts=[{"turns": [{"prompt": "List your tools."}]}],
    )


def test_cursors_runtime_finds_our_server_in_the_file_that_the_driver_writes(
    listed: Scene,
) -> None:
    assert listed.turn["error"] is None, listed.turn["error"]
    methods = [request["method"] for request in listed.wire if request["verb"] == "POST"]
    assert methods[0] == "initialize"
    assert "tools/list" in methods
    assert {request["authorization"] for request in listed.wire} == {f"Bearer {listed.host.token}"}
    assert listed.wire[0]["params"]["clientInfo"]["name"] == "Cursor"
    assert listed.source_changes == []
    assert listed.host.leaks == []
