"""The driver for Claude Code."""

from __future__ import annotations

from .driver import Claude

__all__ = ["Claude"]
