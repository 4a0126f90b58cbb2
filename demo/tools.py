"""The demonstration's tool: a typed function over a small file of issues."""

from __future__ import annotations

from dataclasses import dataclass

from .. import tool
from ..data import load_issues

__all__ = ["Issue", "lookup_issue"]


@dataclass
class Issue:
    """What the tool tells of an issue."""

    key: str
    """Its key."""
    title: str
    """What it is about."""
    state: str
    """``open`` or ``closed``."""


@tool.define(title="Issue lookup", read_only=True, idempotent=True, revision="v1")
def lookup_issue(key: str) -> Issue:
    """Look up one issue by its key.

    Args:
        key: The issue's key, such as ISSUE-42.
    """
    found = load_issues().get(key)
    if found is None:
        advice = "Choose the key of an issue that exists, such as ISSUE-42."
        raise tool.reject("not_found", advice)
    return Issue(key=key, title=found["title"], state=found["state"])
