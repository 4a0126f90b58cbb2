"""What the drivers of Claude Code and CodeBuddy share: their stream of records."""

from __future__ import annotations

__all__: list[str] = []
