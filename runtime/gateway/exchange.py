"""One request between its body and its answer."""

from __future__ import annotations

import math
import threading
import time
from typing import TYPE_CHECKING, Final, Protocol

from . import http
from .checks import Admitted
from .limits import Limits

if TYPE_CHECKING:
    from ..tools.context import Context, StopReason
    from .protocol import Request, ToolCall

__all__ = ["FAILURES", "Exchange", "Reply"]

FAILURES: Final = {
    "canceled": "The call was canceled.",
    "deadline_exceeded": "The tool did not finish before its deadline.",
    "internal_error": "The tool failed.",
}
"""What a model is told of a call that its tool did not answer, by code."""


class Reply(Protocol):
    """Where the answer goes: one connection."""

    def reply(self, answer: http.Answer, *, close: bool = False) -> None:
        """Send the answer, from any thread."""
        ...

    def push(self, exchange: Exchange, data: bytes) -> None:
        """Send a piece of an event stream, from any thread; slow clients miss it."""
        ...


class Exchange:
    """A request whose body has arrived.

    It is answered by whoever claims it first: its worker, its deadline, its
    disconnect or the listener's close.

    Args:
        admitted: The request's head.
        body: Its body.
        channel: Where the answer goes.
        limits: How long it may take, until its tool is known.
        streams: Whether its client accepts an event stream.
    """

    __slots__ = (
        "_claim",
        "admitted",
        "arrived",
        "beat",
        "body",
        "call",
        "channel",
        "context",
        "deadline",
        "limits",
        "request",
        "streams",
    )

    def __init__(
        self, admitted: Admitted, body: bytes, channel: Reply, limits: Limits, *, streams: bool
    ) -> None:
        self.admitted = admitted
        self.body = body
        self.channel = channel
        self.arrived = time.monotonic()
        self.limits = limits
        self.streams = streams
        self.deadline = self.deadline_of(limits.deadline)
        # When its client has to hear that it goes on.
        self.beat = self.arrived + limits.stream_after if streams else math.inf
        self.request: Request | None = None
        self.call: ToolCall | None = None
        self.context: Context | None = None
        self._claim = threading.Lock()

    def deadline_of(self, seconds: float) -> float:
        """Return when it ends that may take so long; a silent one ends earlier."""
        return self.arrived + (seconds if self.streams else min(seconds, self.limits.silence))

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
