"""The MCP servers that a script uses, each connected at its first use."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Self

if TYPE_CHECKING:
    from .mcp_client import Connection
    from .servers import Server

__all__ = ["Toolbox"]


class Toolbox:
    """Connections to servers, kept until the end of the invocation.

    Args:
        find: Looks a server up by its key; raises `Unavailable`.
        protocol: The MCP revision to speak.
    """

    def __init__(self, find: Callable[[str], Server], protocol: str) -> None:
        self._find = find
        self._protocol = protocol
        self._open: dict[str, Connection] = {}

    def connection(self, key: str) -> Connection:
        """Return the connection to a server, with its tools listed.

        Raises:
            Unavailable: It is not declared, not approved, or does not answer.
        """
        if key not in self._open:
            server = self._find(key)
            # Takes a second to import, so not before a step needs a server.
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
