"""The driver for the Cursor CLI."""

from __future__ import annotations

from .driver import Cursor

__all__ = ["Cursor"]
