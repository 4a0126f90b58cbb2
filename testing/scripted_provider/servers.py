"""MCP servers as the profile's and the workspace's ``mcp.json`` declare them."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

__all__ = ["Answer", "Server", "Unavailable", "find_server"]

_VARIABLE = re.compile(r"\$\{(?:env:)?([A-Z_][A-Z0-9_]*)\}")


class Unavailable(Exception):
    """Raised when a server or a tool of it can't be used.

    Args:
        message: Why, as a sentence.
        code: The same as a word, such as ``unauthorized``.
    """

    def __init__(self, message: str, *, code: str) -> None:
        super().__init__(message)
        self.code = code
        self.message = message


@dataclass(frozen=True, slots=True)
class Server:
    """A server that can be reached over HTTP."""

    key: str
    """Its key in ``mcpServers``."""
    url: str
    """Where it listens."""
    headers: Mapping[str, str] = field(repr=False)
    """What to send with each request, variables resolved."""


@dataclass(frozen=True, slots=True)
class Answer:
    """What a tool answered."""

    texts: tuple[str, ...]
    """Its text content, and a note in place of content of another kind."""
    structured: Any
    """Its structured content; ``None`` where it has none."""
    is_error: bool
    """Whether the server marked it as an error."""

    @property
    def text(self) -> str:
        """All of its text."""
        return "".join(self.texts)


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
    entry = {**_entries(home), **_entries(workspace)}.get(key)
    if entry is None:
        msg = f"No mcp.json declares an MCP server {key}."
        raise Unavailable(msg, code="unknown_server")
    if not _is_http(entry):
        msg = f"The MCP server {key} has no url, or wrong headers, in its mcp.json."
        raise Unavailable(msg, code="unknown_server")
    if not approve_all and not _is_approved(key, entry, workspace, data):
        msg = f"The MCP server {key} is not approved; --approve-mcps approves it."
        raise Unavailable(msg, code="not_approved")
    headers = {
        name: _resolve(value, environment) for name, value in entry.get("headers", {}).items()
    }
    return Server(key, _resolve(entry["url"], environment), headers)


def _entries(root: Path) -> dict[str, Any]:
    path = root / ".cursor" / "mcp.json"
    try:
        entries = json.loads(path.read_text(encoding="utf-8"))["mcpServers"]
    except FileNotFoundError:
        return {}
    except (OSError, ValueError, KeyError, TypeError) as error:
        msg = f"{path} can't be read: {error!r}"
        raise Unavailable(msg, code="bad_configuration") from error
    if not isinstance(entries, dict):
        msg = f"{path}: mcpServers is no object."
        raise Unavailable(msg, code="bad_configuration")
    return entries


def _is_http(entry: Any) -> bool:
    if not isinstance(entry, dict) or not isinstance(entry.get("url"), str):
        return False
    headers = entry.get("headers", {})
    return isinstance(headers, dict) and all(isinstance(text, str) for text in headers.values())


def _resolve(text: str, environment: Mapping[str, str]) -> str:
    return _VARIABLE.sub(lambda match: environment.get(match[1], match[0]), text)


def _is_approved(key: str, entry: Mapping[str, Any], workspace: Path, data: Path) -> bool:
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
