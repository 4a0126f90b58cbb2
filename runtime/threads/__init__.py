"""Threads: their store, their conversation's files, and what a run does with them."""

from __future__ import annotations

from .conversation import collect, lay
from .interface import ConversationFile, Lease, ThreadRecord, ThreadStore
from .memory import MemoryStore
from .plan import Fresh, Plan, Rebind, Resume, ThreadMode, check_revisions, fingerprint, plan_run

__all__ = [
    "ConversationFile",
    "Fresh",
    "Lease",
    "MemoryStore",
    "Plan",
    "Rebind",
    "Resume",
    "ThreadMode",
    "ThreadRecord",
    "ThreadStore",
    "check_revisions",
    "collect",
    "fingerprint",
    "lay",
    "plan_run",
]
