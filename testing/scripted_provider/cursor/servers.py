"""The servers of the profile's and the workspace's ``mcp.json``."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from ..servers import Server, Unavailable, entries, http_server

__all__ = ["find_server"]

_VARIABLE = re.compile(r"\$\{(?:env:)?([A-Z_][A-Z0-9_]*)\}")


def find_server(
    key: str,
    *,
    home: Path,
    workspace: Path,
    data: Path,
    environment: Mapping[str, str],
    approve_all: bool,
) -> Server:
    """Look a server up and resolve its variables.

    Reads ``.cursor/mcp.json`` of the home and of the workspace; the workspace
    wins. A variable that is not set stays as it is written, as in the real CLI.

    Args:
        key: The server's key.
        home: The home directory.
        workspace: The workspace.
        data: The data directory, which may hold approvals.
        environment: The variables.
        approve_all: Whether every server counts as approved.

    Raises:
        Unavailable: It is not declared, not approved, or no HTTP server.
    """

    def resolve(text: str) -> str:
        return _VARIABLE.sub(lambda match: environment.get(match[1], match[0]), text)

    files = (root / ".cursor" / "mcp.json" for root in (home, workspace))
    entry = {name: entry for file in files for name, entry in entries(file).items()}.get(key)
    server = http_server(key, entry, resolve)
    if not approve_all and not _is_approved(key, entry, workspace, data):
        msg = f"The MCP server {key} is not approved; --approve-mcps approves it."
        raise Unavailable(msg, code="not_approved")
    return server


def _is_approved(key: str, entry: Any, workspace: Path, data: Path) -> bool:
    # Slow to import, and needed without --approve-mcps alone.
    import hashlib

    # The hash covers the URL, so that a server on a new port needs a new approval.
    subject = {"path": str(workspace), "server": entry}
    text = json.dumps(subject, ensure_ascii=False, separators=(",", ":"))
    approval = f"{key}-{hashlib.sha256(text.encode()).hexdigest()[:16]}"
    for path in data.glob("projects/*/mcp-approvals.json"):
        try:
            if approval in json.loads(path.read_text(encoding="utf-8")):
                return True
        except (OSError, ValueError, TypeError):
            continue
    return False
