"""MCP servers as configuration files declare them."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

__all__ = ["Server", "Unavailable", "entries", "http_server"]


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


class Server:
    """A server that can be reached over HTTP.

    Args:
        key: Its key in ``mcpServers``.
        url: Where it listens.
        headers: What to send with each request, variables resolved.
    """

    def __init__(self, key: str, url: str, headers: Mapping[str, str]) -> None:
        self.key = key
        self.url = url
        self.headers = headers


def entries(path: Path) -> dict[str, Any]:
    """Return the ``mcpServers`` of a file, none where there is no such file.

    Raises:
        Unavailable: It can't be read, or is malformed.
    """
    try:
        found = json.loads(path.read_text(encoding="utf-8")).get("mcpServers", {})
    except FileNotFoundError:
        return {}
    except (OSError, ValueError, AttributeError) as error:
        msg = f"{path} can't be read: {error!r}"
        raise Unavailable(msg, code="bad_configuration") from error
    if not isinstance(found, dict):
        msg = f"{path}: mcpServers is no object."
        raise Unavailable(msg, code="bad_configuration")
    return found


def http_server(key: str, entry: Any, resolve: Callable[[str], str]) -> Server:
    """Return the server of an entry.

    Args:
        key: Its key.
        entry: The entry, ``None`` where there is none.
        resolve: Puts variables in place.

    Raises:
        Unavailable: There is none, or it is no HTTP server.
    """
    if entry is None:
        msg = f"No configuration declares an MCP server {key}."
        raise Unavailable(msg, code="unknown_server")
    if not _is_http(entry):
        msg = f"The MCP server {key} has no url, or wrong headers, in its configuration."
        raise Unavailable(msg, code="unknown_server")
    headers = {name: resolve(value) for name, value in entry.get("headers", {}).items()}
    return Server(key, resolve(entry["url"]), headers)


def _is_http(entry: Any) -> bool:
    if not isinstance(entry, dict) or not isinstance(entry.get("url"), str):
        return False
    headers = entry.get("headers", {})
    return isinstance(headers, dict) and all(isinstance(text, str) for text in headers.values())
