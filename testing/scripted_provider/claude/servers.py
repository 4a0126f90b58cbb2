"""The servers of the profile, the workspace and the command line."""

from __future__ import annotations

import re
from collections.abc import Mapping
from pathlib import Path

from ..servers import Server, entries, http_server

__all__ = ["find_server"]

_VARIABLE = re.compile(r"\$\{([A-Za-z_][A-Za-z0-9_]*)(?::-([^}]*))?\}")


def find_server(
    key: str, *, config: Path, workspace: Path, more: Path | None, environment: Mapping[str, str]
) -> Server:
    """Look a server up and resolve its variables.

    A variable that is not set, and has no default, stays as it is written, as
    in the real CLI.

    Args:
        key: The server's key.
        config: The profile's ``.claude.json``.
        workspace: The workspace, whose ``.mcp.json`` wins over it.
        more: A file that wins over both.
        environment: The variables.

    Raises:
        Unavailable: It is not declared, or is no HTTP server.
    """

    def resolve(text: str) -> str:
        return _VARIABLE.sub(
            lambda match: environment.get(match[1], match[0] if match[2] is None else match[2]),
            text,
        )

    found = {**entries(config), **entries(workspace / ".mcp.json")}
    if more is not None:
        found |= entries(more)
    return http_server(key, found.get(key), resolve)
