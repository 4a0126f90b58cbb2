"""The driver for CodeBuddy."""

from __future__ import annotations

from .driver import CodeBuddy

__all__ = ["CodeBuddy"]
