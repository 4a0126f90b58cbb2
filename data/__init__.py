"""What the demo needs: a few issues, and the script that its provider plays."""

from __future__ import annotations

import json
from importlib import resources
from typing import Any

__all__ = ["load_demo_script", "load_issues"]


def load_issues() -> dict[str, dict[str, Any]]:
    """Return the demo's issues by key; each call gives fresh values."""
    issues: list[dict[str, Any]] = _load("issues.json")
    return {issue["key"]: issue for issue in issues}


def load_demo_script() -> dict[str, Any]:
    """Return the demo's script for `toolcrib.testing.scripted_cursor`."""
    script: dict[str, Any] = _load("demo_script.json")
    return script


def _load(name: str) -> Any:
    return json.loads(resources.files(__name__).joinpath(name).read_text(encoding="utf-8"))
