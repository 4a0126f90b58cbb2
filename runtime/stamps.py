"""Copies of events with what a run fills in."""

from __future__ import annotations

from typing import get_args

from ..messages.events import Event
from ..messages.frozen import replacer

__all__ = ["STAMPS"]

STAMPS = {
    kind: replacer(kind, "run_id", "thread_key", "sequence", "time") for kind in get_args(Event)
}
"""For each class of events what copies one: takes it, and the four new values."""
