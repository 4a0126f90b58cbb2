"""The options of one run, composed and settled: what the Agent actor is sent."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from .events import ApprovalRequest
from .frozen import FrozenMap
from .policy import Policy
from .resources import Identity, McpServer, Resources, Skill
from .services import RunService

__all__ = ["ApprovalCallback", "OutputSchema", "RunOptions"]

ApprovalCallback = Callable[[ApprovalRequest], Awaitable[None] | None]
"""Called with each request: a plain function on a worker thread, an async one
on the loop that async tool handlers run on."""


@dataclass(frozen=True, slots=True, kw_only=True)
class OutputSchema:
    """What the final answer has to be, as JSON."""

    name: str
    """The type's name."""
    schema: Mapping[str, Any]
    """Its JSON Schema, 2020-12, with local references only."""
    load: Callable[[str], Any] = field(repr=False, compare=False)
    """Makes the value of a JSON text; raises `InvalidInputError` where it does
    not fit. Runs on a worker thread."""


@dataclass(frozen=True, slots=True, kw_only=True)
class RunOptions:
    """Everything that may differ between the runs of one Agent."""

    workspace: Path
    """The provider's working directory."""
    model: str | None = None
    """The model; ``None`` leaves it to the driver."""
    instructions: str | None = None
    """What the model is told before the prompt, beside the profile's own."""
    timeout: float | None = None
    """The longest that the run may take, in seconds; ``None`` for no limit."""
    idle_timeout: float | None = None
    """The longest that the provider may be silent, in seconds, the time in
    which it waits for a tool or an approval left out; ``None`` for no limit."""
    spawn: bool = False
    """Whether the run needs a provider process of its own."""
    metadata: Mapping[str, str] = field(default_factory=FrozenMap[str])
    """The application's own labels, which come back in the result."""
    identity: Identity | None = None
    """On whose behalf the run is made."""
    policy: Policy = field(default_factory=Policy)
    """What it may do."""
    on_approval: ApprovalCallback | None = field(default=None, repr=False)
    """Called with each request for an approval."""
    skills: tuple[Skill, ...] = ()
    """Skills for the clone, beside the profile's own."""
    mcp: tuple[McpServer, ...] = ()
    """MCP servers, beside the profile's own and the Agent's tools."""
    resources: Resources | None = None
    """Agents and settings for the clone, beside the profile's own."""
    services: tuple[RunService, ...] = ()
    """What is attached for the run, in this order, and detached in reverse."""
    output: OutputSchema | None = field(default=None, repr=False)
    """What the final answer has to be; ``None`` takes any text."""
