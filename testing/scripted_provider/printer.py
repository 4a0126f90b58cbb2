"""Printing lines on standard output."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any, BinaryIO

__all__ = ["Printer"]


class Printer:
    """Prints lines and flushes each, as the real CLIs do.

    Args:
        stream: Where to, such as ``sys.stdout.buffer``.
    """

    def __init__(self, stream: BinaryIO) -> None:
        self._stream = stream

    def line(self, text: str) -> None:
        """Print one line as it is."""
        # A lone surrogate comes out as a JSON escape, like JSON.stringify does.
        self._stream.write(text.encode("utf-8", "backslashreplace") + b"\n")
        self._stream.flush()

    def record(self, record: Mapping[str, Any]) -> None:
        """Print one record as compact JSON."""
        self.line(json.dumps(record, ensure_ascii=False, separators=(",", ":")))
