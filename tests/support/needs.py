"""A test that needs more than the machine has is skipped, and says so."""

from __future__ import annotations

import pytest

__all__ = ["need"]


def need(found: object, what: str) -> None:
    """Skip where the machine lacks something: ``need(found, "Node.js")``."""
    if not found:
        pytest.skip(f"this machine lacks {what}")
