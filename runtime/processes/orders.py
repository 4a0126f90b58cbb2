"""What other threads want of a process, and how its own thread hears of it."""

from __future__ import annotations

import contextlib
import os
import threading

from ...messages.approvals import Decision

__all__ = ["Orders"]


class Orders:
    """The order to end, what was decided, and a pipe that interrupts the pump's wait.

    Thread-safe.

    The pipe exists between `open` and `close`, which the pump calls.
    """

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._grace: float | None = None
        self._answers: list[tuple[str, Decision]] = []
        self._pipe: tuple[int, int] | None = None

    @property
    def grace(self) -> float | None:
        """Seconds to let the process end by itself; ``None`` while it may run."""
        return self._grace

    def end(self, grace: float) -> None:
        """Order the end. A later order can only shorten the grace."""
        with self._lock:
            self._grace = grace if self._grace is None else min(self._grace, grace)
        self.ring()

    def answer(self, ask_id: str, decision: Decision) -> None:
        """Hand over what was decided about something that the provider asked."""
        with self._lock:
            self._answers.append((ask_id, decision))
        self.ring()

    def take_answers(self) -> list[tuple[str, Decision]]:
        """Return what was decided since the last call, in order."""
        with self._lock:
            answers, self._answers = self._answers, []
        return answers

    def ring(self) -> None:
        """Interrupt the wait; does nothing where there is none."""
        with self._lock:
            if self._pipe is not None:
                with contextlib.suppress(BlockingIOError):
                    os.write(self._pipe[1], b"\0")

    def open(self) -> int:
        """Make the pipe; return the end that is readable once rung."""
        with self._lock:
            self._pipe = os.pipe()
            for end in self._pipe:
                os.set_blocking(end, False)
            return self._pipe[0]

    def clear(self) -> None:
        """Take note of all rings so far."""
        with self._lock:
            if self._pipe is not None:
                with contextlib.suppress(BlockingIOError):
                    os.read(self._pipe[0], 4096)

    def close(self) -> None:
        """Close the pipe, where there is one."""
        with self._lock:
            pipe, self._pipe = self._pipe, None
            for end in pipe or ():
                os.close(end)
