"""Types are told apart while other threads load the libraries that define some."""

from __future__ import annotations

import subprocess
import sys

import pytest

SCRIPT = """
import sys, types
for name in {names!r}:
    assert name not in sys.modules
    sys.modules[name] = types.ModuleType(name)  # as another thread's import leaves it
from dataclasses import dataclass
from typing import Annotated
from toolcrib import tool

@dataclass
class Key:
    name: Annotated[str, "a note"]

def look(key: Key) -> str:
    "Look."
    return key.name

print(tool.define(look).input_schema["properties"].keys())
"""


@pytest.mark.parametrize(
    "names", [["pydantic.main", "pydantic.fields"], ["attr"], ["marshmallow"]]
)
def test_a_library_that_is_being_loaded_breaks_no_definition(names: list[str]) -> None:
    done = subprocess.run(
        [sys.executable, "-c", SCRIPT.format(names=names)],
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )

    assert (done.returncode, done.stdout) == (0, "dict_keys(['name'])\n"), done.stderr
