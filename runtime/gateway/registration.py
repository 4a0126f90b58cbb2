"""One Agent's place at the counter."""

from __future__ import annotations

import contextvars
import logging
import math
import threading
from collections.abc import Callable
from typing import TYPE_CHECKING

from .paces import Paces

if TYPE_CHECKING:
    from ..tools.catalog import Catalog
    from ..tools.context import Context

__all__ = ["Registration"]

_log = logging.getLogger("toolcrib.gateway")


class Registration:
    """What one token opens: an Agent's catalog, and the calls that run on it.

    Every method may be called from any thread.

    Args:
        agent: The Agent's name, for logs and reports.
        catalog: The tools that it lends.
        context: The context variables that its handlers see; each call runs in
            a copy.
    """

    def __init__(self, agent: str, catalog: Catalog, context: contextvars.Context) -> None:
        self._agent = agent
        self._catalog = catalog
        self._context = context
        deadlines = [each.deadline for each in catalog.tools.values() if each.deadline]
        self.shortest_deadline = min(deadlines, default=math.inf)
        """The shortest deadline that a tool sets, in seconds."""
        self.answers: dict[tuple[str, str] | None, bytes] = {}
        """Answers of the protocol that never change for this catalog."""
        self.mirrored: dict[str, frozenset[str]] = {}
        """By tool, the header fields in which the protocol has clients repeat arguments."""
        self.paces: Paces = Paces()
        """How long the tools' calls take."""
        self._lock = threading.Lock()
        self._calls: dict[int, Context] = {}
        self._cancelled = False
        self._idle: list[Callable[[], None]] = []

    def __repr__(self) -> str:
        return f"Registration({self._agent!r})"

    @property
    def agent(self) -> str:
        """The Agent's name."""
        return self._agent

    @property
    def catalog(self) -> Catalog:
        """The tools that the Agent lends."""
        return self._catalog

    @property
    def context(self) -> contextvars.Context:
        """The context variables that the handlers see, to be copied."""
        return self._context

    @property
    def running(self) -> tuple[str, ...]:
        """The names of the tools whose handlers still run, one for each call.

        A handler that outlives its deadline is in here until it returns.
        """
        with self._lock:
            return tuple(sorted(call.tool_name for call in self._calls.values()))

    @property
    def cancelled(self) -> bool:
        """Whether `cancel` was called: no new call begins."""
        return self._cancelled

    def cancel(self) -> None:
        """Let no new call begin, and cancel the Context of every running one."""
        with self._lock:
            self._cancelled = True
            calls = list(self._calls.values())
        for call in calls:
            call.cancel()

    def when_idle(self, callback: Callable[[], None]) -> None:
        """Have ``callback`` called once, when no handler runs any more.

        It runs on the thread that ends the last handler, or on the caller's, at
        once, when none runs. What it raises is logged.
        """
        with self._lock:
            if self._calls:
                self._idle.append(callback)
                return
        _notify(callback)

    def enter(self, call: Context) -> bool:
        """Count a call as running; ``False`` when the registration is cancelled."""
        with self._lock:
            if self._cancelled:
                return False
            self._calls[id(call)] = call
            return True

    def exit(self, call: Context) -> None:
        """Count a call's handler as returned."""
        with self._lock:
            del self._calls[id(call)]
            if self._calls:
                return
            callbacks, self._idle = self._idle, []
        for callback in callbacks:
            _notify(callback)


def _notify(callback: Callable[[], None]) -> None:
    try:
        callback()
    except Exception:
        # The thread belongs to the gateway or to a stranger; neither may end.
        _log.exception("A callback for an idle registration failed.")
