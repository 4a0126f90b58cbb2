"""What the gateway costs before its first answer: time and memory of new interpreters."""

from __future__ import annotations

import json
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

from .measuring import started

__all__ = ["Start", "start"]

_FIRST_ANSWER = Path(__file__).with_name("gateway_first_answer.py")
_IMPORT_MCP = """
import time
began = time.perf_counter()
import mcp
took = time.perf_counter() - began
import json, psutil
print(json.dumps({"took": took, "memory": psutil.Process().memory_info().rss / 2**20}))
"""


@dataclass(frozen=True, slots=True)
class Start:
    """The best of several rounds."""

    empty: float
    """An empty interpreter, in seconds."""
    imports: float
    """An interpreter that imports toolcrib, in seconds more than that."""
    listening: float
    """From the first need of a listener to its socket, in seconds."""
    listening_since_import: float
    """From the start of `import toolcrib` to the socket, in seconds."""
    answered: float
    """From the socket to the first answer, in seconds."""
    answered_since_import: float
    """From the start of `import toolcrib` to the first answer, in seconds."""
    mcp: float
    """`import mcp` alone, in seconds."""
    memory: float
    """Memory after the first answer, in MiB."""
    mcp_memory: float
    """Memory after `import mcp` alone, in MiB."""


def start(rounds: int) -> Start:
    """Measure in new interpreters; other load only adds, so the best round counts."""
    ours: list[dict[str, float]] = []
    theirs: list[dict[str, float]] = []
    for _ in range(rounds):
        ours.append(_run(str(_FIRST_ANSWER)))
        theirs.append(_run("-c", _IMPORT_MCP))
    empty = started("pass", rounds=rounds)
    return Start(
        empty=empty,
        imports=started("import toolcrib", rounds=rounds) - empty,
        listening=min(one["listening"] - one["needed"] for one in ours),
        listening_since_import=min(one["listening"] for one in ours),
        answered=min(one["answered"] - one["listening"] for one in ours),
        answered_since_import=min(one["answered"] for one in ours),
        mcp=min(one["took"] for one in theirs),
        memory=min(one["memory"] for one in ours),
        mcp_memory=min(one["memory"] for one in theirs),
    )


def _run(*arguments: str) -> dict[str, float]:
    done = subprocess.run([sys.executable, *arguments], capture_output=True, text=True, check=True)
    figures: dict[str, float] = json.loads(done.stdout)
    return figures
