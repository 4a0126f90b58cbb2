"""What an application gives a provider besides the prompt and its tools."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from .frozen import FrozenMap
from .json_values import frozen_json

__all__ = [
    "AgentDefinition",
    "HttpServer",
    "Identity",
    "McpServer",
    "Resources",
    "Skill",
    "StdioServer",
]


@dataclass(frozen=True, slots=True, kw_only=True)
class Identity:
    """On whose behalf runs are made. Not an authentication.

    Runs of different identities never share a clone of the profile, and a
    thread goes on only for the identity that began it.
    """

    id: str
    """The application's id of the person or service; not empty."""
    tenant: str = ""
    """The tenant that it belongs to, where there are several."""
    name: str = ""
    """What to call it; changes nothing."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Skill:
    """A folder of instructions that the provider loads when it needs them.

    Give either ``path`` or ``content``.
    """

    name: str
    """Its name, which is its folder's: letters, digits, ``-`` and ``_``."""
    path: Path | None = None
    """The folder, with a ``SKILL.md`` in it; copied into the clone."""
    content: str | None = None
    """The text of its ``SKILL.md``, front matter included."""


@dataclass(frozen=True, slots=True, kw_only=True)
class StdioServer:
    """An MCP server that the provider starts as a child."""

    key: str
    """Its key in the provider's configuration; letters, digits, ``-``, ``_``."""
    command: str
    """What to start."""
    args: tuple[str, ...] = ()
    """Its arguments."""
    env: Mapping[str, str] = field(default_factory=FrozenMap[str], repr=False)
    """Further variables of its environment."""


@dataclass(frozen=True, slots=True, kw_only=True)
class HttpServer:
    """An MCP server that the provider reaches over HTTP."""

    key: str
    """Its key in the provider's configuration; letters, digits, ``-``, ``_``."""
    url: str
    """Where it listens."""
    bearer_variable: str | None = None
    """The variable of the provider's environment that holds its bearer token."""


McpServer = StdioServer | HttpServer
"""An MCP server of the application's choice, beside those of the profile."""


@dataclass(frozen=True, slots=True, kw_only=True)
class AgentDefinition:
    """An agent of the provider's own, which its model may start for a part of the work."""

    name: str
    """What the model calls it: letters, digits, ``-`` and ``_``; none of the profile's."""
    description: str
    """What it is for, so that the model knows when to start it."""
    instructions: str
    """What it is told before its work."""
    model: str | None = None
    """Its model, as the provider names it; ``None`` leaves it to the provider."""
    tools: tuple[str, ...] | None = None
    """The only tools that it has, as the provider names them; ``None`` for those
    that the provider gives it."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Resources:
    """What lies in the profile for a run, beside what the profile has itself.

    It is laid into the clone. The source profile stays as it is.

    Raises:
        TypeError: ``config`` holds something that is no JSON value.
        ValueError: ``config`` holds a number that JSON has no form for.
    """

    agents: tuple[AgentDefinition, ...] = ()
    """Agents beside those of the profile."""
    config: Mapping[str, Any] = field(default_factory=FrozenMap, repr=False)
    """Settings over those of the profile, in the provider's own form: JSON
    values, of which objects are merged and all others replaced. Copied."""

    def __post_init__(self) -> None:
        if not isinstance(self.config, Mapping):
            msg = f"config is a {type(self.config).__name__}; pass a mapping of settings."
            raise TypeError(msg)
        if isinstance(self.agents, str | AgentDefinition):
            msg = f"agents is a {type(self.agents).__name__}; pass a tuple of AgentDefinition."
            raise TypeError(msg)
        object.__setattr__(self, "config", frozen_json(self.config, "config"))
        object.__setattr__(self, "agents", tuple(self.agents))
