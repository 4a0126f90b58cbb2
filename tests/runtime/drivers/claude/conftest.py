"""The fixtures of both providers."""

from __future__ import annotations

from ..stream_json.conftest import world

__all__ = ["world"]
