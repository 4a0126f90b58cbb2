"""Recording what actors say to each other, and drawing it."""

from __future__ import annotations

from .mermaid import sequence_diagram, write
from .tracer import TraceEntry, Tracer

__all__ = ["TraceEntry", "Tracer", "sequence_diagram", "write"]
