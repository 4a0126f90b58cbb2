"""Whether a turn is over: work in the background goes on after a ``result``."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Literal

from .records import is_count, text_of

__all__ = ["Background"]

_OVER = {"completed", "failed", "stopped", "killed", "cancelled", "canceled"}
# CodeBuddy starts background agents that stay until its end, and reports none.
_ENDLESS = {"Agent"}


class Background:
    """Follows the tasks that a provider runs beside its conversation.

    When such a task ends the provider goes on by itself, with a further
    ``result``; so the first one need not be the last.
    """

    def __init__(self) -> None:
        self._running: set[str] = set()
        self._told = False
        self._waiting = False

    def take(self, record: Mapping[str, Any]) -> None:
        """Take a ``system`` record; those about something else change nothing."""
        subtype, task = record.get("subtype"), text_of(record, "task_id")
        if subtype == "background_tasks_changed":
            tasks = record.get("tasks")
            named = [item for item in tasks or () if isinstance(item, dict)]
            self._running = {text_of(item, "task_id") for item in named}
        elif subtype == "task_started":
            in_front = record.get("is_backgrounded") is False
            if not in_front and record.get("task_type") not in _ENDLESS:
                self._running.add(task)
        elif subtype == "task_updated":
            patch = record.get("patch")
            if isinstance(patch, dict) and patch.get("status") in _OVER:
                self._end(task)
        elif subtype == "task_notification":
            self._end(task)

    def after(self, result: Mapping[str, Any]) -> Literal["more", "perhaps", "done"]:
        """Tell what follows a ``result`` record.

        Returns:
            ``more`` where a further result will come; ``perhaps`` where the
            provider knows and we don't; ``done`` where this was the last.
        """
        queued = result.get("queued_turn_count")
        told, self._told = self._told, False
        waited, self._waiting = self._waiting, bool(self._running or (is_count(queued) and queued))
        if self._waiting:
            return "more"
        # A task that ended while the model was still at work may have been
        # noticed by it, or may be what the next turn is about.
        return "perhaps" if told and not waited else "done"

    def _end(self, task: str) -> None:
        if task in self._running:
            self._running.remove(task)
            self._told = True
