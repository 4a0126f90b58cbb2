"""Codex's `config.toml`: what is in our way in it, and the hosted server in a clone's."""

from __future__ import annotations

import json
import tomllib
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

import tomlkit
from tomlkit.exceptions import ParseError, TOMLKitError

from ....errors import ProfileError, ServerConflictError
from ...profiles.files import is_there, read_file, write_atomically

__all__ = [
    "SYSTEM",
    "check_config",
    "excluded",
    "other_files",
    "put_server",
    "read_config",
    "server_names",
]

SYSTEM = Path("/etc/codex/config.toml")
"""What an administrator sets for every user."""

_LIMIT = 4 * 1024 * 1024
_SECTION = "mcp_servers"
_POLICY = "shell_environment_policy"


def read_config(path: Path) -> dict[str, Any]:
    """Return what a configuration file says; empty where it is missing.

    Raises:
        ProfileError: It can't be read, or is malformed; the line is named.
    """
    return _parsed(path, _text(path)).unwrap()


def check_config(path: Path, key: str, variable: str) -> None:
    """Check that a configuration file leaves our server and our variable alone.

    Args:
        path: The file; a missing one is fine.
        key: The server key that is ours.
        variable: The name of the token's variable.

    Raises:
        ServerConflictError: It has a server of our key, or mentions our variable.
        ProfileError: It can't be read or is malformed.
    """
    document = read_config(path)
    for name in _table(path, document, _SECTION):
        if name.casefold() == key.casefold():
            msg = f"{path} has an MCP server {name!r}, a name that is toolcrib's. Rename it there."
            raise ServerConflictError(msg)
    if variable in json.dumps(document, default=str):
        msg = f"{path} mentions {variable}, the variable of this Agent's token. Remove it there."
        raise ServerConflictError(msg)


def server_names(path: Path) -> tuple[str, ...]:
    """Return the names of a configuration file's servers; a missing file has none.

    Raises:
        ProfileError: It can't be read or is malformed.
    """
    return tuple(_table(path, read_config(path), _SECTION))


def excluded(paths: Iterable[Path]) -> list[str]:
    """Return what the files together keep out of the environment of the model's shell.

    Raises:
        ProfileError: One can't be read, or has another form.
    """
    found: dict[str, None] = {}
    for path in paths:
        patterns = _table(path, read_config(path), _POLICY).get("exclude", [])
        if not isinstance(patterns, list) or not all(isinstance(word, str) for word in patterns):
            msg = f"{_POLICY}.exclude in {path} is not a list of names. Correct it there."
            raise ProfileError(msg)
        found.update(dict.fromkeys(patterns))
    return list(found)


def put_server(path: Path, key: str, entry: Mapping[str, Any] | None) -> None:
    """Write the hosted server into a clone's file; all else in it stays as it is.

    An older entry of the same key is replaced: a clone is made from a source
    that was checked, so the entry can only be ours.

    Args:
        path: The clone's file.
        key: The hosted server's key.
        entry: What to write; ``None`` removes the entry.

    Raises:
        ProfileError: The file is malformed or can't be written.
    """
    text = _text(path)
    wanted = _parsed(path, text).unwrap()
    servers = _table(path, wanted, _SECTION)
    if entry is None and key not in servers:
        return
    servers = {name: other for name, other in servers.items() if name != key}
    if entry is not None:
        servers[key] = dict(entry)
    wanted[_SECTION] = servers
    # The library keeps comments and order; that it keeps the values too, in a
    # file of any form, is checked rather than believed.
    for edit in (_edited, _rewritten):
        changed = edit(text, key, servers)
        if _says(changed, wanted):
            write_atomically(path, changed.encode())
            return
    msg = (
        f"The MCP server {key!r} can't be added to {path}. In the source profile, write "
        f"the servers as tables of their own: [{_SECTION}.NAME]."
    )
    raise ProfileError(msg)


def _edited(text: str, key: str, servers: Mapping[str, Any]) -> str:
    """Return the text with one server changed, where the section has a usual form."""
    document = tomlkit.parse(text)
    try:
        section: Any = document.setdefault(_SECTION, tomlkit.table(is_super_table=True))
        section.pop(key, None)
        if key in servers:
            section[key] = _as_table(servers[key])
    except (TOMLKitError, ValueError):
        return ""
    return tomlkit.dumps(document)


def _rewritten(text: str, _key: str, servers: Mapping[str, Any]) -> str:
    """Return the text with the section as tables at its end, without its comments."""
    document = tomlkit.parse(text)
    section = tomlkit.table(is_super_table=True)
    for name, server in servers.items():
        section[name] = _as_table(server)
    document.pop(_SECTION, None)
    document[_SECTION] = section
    return tomlkit.dumps(document)


def _as_table(server: Any) -> Any:
    if not isinstance(server, Mapping):
        return server
    table = tomlkit.table()
    table.update(server)
    return table


def _says(text: str, wanted: Mapping[str, Any]) -> bool:
    try:
        found = tomllib.loads(text)
    except ValueError:
        return False
    # Without a server in it, the section may go.
    found.setdefault(_SECTION, {})
    return found == wanted


def other_files(workspace: Path, profile: Path) -> tuple[Path, ...]:
    """Return the configuration files that Codex may read beside the profile's.

    The system's comes under it. Those of a project, in the workspace and in
    the directories above it, come over it where the project is trusted, and
    Codex trusts any project that it may write in.

    Args:
        workspace: The working directory.
        profile: The source profile, whose own file is not one of them.
    """
    start = workspace.resolve()
    own = (profile / "config.toml").resolve()
    files = (directory / ".codex" / "config.toml" for directory in (start, *start.parents))
    return tuple(file for file in (SYSTEM, *files) if is_there(file) and file.resolve() != own)


def _text(path: Path) -> str:
    data = read_file(path, _LIMIT) or b""
    try:
        return data.decode()
    except UnicodeDecodeError as error:
        line = data.count(b"\n", 0, error.start) + 1
        msg = f"{path}, line {line}: it is not UTF-8. Correct it."
        raise ProfileError(msg) from error


def _parsed(path: Path, text: str) -> tomlkit.TOMLDocument:
    try:
        return tomlkit.parse(text)
    except ParseError as error:
        reason = str(error).partition(" at line ")[0]
        msg = f"{path}, line {error.line}: it is not valid TOML ({reason}). Correct it."
        raise ProfileError(msg) from error
    except (TOMLKitError, RecursionError, ValueError) as error:
        msg = f"{path} is not valid TOML ({error}). Correct it."
        raise ProfileError(msg) from error


def _table(path: Path, document: Mapping[str, Any], name: str) -> dict[str, Any]:
    table = document.get(name, {})
    if not isinstance(table, dict):
        msg = f"{name} in {path} is not a table. Correct it there."
        raise ProfileError(msg)
    return table
