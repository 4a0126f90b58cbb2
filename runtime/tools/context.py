"""What a handler may ask about the call that it serves."""

from __future__ import annotations

import logging
import math
import threading
import time
from collections.abc import Callable
from concurrent.futures import CancelledError
from dataclasses import dataclass
from typing import Literal, overload

from ...messages.numbers import checked_wait

__all__ = ["Context", "Progress", "StopReason", "when_cancelled"]

StopReason = Literal["canceled", "deadline_exceeded"]
"""Why a call should stop."""

_log = logging.getLogger("toolcrib.tools")
# One lock for all contexts: it is held for a few instructions only, and a call
# that nobody waits on then costs no lock and no event of its own. Reentrant, since
# a finalizer or a signal handler of the host may cancel in the middle of them.
_lock = threading.RLock()


@dataclass(frozen=True, slots=True)
class Progress:
    """How far a handler has come."""

    done: float
    """How much is done, in a unit of the handler's choice."""
    total: float | None
    """How much there is to do; ``None`` where that is not known."""
    message: str | None
    """What is going on."""


class Context:
    """A call's deadline and cancellation; safe to use from any thread.

    A handler gets it through a parameter annotated ``tool.Context``. When the
    client disconnects or cancels, when the Agent closes, or when the deadline
    passes, a sync handler sees `cancelled` turn true and should return soon;
    an async handler's task is cancelled.

    Args:
        tool_name: The name of the tool that is called.
        deadline_at: When the call should be over, in seconds of
            `time.monotonic`; ``None`` for never.
        on_progress: Gets what the handler reports, on the thread that reports
            it, and must not block. What it raises is logged. By default the
            reports go nowhere.
    """

    __slots__ = ("_callbacks", "_deadline_at", "_event", "_on_progress", "_reason", "_tool_name")

    def __init__(
        self,
        tool_name: str,
        deadline_at: float | None = None,
        *,
        on_progress: Callable[[Progress], object] | None = None,
    ) -> None:
        self._tool_name = tool_name
        self._deadline_at = deadline_at
        self._on_progress = on_progress
        self._reason: StopReason | None = None
        self._event: threading.Event | None = None
        self._callbacks: list[Callable[[], object]] | None = None

    @property
    def tool_name(self) -> str:
        """The name of the tool that is called."""
        return self._tool_name

    @property
    def deadline(self) -> float | None:
        """The seconds left, never below zero; ``None`` without a deadline."""
        if self._deadline_at is None:
            return None
        return max(0.0, self._deadline_at - time.monotonic())

    @property
    def reason(self) -> StopReason | None:
        """Why the call should stop; ``None`` while it may go on."""
        if self._reason is not None:
            return self._reason
        return "deadline_exceeded" if self.deadline == 0 else None

    @property
    def cancelled(self) -> bool:
        """Whether the handler should stop: cancelled, or past its deadline."""
        due = self._deadline_at
        return self._reason is not None or (due is not None and time.monotonic() >= due)

    def raise_if_cancelled(self) -> None:
        """Stop here if the call should stop.

        Raises:
            concurrent.futures.CancelledError: The call was cancelled.
            TimeoutError: The call's deadline has passed.
        """
        reason = self.reason
        if reason == "deadline_exceeded":
            msg = f"The deadline of this call of {self._tool_name} has passed; return."
            raise TimeoutError(msg)
        if reason is not None:
            msg = f"This call of {self._tool_name} was cancelled; return."
            raise CancelledError(msg)

    def progress(
        self, done: float, total: float | None = None, message: str | None = None
    ) -> None:
        """Report how far the handler has come; costs little where nobody listens.

        The gateway passes it on to a provider that asked for progress and accepts
        event streams, unless it is no more than the report before, or the provider
        has not yet read that one.

        Args:
            done: How much is done, in any unit; should grow from report to report.
            total: How much there is to do, in the same unit, where it is known.
            message: What is going on, for people.

        Raises:
            TypeError: A number is none, or the message is no text.
            ValueError: A number is not finite.
        """
        report = Progress(_checked("done", done), _checked("total", total), message)
        if not (message is None or isinstance(message, str)):
            msg = f"progress: message must be text, not {type(message).__name__}"
            raise TypeError(msg)
        if self._on_progress is None or self.cancelled:
            return
        try:
            self._on_progress(report)
        except Exception:
            _log.exception("what listens to the progress of tool %s failed", self._tool_name)

    def wait_cancelled(self, timeout: float | None = None) -> bool:
        """Wait until the call should stop; for sync handlers that have to wait.

        Args:
            timeout: The longest to wait, in seconds; ``None`` for as long as
                it takes.

        Returns:
            Whether the call should stop.

        Raises:
            TypeError: The timeout is no number.
            ValueError: It is negative, or not a number (NaN).
        """
        own = None if timeout is None else checked_wait("timeout", timeout)
        with _lock:
            if self._event is None:
                self._event = threading.Event()
                if self._reason is not None:
                    self._event.set()
        limits = [limit for limit in (own, self.deadline) if limit is not None]
        self._event.wait(min(*limits, threading.TIMEOUT_MAX) if limits else None)
        return self.cancelled

    def cancel(self, reason: StopReason = "canceled") -> None:
        """Ask the handler to stop, at once; for the host's side of the call.

        The first reason stays.
        """
        with _lock:
            if self._reason is not None:
                return
            self._reason = reason
            callbacks, self._callbacks = self._callbacks or [], None
            event = self._event
        if event is not None:
            event.set()
        for callback in callbacks:
            callback()

    def _forget(self, callback: Callable[[], object]) -> None:
        with _lock:
            kept = [known for known in self._callbacks or () if known is not callback]
            self._callbacks = kept or None


def when_cancelled(context: Context, callback: Callable[[], object]) -> Callable[[], None]:
    """Call back once when a call is cancelled; at once if it already is.

    For the code that runs handlers, and no method of `Context`: the thread that
    cancels is the gateway's or an actor's, which nothing of a host's may hold up.
    A deadline that passes calls back when it is reported by `Context.cancel`.

    Args:
        context: The call.
        callback: Runs in the thread that cancels; must neither block nor raise.

    Returns:
        A function that takes the callback back; harmless afterwards.
    """
    with _lock:
        waiting = context._reason is None
        if waiting:
            context._callbacks = [*(context._callbacks or ()), callback]
    if not waiting:
        callback()
    return lambda: context._forget(callback)


@overload
def _checked(name: str, number: float) -> float: ...
@overload
def _checked(name: str, number: float | None) -> float | None: ...
def _checked(name: str, number: float | None) -> float | None:
    if number is None and name == "total":
        return None
    if isinstance(number, bool) or not isinstance(number, int | float):
        msg = f"progress: {name} must be a number, not {type(number).__name__}"
        raise TypeError(msg)
    if isinstance(number, float) and not math.isfinite(number):
        msg = f"progress: {name} must be finite, not {number}"
        raise ValueError(msg)
    return number
