"""CodeBuddy's source profile.

Of three files that may hold the user's MCP servers the CLI reads one: the first
that is there. A clone has the first, filled from whichever counts.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from ...profiles.clone import Clone
from ...profiles.files import is_there
from ..stream_json.profile import find_profile, seed

__all__ = ["SERVERS", "Source", "find_source", "own_folder"]

SERVERS = ".mcp.json"
"""The file that holds the MCP servers."""

_VARIABLE = "CODEBUDDY_CONFIG_DIR"
_OWN_NAME = ".codebuddy"
_LEGACY = "mcp.json"
_OLDEST = ".codebuddy.json"
_COPIED = (
    "settings.json",
    "settings.local.json",
    "models.json",
    "CODEBUDDY.md",
    "agents",
    "commands",
    "hooks",
    "output-styles",
    "rules",
    "skills",
)
_LINKED = (".credentials.json", "credentials.json")


@dataclass(frozen=True, slots=True)
class Source:
    """A profile to clone, which is only ever read."""

    profile: Path
    """What `~/.codebuddy` is to the user; may be missing where it is the default."""
    servers: Path
    """The file that its MCP servers are read from; may be missing."""

    def seed(self, clone: Clone) -> None:
        """Fill a clone: settings are copied, logins are linked.

        Raises:
            ProfileError: Something can't be read, copied or linked.
        """
        copied = {name: self.profile / name for name in _COPIED}
        linked = {name: self.profile / name for name in _LINKED}
        seed(clone, {SERVERS: self.servers, **copied}, linked)


def find_source(explicit: str | os.PathLike[str] | None, environment: Mapping[str, str]) -> Source:
    """Return the source profile, explicit or the user's own.

    Raises:
        ProfileError: It must be there, and is no directory.
    """
    profile = find_profile(explicit, environment, _VARIABLE, _OWN_NAME)
    files = [profile / SERVERS, profile / _LEGACY]
    home = environment.get("HOME", "")
    if home and profile == Path(home).absolute() / _OWN_NAME:
        files.append(profile.with_name(_OLDEST))
    return Source(profile, next((path for path in files if is_there(path)), files[0]))


def own_folder(workspace: Path) -> str:
    """Return the folder below `projects` where conversations of a workspace lie."""
    return str(workspace.resolve()).strip("/").replace("/", "-")
