"""What an Agent is made of: fixed at its construction, shared by its actors."""

from __future__ import annotations

from collections.abc import Mapping
from contextvars import Context
from dataclasses import dataclass, field

from ..messages.resources import Identity
from ..messages.secret import Secret
from ..messages.turn import HostedServer
from .drivers.interface import Driver
from .threads.interface import ThreadStore
from .threads.plan import fingerprint
from .tools.catalog import Catalog

__all__ = ["SERVER_KEY", "AgentSpec"]

SERVER_KEY = "toolcrib"
"""The key of our MCP server in a provider's configuration: reserved for us."""


@dataclass(frozen=True, slots=True, kw_only=True)
class AgentSpec:
    """One Agent's fixed parts."""

    name: str
    """Its name, such as ``agent-1``."""
    driver: Driver
    """The provider that it drives."""
    catalog: Catalog
    """Its tools; may be empty."""
    store: ThreadStore
    """Where its threads are kept."""
    deadline: float
    """How long a tool may take that sets no deadline of its own, in seconds."""
    variable: str
    """The environment variable that its token travels in."""
    environment: Mapping[str, str] = field(repr=False)
    """The environment that children are built from, taken at construction."""
    context: Context = field(repr=False)
    """The context that hosted tool calls run in, taken at construction."""
    max_runs: int | None = None
    """How many of its runs may go on at a time; ``None`` for no limit."""

    @property
    def hosts_tools(self) -> bool:
        """Whether the Agent has tools at all."""
        return bool(self.catalog.names)

    def fingerprint(self, identity: Identity | None) -> str:
        """Return what a stored conversation must match to be continued."""
        return fingerprint(self.driver.fingerprint(), self.catalog.fingerprint, identity)

    def server(self, url: str, token: Secret) -> HostedServer:
        """Describe the Agent's tools as the MCP server that the gateway opened."""
        return HostedServer(
            key=SERVER_KEY,
            url=url,
            variable=self.variable,
            token=token,
            tools=self.catalog.names,
            deadline=max(tool.deadline or self.deadline for tool in self.catalog.tools.values()),
        )
