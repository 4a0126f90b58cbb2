"""MCP servers that an application adds to a run, beside the profile's own."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import fields
from typing import Any

from ...errors import ServerConflictError
from ...messages.resources import McpServer, StdioServer
from ...messages.turn import HostedServer

__all__ = ["check_added", "json_entries"]


def check_added(
    added: Sequence[McpServer], taken: Iterable[str], own: HostedServer | None, ours: str
) -> None:
    """Check that added servers are in nobody's way.

    Args:
        added: The servers to add.
        taken: The names of the profile's servers, and of the workspace's.
        own: The Agent's tools, if it has any.
        ours: The key of the Agent's tools, whether or not it has any.

    Raises:
        ServerConflictError: One has a name that is taken or ours, or mentions
            the variable of the Agent's token.
    """
    names = {name.casefold() for name in taken}
    for server in added:
        key = server.key.casefold()
        if key == ours.casefold():
            msg = f"The MCP server {server.key!r} has the name of the Agent's tools. Rename it."
            raise ServerConflictError(msg)
        if key in names:
            msg = f"There is another MCP server {server.key!r}. Rename the one that you add."
            raise ServerConflictError(msg)
        names.add(key)
        if own is not None and own.variable in _text(server):
            msg = (
                f"The MCP server {server.key!r} mentions {own.variable}, the variable of this "
                "Agent's token. Remove it there."
            )
            raise ServerConflictError(msg)


def json_entries(servers: Iterable[McpServer]) -> dict[str, Any]:
    """Return servers as the files with an ``mcpServers`` object name them."""
    return {server.key: _entry(server) for server in servers}


def _entry(server: McpServer) -> dict[str, Any]:
    # Without the last, tools are hidden behind a search, and not waited for.
    if isinstance(server, StdioServer):
        command = {"type": "stdio", "command": server.command, "args": list(server.args)}
        return {**command, "env": dict(server.env), "alwaysLoad": True}
    name = server.bearer_variable
    headers = {} if name is None else {"headers": {"Authorization": f"Bearer ${{{name}}}"}}
    return {"type": "http", "url": server.url, **headers, "alwaysLoad": True}


def _text(server: McpServer) -> str:
    values = {field.name: getattr(server, field.name) for field in fields(server)}
    plain = {name: dict(v) if isinstance(v, Mapping) else v for name, v in values.items()}
    return json.dumps(plain, default=str)
