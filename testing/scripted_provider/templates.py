"""Names in double braces, which a script's strings may hold."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping
from typing import Any

__all__ = ["ROOTS", "fill", "fill_text", "unknown_roots"]

ROOTS = (
    "prompt",
    "match",
    "results",
    "error",
    "turn",
    "history",
    "session_id",
    "options",
    "env",
)
"""The first words of all names."""

_NAME = re.compile(r"\{\{\s*([A-Za-z_][\w.\-]*)\s*\}\}")


def unknown_roots(value: object) -> Iterator[str]:
    """Yield every name in the value's strings whose first word is not known."""
    if isinstance(value, str):
        yield from (name for name in _NAME.findall(value) if name.split(".")[0] not in ROOTS)
    elif isinstance(value, dict):
        for item in value.values():
            yield from unknown_roots(item)
    elif isinstance(value, list):
        for item in value:
            yield from unknown_roots(item)


def fill(value: Any, scope: Mapping[str, Any]) -> Any:
    """Return the value with all names in its strings replaced.

    A string that is one name and nothing else becomes the value itself, of
    whatever type; a name within a longer string becomes text.

    Args:
        value: Any JSON value.
        scope: What the names mean.

    Raises:
        LookupError: A name means nothing; its argument is the name.
    """
    if isinstance(value, str):
        whole = _NAME.fullmatch(value)
        if whole:
            return _look_up(whole[1], scope)
        return _NAME.sub(lambda match: _text(_look_up(match[1], scope)), value)
    if isinstance(value, dict):
        return {key: fill(item, scope) for key, item in value.items()}
    if isinstance(value, list):
        return [fill(item, scope) for item in value]
    return value


def fill_text(value: str, scope: Mapping[str, Any]) -> str:
    """Return the string with all names replaced, as text in any case.

    Raises:
        LookupError: A name means nothing; its argument is the name.
    """
    return _text(fill(value, scope))


def _look_up(name: str, scope: Mapping[str, Any]) -> Any:
    found: Any = scope
    root, *rest = name.split(".")
    if root == "env" and len(rest) == 1:
        return scope["env"].get(rest[0], "")
    for part in (root, *rest):
        try:
            found = found[int(part)] if isinstance(found, list) else found[part]
        except (LookupError, TypeError, ValueError):
            raise LookupError(name) from None
    return found


def _text(value: object) -> str:
    if isinstance(value, str):
        return value
    return json.dumps(value, ensure_ascii=False, separators=(",", ":"))
