"""One request between its body and its answer."""

from __future__ import annotations

import threading
import time
from typing import TYPE_CHECKING, Protocol

from . import http
from .checks import Admitted

if TYPE_CHECKING:
    from ..tools.context import Context, StopReason
    from .protocol import ToolCall

__all__ = ["Exchange", "Reply"]


class Reply(Protocol):
    """Where the answer goes: one connection."""

    def reply(self, answer: http.Answer, *, close: bool = False) -> None:
        """Send the answer, from any thread."""
        ...


class Exchange:
    """A request whose body has arrived.

    It is answered by whoever claims it first: its worker, its deadline, its
    disconnect or the listener's close.

    Args:
        admitted: The request's head.
        body: Its body.
        channel: Where the answer goes.
        seconds: How long it may take, until its tool is known.
    """

    __slots__ = (
        "_claim",
        "admitted",
        "arrived",
        "body",
        "call",
        "channel",
        "context",
        "deadline",
    )

    def __init__(self, admitted: Admitted, body: bytes, channel: Reply, seconds: float) -> None:
        self.admitted = admitted
        self.body = body
        self.channel = channel
        self.arrived = time.monotonic()
        self.deadline = self.arrived + seconds
        self.call: ToolCall | None = None
        self.context: Context | None = None
        self._claim = threading.Lock()

    @property
    def claimed(self) -> bool:
        """Whether somebody has claimed it."""
        return self._claim.locked()

    def claim(self) -> bool:
        """Take the one right to answer; ``False`` when it is taken."""
        return self._claim.acquire(blocking=False)

    def cancel(self, reason: StopReason = "canceled") -> None:
        """Tell its handler, if there is one, that nobody waits any more."""
        if self.context is not None:
            self.context.cancel(reason)
