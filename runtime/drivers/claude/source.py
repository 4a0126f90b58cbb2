"""Claude Code's source profile.

The CLI keeps its MCP servers in `.claude.json`. That file lies in the profile
where ``CLAUDE_CONFIG_DIR`` names one, and beside it, in the home directory,
where nothing does.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from ....errors import ProfileError
from ...profiles.clone import Clone
from ...profiles.files import is_there
from ...profiles.mcp_json import check_entries, check_servers, read_object
from ..stream_json.profile import find_profile, project_files, seed

__all__ = ["CONFIG", "Source", "check_projects", "find_source"]

CONFIG = ".claude.json"
"""The file that holds the MCP servers."""

_VARIABLE = "CLAUDE_CONFIG_DIR"
_OWN_NAME = ".claude"
_COPIED = (
    "settings.json",
    "settings.local.json",
    "config.json",
    "CLAUDE.md",
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
    """What `~/.claude` is to the user; may be missing where it is the default."""
    config: Path
    """Its `.claude.json`; may be missing."""

    def seed(self, clone: Clone) -> None:
        """Fill a clone: settings are copied, logins are linked.

        Raises:
            ProfileError: Something can't be read, copied or linked.
        """
        copied = {name: self.profile / name for name in _COPIED}
        linked = {name: self.profile / name for name in _LINKED}
        seed(clone, {CONFIG: self.config, **copied}, linked)

    def check(self, workspace: Path, key: str, variable: str) -> None:
        """Find servers of the profile that are in our way.

        Raises:
            ServerConflictError: There is one.
            ProfileError: The file can't be read or is malformed.
        """
        check_servers(self.config, key, variable)
        projects = read_object(self.config).get("projects", {})
        if not isinstance(projects, dict):
            msg = f"projects in {self.config} is not a JSON object. Correct it there."
            raise ProfileError(msg)
        here = {
            str(path)
            for start in (workspace, workspace.resolve())
            for path in (start, *start.parents)
        }
        for name, project in projects.items():
            servers = project.get("mcpServers") if isinstance(project, dict) else None
            if name in here and isinstance(servers, dict):
                check_entries(self.config, servers, key, variable)


def check_projects(workspace: Path, key: str, variable: str) -> None:
    """Find servers of a repository that are in our way; the CLI reads them too.

    Raises:
        ServerConflictError: There is one.
        ProfileError: A file can't be read or is malformed.
    """
    for path in project_files(workspace):
        check_servers(path, key, variable)


def find_source(explicit: str | os.PathLike[str] | None, environment: Mapping[str, str]) -> Source:
    """Return the source profile, explicit or the user's own.

    Raises:
        ProfileError: It must be there, and is no directory.
    """
    profile = find_profile(explicit, environment, _VARIABLE, _OWN_NAME)
    home = environment.get("HOME", "")
    inside = profile / CONFIG
    own = bool(home) and profile == Path(home).absolute() / _OWN_NAME
    moved = explicit is not None or environment.get(_VARIABLE, "")
    if own and not (moved and is_there(inside)):
        return Source(profile, Path(home).absolute() / CONFIG)
    return Source(profile, inside)
