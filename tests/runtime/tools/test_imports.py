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


HALF_LOADED = """
import sys
import pydantic, attr, marshmallow
from dataclasses import dataclass
from typing import Annotated
from toolcrib import tool

@dataclass
class Inner:
    a: Annotated[int, "A."]

@tool.define
def take(inner: Annotated[Inner, "In."]) -> None:
    "Take."

take.invoke({"a": 1})
print("pydantic.main" in sys.modules)
"""


def test_a_class_needs_none_of_the_libraries_that_it_does_not_use() -> None:
    bare = HALF_LOADED.replace("import pydantic, attr, marshmallow\n", "")
    bare += "print({'pydantic', 'attr', 'marshmallow'} & sys.modules.keys())\n"
    done = subprocess.run(
        [sys.executable, "-c", bare], capture_output=True, text=True, timeout=30, check=True
    )
    assert done.stdout == "False\nset()\n"


def test_a_library_that_nothing_of_the_tool_uses_is_loaded_no_further() -> None:
    done = subprocess.run(
        [sys.executable, "-c", HALF_LOADED], capture_output=True, text=True, timeout=30, check=True
    )
    assert done.stdout == "False\n"


def test_libraries_are_loaded_by_what_needs_them() -> None:
    done = subprocess.run(
        [sys.executable, "-c", SCRIPT], capture_output=True, text=True, timeout=30, check=True
    )
    imported, defined, invoked, refused = done.stdout.splitlines()
    assert imported == ""
    assert defined == "docstring_parser"
    assert invoked == "docstring_parser jsonschema_rs"
    assert refused == "docstring_parser jsonschema jsonschema_rs"
