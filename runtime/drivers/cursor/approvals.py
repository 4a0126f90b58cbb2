"""How the CLI is told that the hosted tools may be used.

Without a terminal the CLI asks nobody, and a server that it does not take as
approved is left out without a word. Its blanket flag `--approve-mcps` approves
the servers of a repository too, which its owner never agreed to. So:

- the hosted server alone is written into the CLI's own list of approvals for
  this workspace, and its tools into the permissions of the clone;
- the flag is added only where no server of a repository is in sight.

The form of the list is known from public material; it was not verified against
the real CLI.
"""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from ....errors import ProfileError
from ...profiles.clone import Clone
from ...profiles.files import is_there, reported, write_atomically
from ...profiles.mcp_json import read_object, write_object

__all__ = ["approve", "repository_files", "withdraw"]

_LONGEST_SLUG = 84
"""Longer ones the CLI shortens, in a way that is not known."""


def repository_files(workspace: Path, profile: Path) -> tuple[Path, ...]:
    """Return the server files that a run in a workspace reads beside its profile.

    The CLI looks in the workspace and in the directories above it.

    Args:
        workspace: The working directory.
        profile: The source profile, whose own file is not one of them.
    """
    start = workspace.resolve()
    own = profile.resolve() / "mcp.json"
    files = (directory / ".cursor" / "mcp.json" for directory in (start, *start.parents))
    return tuple(file for file in files if is_there(file) and file.resolve() != own)


def approve(clone: Clone, workspace: Path, key: str, entry: Mapping[str, Any]) -> None:
    """Approve the hosted server and its tools, in the clone alone.

    Raises:
        ProfileError: The clone's files can't be read or written.
    """
    _set_permission(clone, _permission(key), wanted=True)
    path = str(workspace.resolve())
    approval = {"path": path, "server": entry}
    text = json.dumps(approval, separators=(",", ":"), ensure_ascii=False)
    digest = hashlib.sha256(text.encode(errors="surrogateescape")).hexdigest()[:16]
    slug = re.sub(r"[^A-Za-z0-9]+", "-", path).strip("-")
    if not slug or len(slug) > _LONGEST_SLUG:
        return
    directory = clone.profile / "projects" / slug
    with reported("made", directory):
        directory.mkdir(parents=True, exist_ok=True, mode=0o700)
    data = json.dumps([f"{key}-{digest}"]).encode()
    write_atomically(directory / "mcp-approvals.json", data)


def withdraw(clone: Clone, key: str) -> None:
    """Take the permission for the hosted tools back.

    Raises:
        ProfileError: The clone's files can't be read or written.
    """
    _set_permission(clone, _permission(key), wanted=False)


def _permission(key: str) -> str:
    return f"Mcp({key}:*)"


def _set_permission(clone: Clone, permission: str, *, wanted: bool) -> None:
    path = clone.profile / "cli-config.json"
    document = read_object(path)
    permissions = _part(path, document, "permissions", {})
    allowed = list(_part(path, permissions, "allow", []))
    if (permission in allowed) == wanted:
        return
    if wanted:
        allowed.append(permission)
    else:
        allowed = [entry for entry in allowed if entry != permission]
    # These three are what the CLI requires of the file.
    required = {"version": 1, "editor": {"vimMode": False}}
    permissions = {"deny": [], **permissions, "allow": allowed}
    write_object(path, {**required, **document, "permissions": permissions})


def _part(path: Path, document: Mapping[str, Any], name: str, default: Any) -> Any:
    value = document.get(name, default)
    if not isinstance(value, type(default)):
        msg = f"{name} in {path} has an unexpected form. Correct it in the source profile."
        raise ProfileError(msg)
    return value
