"""How long a run's provider may be silent.

A plain watch that the Run actor winds. The process knows best when it was
heard last, so it is asked, once for each time that the limit passes.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable

from ..messages.base import Message
from ..messages.events import Event, TextDelta, Thinking, ToolCall, ToolResult
from ..messages.run import IdleTimePassed
from ..runtime.timers import Timer

__all__ = ["IdleWatch"]


class IdleWatch:
    """Counts silence, but for the time in which the provider itself waits.

    It waits for a call until the result comes, or until the model goes on without
    one: it says or thinks something new. A provider may never report a result.

    Args:
        limit: The longest silence, in seconds; ``None`` for no limit.
        remind: Sends the actor a message, some seconds from now.
        ask: Asks how long the process has been silent.
        waits: Whether the provider waits for an approval.
    """

    def __init__(
        self,
        limit: float | None,
        remind: Callable[[float, Message], Timer],
        ask: Callable[[], None],
        waits: Callable[[], bool],
    ) -> None:
        self.limit = limit
        self._remind = remind
        self._ask = ask
        self._waits = waits
        self._calls: set[str] = set()
        self._message = ""
        self._timer: Timer | None = None
        self._paused = False
        self._resumed_at = 0.0

    def start(self) -> None:
        """Begin to count: the process runs."""
        if self.limit is not None:
            self._resume()

    def stop(self) -> None:
        """Count no more: the process is gone, or about to."""
        self.limit = None
        if self._timer is not None:
            self._timer.cancel()

    def note(self, events: Iterable[Event]) -> None:
        """Take note of tool calls, of their results, and of what the model says."""
        if self.limit is None:
            return
        for event in events:
            if isinstance(event, TextDelta):
                if self._calls and self._is_new(event):
                    self._calls.clear()
                self._message = event.message_id
            elif isinstance(event, ToolCall):
                self._calls.add(event.call_id)
            elif isinstance(event, ToolResult):
                self._calls.discard(event.call_id)
            elif isinstance(event, Thinking) and event.phase != "end":
                self._calls.clear()

    def look(self) -> None:
        """See whether the provider waits now, or no longer."""
        if self.limit is None or not self._resumed_at:
            return
        paused = bool(self._calls) or self._waits()
        if self._paused and not paused:
            self._resume()
        elif paused and not self._paused and self._timer is not None:
            self._timer.cancel()
        self._paused = paused

    def time_passed(self) -> None:
        """Take the timer's word that the limit may have been reached."""
        if self.limit is not None and not self._paused:
            self._ask()

    def silent_for(self, seconds: float) -> bool:
        """Take the process's word; return whether it has been silent too long."""
        if self.limit is None or self._paused:
            return False
        silent = min(seconds, time.monotonic() - self._resumed_at)
        if silent >= self.limit:
            return True
        self._wind(self.limit - silent)
        return False

    def _is_new(self, event: TextDelta) -> bool:
        # A message may go on after a call that stands in its midst.
        goes_on = bool(event.message_id) and event.message_id == self._message
        return event.phase != "end" and not goes_on

    def _resume(self) -> None:
        self._resumed_at = time.monotonic()
        if self.limit is not None:
            self._wind(self.limit)

    def _wind(self, seconds: float) -> None:
        if self._timer is not None:
            self._timer.cancel()
        self._timer = self._remind(seconds, IdleTimePassed())
