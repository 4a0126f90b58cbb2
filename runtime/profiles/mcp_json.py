"""JSON files with an ``mcpServers`` object, and the hosted server in them."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any, NoReturn

from ...errors import ProfileError, ServerConflictError
from .files import read_file, write_atomically

__all__ = [
    "check_entries",
    "check_servers",
    "put_server",
    "read_object",
    "server_names",
    "write_object",
]

_SECTION = "mcpServers"
_LIMIT = 4 * 1024 * 1024


def read_object(path: Path) -> dict[str, Any]:
    """Return the JSON object that a file holds; empty where it is missing.

    Raises:
        ProfileError: It can't be read or holds anything but a JSON object.
    """
    data = read_file(path, _LIMIT)
    if data is None or not data.strip():
        return {}
    try:
        value = json.loads(data.decode("utf-8-sig"), parse_constant=_no_constant)
    except (ValueError, RecursionError) as error:
        msg = f"{path} is not valid JSON ({error}). Correct it, or move it out of the profile."
        raise ProfileError(msg) from error
    if not isinstance(value, dict):
        msg = f"{path} holds no JSON object. Correct it, or move it out of the profile."
        raise ProfileError(msg)
    return value


def _no_constant(text: str) -> NoReturn:
    msg = f"{text} is not a JSON value"
    raise ValueError(msg)


def write_object(path: Path, value: Mapping[str, Any]) -> None:
    """Write a JSON object, atomically and indented.

    Raises:
        ProfileError: It can't be written; the file is as it was.
    """
    try:
        text = json.dumps(value, indent=2, allow_nan=False)
    except ValueError as error:
        msg = f"{path} would hold a number that JSON has no form for. Correct its source."
        raise ProfileError(msg) from error
    write_atomically(path, text.encode() + b"\n")


def server_names(path: Path) -> tuple[str, ...]:
    """Return the names of a file's servers; a missing file has none.

    Raises:
        ProfileError: It can't be read or is malformed.
    """
    return tuple(_section(path, read_object(path)))


def check_servers(path: Path, key: str, variable: str) -> tuple[str, ...]:
    """Return the names of a file's servers, once none of them is in our way.

    Args:
        path: The file; a missing one has no servers.
        key: The server key that is ours.
        variable: The name of the token's variable.

    Raises:
        ServerConflictError: A server has our key, or mentions our variable.
        ProfileError: The file can't be read or is malformed.
    """
    servers = _section(path, read_object(path))
    check_entries(path, servers, key, variable)
    return tuple(servers)


def check_entries(path: Path, servers: Mapping[str, Any], key: str, variable: str) -> None:
    """Check servers that a file holds, in whatever place of it.

    Args:
        path: The file, for messages.
        servers: Its entries, by name.
        key: The server key that is ours.
        variable: The name of the token's variable.

    Raises:
        ServerConflictError: A server has our key, or mentions our variable.
    """
    for name, entry in servers.items():
        if name.casefold() == key.casefold():
            msg = f"{path} has an MCP server {name!r}, a name that is toolcrib's. Rename it there."
            raise ServerConflictError(msg)
        _check_entry(path, name, entry, variable)


def put_server(path: Path, key: str, entry: Mapping[str, Any] | None, variable: str = "") -> None:
    """Write the hosted server into a clone's file; other entries stay.

    An older entry of the same key is replaced: a clone is made from a source
    that was checked, so the entry can only be ours.

    Args:
        path: The clone's file.
        key: The hosted server's key.
        entry: What to write; ``None`` removes the entry.
        variable: The name of the token's variable.

    Raises:
        ServerConflictError: Another server mentions our variable.
        ProfileError: The file is malformed or can't be written.
    """
    document = read_object(path)
    servers = dict(_section(path, document))
    before = servers.pop(key, None)
    if entry is not None:
        for name, other in servers.items():
            _check_entry(path, name, other, variable)
        servers[key] = dict(entry)
    # Another run's process may have written to the file a moment ago.
    if before == servers.get(key):
        return
    write_object(path, {**document, _SECTION: servers})


def _section(path: Path, document: Mapping[str, Any]) -> dict[str, Any]:
    servers = document.get(_SECTION, {})
    if not isinstance(servers, dict):
        msg = f"{_SECTION} in {path} is not a JSON object. Correct it there."
        raise ProfileError(msg)
    return servers


def _check_entry(path: Path, name: str, entry: object, variable: str) -> None:
    if variable and variable in json.dumps([name, entry]):
        msg = (
            f"The MCP server {name!r} in {path} mentions {variable}, the variable of this "
            "Agent's token. Remove it there."
        )
        raise ServerConflictError(msg)
