"""What an application gives a provider besides the prompt and its tools."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

from .frozen import FrozenMap

__all__ = ["HttpServer", "Identity", "McpServer", "Skill", "StdioServer"]


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
    env: Mapping[str, str] = field(default_factory=FrozenMap, repr=False)
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
