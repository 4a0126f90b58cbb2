"""What importing and defining load, and what waits until it is needed."""

from __future__ import annotations

import subprocess
import sys

SCRIPT = """
import sys
HEAVY = "asyncio docstring_parser jsonschema jsonschema_rs marshmallow mcp pydantic pykka werkzeug"

def loaded():
    print(*[name for name in HEAVY.split() if name in sys.modules])

from toolcrib import tool
loaded()

@tool.define
def add(a: int, b: int = 2) -> int:
    "Add."
    return a + b

loaded()
add.invoke({"a": 1})
loaded()
try:
    add.invoke({})
except Exception as error:
    loaded()
"""


def test_libraries_are_loaded_by_what_needs_them() -> None:
    done = subprocess.run(
        [sys.executable, "-c", SCRIPT], capture_output=True, text=True, timeout=30, check=True
    )
    imported, defined, invoked, refused = done.stdout.splitlines()
    assert imported == ""
    assert defined == "docstring_parser"
    assert invoked == "docstring_parser jsonschema_rs"
    assert refused == "docstring_parser jsonschema jsonschema_rs"
