"""Other libraries in environments of their own, since they bring what conflicts or is heavy."""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
import venv
from pathlib import Path
from typing import Any

__all__ = ["PEERS", "measured_peer", "node_environment", "python_environment"]

_HERE = Path(__file__).parent
_CACHE = _HERE.parent.parent / ".cache" / "bench"

PEERS = {"fastmcp": "fastmcp", "pydantic-ai": "pydantic-ai-slim"}
"""What is compared with, and the package that has it."""


def measured_peer(name: str, *, rounds: int = 5, calls: int = 300) -> dict[str, Any] | None:
    """Return a peer's version and seconds a call; ``None`` where it can't be installed."""
    python = python_environment(name, PEERS[name])
    if python is None:
        return None
    script = _HERE / f"{name.replace('-', '_')}_echo.py"
    done = subprocess.run(
        [python, script, str(rounds), str(calls)], capture_output=True, text=True, check=True
    )
    result: dict[str, Any] = json.loads(done.stdout.splitlines()[-1])
    return result


def python_environment(name: str, *packages: str) -> Path | None:
    """Return the interpreter of an environment with these packages, made once.

    ``None`` where they can't be installed, which is said.
    """
    folder = _CACHE / name
    python = folder / "bin" / "python"
    if not (folder / ".ready").exists():
        venv.create(folder, with_pip=True, clear=True)
        if not _installed(name, [python, "-m", "pip", "install", "--quiet", *packages]):
            return None
        (folder / ".ready").touch()
    return python


def node_environment(name: str, *packages: str) -> Path | None:
    """Return the folder of an environment of npm's with these packages, made once.

    ``None`` where they can't be installed, which is said.
    """
    folder = _CACHE / name
    if not (folder / ".ready").exists():
        npm = shutil.which("npm") or "npm"
        shutil.rmtree(folder, ignore_errors=True)
        folder.mkdir(parents=True)
        quiet = ["--silent", "--no-audit", "--no-fund"]
        if not _installed(name, [npm, "install", "--prefix", folder, *quiet, *packages]):
            return None
        (folder / ".ready").touch()
    return folder


def _installed(name: str, command: list[str | Path]) -> bool:
    try:
        done = subprocess.run(command, check=False).returncode == 0
    except FileNotFoundError:
        done = False
    if not done:
        print(
            f"SKIPPED: {name} can't be installed here, so nothing is compared with it",
            file=sys.stderr,
        )
    return done
