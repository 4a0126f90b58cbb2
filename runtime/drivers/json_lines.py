"""What a process prints, told apart: JSON records, and lines that are none."""

from __future__ import annotations

import json
from typing import Any, cast

__all__ = ["JsonLines"]

_SHOWN = 2000
_BLANK = " \t\r\n"
# What `json.loads` does around it takes as long as a short record itself.
_decode = json.JSONDecoder().raw_decode


class JsonLines:
    """Decodes one record a line, and remembers whether one was broken."""

    def __init__(self) -> None:
        self._last_is_broken = False
        self._broken = False

    def take(self, line: str) -> dict[str, Any] | str | None:
        """Return a line's record, or a line that is none, shortened.

        Returns:
            ``None`` for a blank line, and for one that begins like a record
            and can't be decoded; `broken` tells of the latter.
        """
        begins = line.startswith("{")
        if not begins and not line.strip():
            return None
        self._broken = self._broken or self._last_is_broken
        self._last_is_broken = False
        if not begins:
            return line[:_SHOWN]
        record = _record(line)
        self._last_is_broken = record is None
        return record

    def broken(self, *, died: bool) -> bool:
        """Tell whether the process printed something that is not valid JSON.

        Args:
            died: Whether it died before it was done, which may tear its last
                line; that is no fault of its own.
        """
        return self._broken or (self._last_is_broken and not died)


def _record(line: str) -> dict[str, Any] | None:
    try:
        record, end = _decode(line)
    except (ValueError, RecursionError):
        return None
    whole = end == len(line) or not line[end:].strip(_BLANK)
    return cast("dict[str, Any]", record) if whole else None
