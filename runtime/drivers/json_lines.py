"""What a process prints, told apart: JSON records, and lines that are none."""

from __future__ import annotations

import json
from typing import Any

__all__ = ["JsonLines"]

_SHOWN = 2000


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
        if not line.strip():
            return None
        self._broken = self._broken or self._last_is_broken
        self._last_is_broken = False
        if not line.startswith("{"):
            return line[:_SHOWN]
        try:
            value = json.loads(line)
        except (ValueError, RecursionError):
            value = None
        if isinstance(value, dict):
            return value
        self._last_is_broken = True
        return None

    def broken(self, *, died: bool) -> bool:
        """Tell whether the process printed something that is not valid JSON.

        Args:
            died: Whether it died before it was done, which may tear its last
                line; that is no fault of its own.
        """
        return self._broken or (self._last_is_broken and not died)
