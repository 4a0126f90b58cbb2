"""A host that ignores SIGCHLD: the system throws exit codes away, and nobody invents one."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

HOST = """
import json, signal, sys
from pathlib import Path
from toolcrib import Agent, ProcessInfo, RunError
from toolcrib.testing import scripted_claude, scripted_cursor

if sys.argv[1] == "ignored":
    signal.signal(signal.SIGCHLD, signal.SIG_IGN)
folder = Path(sys.argv[2])
make = {"cursor": scripted_cursor, "claude": scripted_claude}[sys.argv[3]]
driver = make({"turns": [{"steps": json.loads(sys.argv[4])}]}, directory=folder)
with Agent(driver, workspace=folder) as agent:
    stream = agent.stream("hello")
    events = list(stream)
    try:
        result, error = stream.result(), ""
    except RunError as failure:
        result, error = failure.result, f"{failure.reason}: {failure}"
codes = [event.exit_code for event in events if getattr(event, "kind", "") == "exited"]
print(json.dumps({"code": result.exit_code, "told": codes, "text": result.text, "error": error}))
"""


def outcome(mode: str, folder: Path, driver: str, *steps: dict[str, Any]) -> dict[str, Any]:
    host = subprocess.run(
        [sys.executable, "-c", HOST, mode, str(folder), driver, json.dumps(steps)],
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    assert host.returncode == 0, host.stderr
    assert host.stderr == ""
    told: dict[str, Any] = json.loads(host.stdout)
    return told


@pytest.mark.parametrize("driver", ["cursor", "claude"])
def test_an_exit_code_that_is_lost_is_called_unknown(tmp_path: Path, driver: str) -> None:
    told = outcome("ignored", tmp_path, driver, {"say": "Well."}, {"exit": 3})
    assert (told["code"], told["told"]) == (None, [None])
    assert told["error"].startswith("provider_died: ")
    assert "exit code unknown" in told["error"]

    told = outcome("as usual", tmp_path, driver, {"say": "Well."}, {"exit": 3})
    assert (told["code"], told["told"]) == (3, [3])
    assert "exit code 3" in told["error"]


@pytest.mark.parametrize("driver", ["cursor", "claude"])
def test_a_turn_that_succeeded_does_so_without_its_exit_code(tmp_path: Path, driver: str) -> None:
    told = outcome("ignored", tmp_path, driver, {"say": "Well."})
    assert told == {"code": None, "told": [None], "text": "Well.", "error": ""}
