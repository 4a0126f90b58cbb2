"""The tokens of one turn, out of counts that run on over a whole conversation."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from ....messages.results import Usage

__all__ = ["spent", "usage_since"]

_MARK = b'"token_count"'


def spent(rollout: Path) -> Mapping[str, Any] | None:
    """Return the counts that a conversation's file ends with, ``None`` where it has none."""
    counts = None
    try:
        with rollout.open("rb") as file:
            for line in file:
                if _MARK in line:
                    counts = _total(line) or counts
    except OSError:
        return None
    return counts


def usage_since(before: Mapping[str, Any] | None, after: Any) -> Usage | None:
    """Return what a turn used, ``None`` where that can't be told.

    Args:
        before: The conversation's counts before the turn; ``None`` is unknown.
        after: The ``usage`` of the turn's terminal record.
    """
    if before is None or not isinstance(after, dict):
        return None
    usage = Usage(
        input_tokens=_difference(before, after, "input_tokens"),
        output_tokens=_difference(before, after, "output_tokens"),
        cached_tokens=_difference(before, after, "cached_input_tokens"),
    )
    return None if usage == Usage() else usage


def _total(line: bytes) -> Mapping[str, Any] | None:
    try:
        payload = json.loads(line)["payload"]
        total = payload["info"]["total_token_usage"] if payload["type"] == "token_count" else None
    except (ValueError, LookupError, TypeError, RecursionError):
        return None
    return total if isinstance(total, dict) else None


def _difference(before: Mapping[str, Any], after: Mapping[str, Any], name: str) -> int | None:
    old, new = before.get(name, 0), after.get(name)
    if not _is_count(old) or not _is_count(new):
        return None
    return new - old if new >= old else None


def _is_count(value: Any) -> bool:
    return isinstance(value, int) and not isinstance(value, bool) and value >= 0
