"""A long call's answer as a stream of events, piece by piece.

The pieces are chunks of HTTP/1.1, so that the connection outlives the stream.
"""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from ..tools.context import Progress

__all__ = ["END", "KEEP_ALIVE", "ProgressEvents", "event"]

# Line ends of Unicode, at which some clients wrongly cut a line of data. In JSON they
# are only ever inside a string.
_LINE_ENDS: Final = (
    ("\u0085".encode(), b"\\u0085"),
    ("\u2028".encode(), b"\\u2028"),
    ("\u2029".encode(), b"\\u2029"),
)


def _chunk(data: bytes) -> bytes:
    return b"%x\r\n%b\r\n" % (len(data), data)


KEEP_ALIVE: Final = _chunk(b": still running\n\n")
"""A comment, which says that the call goes on."""
END: Final = _chunk(b"")
"""What ends a stream."""


def event(message: bytes) -> bytes:
    """Return the event that carries a JSON-RPC message."""
    for line_end, escaped in _LINE_ENDS:
        message = message.replace(line_end, escaped)
    return _chunk(b"event: message\ndata: %b\n\n" % message)


class ProgressEvents:
    """Passes a call's reports of progress on, as far as they grow.

    The protocol wants each to be more than the one before. A handler's threads may
    report at the same time, and in any order.

    Args:
        write: Returns the message that carries a report.
        push: Sends an event, and never blocks.
    """

    def __init__(
        self, write: Callable[[Progress], bytes], push: Callable[[bytes], object]
    ) -> None:
        self._write = write
        self._push = push
        self._lock = threading.Lock()
        self._done = float("-inf")

    def __call__(self, report: Progress) -> None:
        """Pass a report on, on the thread that reports."""
        data = event(self._write(report))
        with self._lock:
            if report.done > self._done:
                self._done = report.done
                self._push(data)
