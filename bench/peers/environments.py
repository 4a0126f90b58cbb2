"""Other libraries in environments of their own, since they bring what conflicts or is heavy."""

from __future__ import annotations

import json
import subprocess
import sys
import venv
from pathlib import Path
from typing import Any

__all__ = ["PEERS", "measured_peer"]

_HERE = Path(__file__).parent
_CACHE = _HERE.parent.parent / ".cache" / "bench"

PEERS = {"fastmcp": "fastmcp", "pydantic-ai": "pydantic-ai-slim"}
"""What is compared with, and the package that has it."""


def measured_peer(name: str, *, rounds: int = 5, calls: int = 300) -> dict[str, Any] | None:
    """Return a peer's version and seconds a call; ``None`` where it can't be installed."""
    python = _CACHE / name / "bin" / "python"
    ready = _CACHE / name / ".ready"
    if not ready.exists() and not _installed(name, python):
        return None
    ready.touch()
    script = _HERE / f"{name.replace('-', '_')}_echo.py"
    done = subprocess.run(
        [python, script, str(rounds), str(calls)], capture_output=True, text=True, check=True
    )
    result: dict[str, Any] = json.loads(done.stdout.splitlines()[-1])
    return result


def _installed(name: str, python: Path) -> bool:
    venv.create(python.parent.parent, with_pip=True, clear=True)
    done = subprocess.run([python, "-m", "pip", "install", "--quiet", PEERS[name]], check=False)
    if done.returncode:
        print(
            f"SKIPPED: {name} can't be installed here, so nothing is compared with it",
            file=sys.stderr,
        )
    return done.returncode == 0
