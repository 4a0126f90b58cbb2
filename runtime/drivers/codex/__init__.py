"""The driver for the Codex CLI."""

from __future__ import annotations

from .driver import Codex

__all__ = ["Codex"]
