"""Recorded text without what differs from one run to the next."""

from __future__ import annotations

import re

__all__ = ["base_name", "normal_text"]

_HEX_ID = r"(?=[0-9a-fA-F]*\d)[0-9a-fA-F]{8,}"
_VOLATILE = tuple(
    (re.compile(pattern), replacement)
    for pattern, replacement in (
        (r"\d{4}-\d\d-\d\d[T ]\d\d:\d\d(:\d\d(\.\d+)?)?(Z|[+-]\d\d:\d\d)?", "{time}"),
        (r"[0-9a-fA-F]{8}(-[0-9a-fA-F]{4}){3}-[0-9a-fA-F]{12}", "{id}"),
        (r"(127\.0\.0\.1|localhost):\d+", r"\1:{port}"),
        # An absolute path starts the text or follows what no URL has before a slash.
        (r"(?:(?<=^)|(?<=[\s(='\",]))/[^\s,)'\"]+", "{path}"),
        (rf"(?<![0-9A-Za-z]){_HEX_ID}(?![0-9A-Za-z])", "{id}"),
        (r"\b(run[-_])(\d+|\{id\})", r"\1{id}"),
        (r"\b(pid|port)([ =:]+)\d+", r"\1\2{\1}"),
    )
)
_NUMBERED = re.compile(rf"[-_ #:](?:run[-_])?(?:\d+|{_HEX_ID})$")


def normal_text(text: str) -> str:
    """Return the text with ids, paths, ports, process ids and times replaced.

    Each is replaced by what it is, in braces, such as ``{path}``.
    """
    for pattern, replacement in _VOLATILE:
        text = pattern.sub(replacement, text)
    return text


def base_name(name: str) -> str:
    """Return an actor's name without the number or id at its end: ``run-1`` is ``run``."""
    return _NUMBERED.sub("", name)
