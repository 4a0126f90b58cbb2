"""The example and the tables of `docs/testing.md`."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import pytest

from toolcrib.testing.scripted_provider.script import VERBS
from toolcrib.testing.scripted_provider.templates import ROOTS

DEADLINE = 30.0
GUIDE = (Path(__file__).parents[2] / "docs" / "testing.md").read_text(encoding="utf-8")


PREAMBLE = """
import pathlib
from dataclasses import dataclass
from toolcrib import tool

@dataclass
class Issue:
    title: str
    state: str

def look_up(key: str) -> Issue:
    return Issue(title=f"About {key}", state="open")

lookup_issue = tool.define("lookup_issue", "Look up one issue by key.", look_up)
"""


@pytest.mark.parametrize("helper", ["scripted_cursor", "scripted_claude"])
def test_the_example_runs_as_it_is_printed(tmp_path: Path, helper: str) -> None:
    (example,) = re.findall(rf"```python\n([^`]*import {helper}\n.*?)```", GUIDE, re.DOTALL)
    (name,) = re.findall(r"def (test_\w+)", example)

    ended = subprocess.run(
        [sys.executable, "-W", "error", "-c", f"{PREAMBLE}\n{example}\n{name}(pathlib.Path())"],
        capture_output=True,
        text=True,
        cwd=tmp_path,
        timeout=DEADLINE,
        check=False,
    )

    assert (ended.returncode, ended.stdout, ended.stderr) == (0, "", "")


def test_every_step_its_options_and_every_name_is_in_the_guide() -> None:
    documented: dict[str, set[str]] = {}
    for line in re.findall(r"^\| `\{(\".*?)\}` \|", GUIDE, re.MULTILINE):
        verb, *options = re.findall(r'"(\w+)":', line)
        documented.setdefault(verb, set()).update(options)

    assert documented == {verb: set(options) for verb, (_, options) in VERBS.items()}
    assert set(re.findall(r"^\| `\{\{(\w+)", GUIDE, re.MULTILINE)) == set(ROOTS)
