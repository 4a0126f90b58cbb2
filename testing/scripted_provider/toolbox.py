"""The MCP servers that a script uses, each connected at its first use."""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING, Self

if TYPE_CHECKING:
    from .mcp_client import Connection

__all__ = ["Toolbox"]


class Toolbox:
    """Connections to servers, kept until the end of the invocation.

    Args:
        home: The home directory.
        workspace: The workspace.
        data: The data directory.
        approve_all: Whether every server counts as approved.
        protocol: The MCP revision to speak.
    """

    def __init__(
        self, home: Path, workspace: Path, data: Path, *, approve_all: bool, protocol: str
    ) -> None:
        self._home = home
        self._workspace = workspace
        self._data = data
        self._approve_all = approve_all
        self._protocol = protocol
        self._open: dict[str, Connection] = {}

    def connection(self, key: str) -> Connection:
        """Return the connection to a server, with its tools listed.

        Raises:
            Unavailable: It is not declared, not approved, or does not answer.
        """
        if key not in self._open:
            # Both take a while to import (the second a second), so not before
            # a step needs a server.
            from .servers import find_server

            server = find_server(
                key,
                home=self._home,
                workspace=self._workspace,
                data=self._data,
                environment=os.environ,
                approve_all=self._approve_all,
            )
            from .mcp_client import Connection

            self._open[key] = Connection(server, self._protocol)
        return self._open[key]

    def __enter__(self) -> Self:
        """Return itself."""
        return self

    def __exit__(self, *_: object) -> None:
        """Close all connections."""
        while self._open:
            self._open.popitem()[1].close()
