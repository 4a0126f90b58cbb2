"""The source profile: where it is, and how a clone is filled from it.

The Cursor CLI keeps its things in three places: a configuration directory
(`CURSOR_CONFIG_DIR`, else `$XDG_CONFIG_HOME/cursor`, else `~/.cursor`), a data
directory, and `~/.cursor`, which no variable moves. In a clone all three are
one directory.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from ....errors import ProfileError
from ...profiles.clone import Clone
from ...profiles.files import TreeCopier, is_there, link_file, reported

__all__ = ["Source", "find_source", "link_profile"]

_COPIED = (
    "cli-config.json",
    "config.json",
    "settings.json",
    "permissions.json",
    "mcp.json",
    "hooks.json",
    "hooks",
    "commands",
    "skills",
    "agents",
    "rules",
)
_LINKED = ("auth.json", "credentials.json")
_FROM_CONFIG = "cli-config.json"
_OWN_NAME = ".cursor"


@dataclass(frozen=True, slots=True)
class Source:
    """A profile to clone, which is only ever read."""

    profile: Path
    """What `~/.cursor` is to the user; may be missing where it is the default."""
    config: tuple[Path, ...]
    """Where the CLI's configuration is looked for, the first that has it wins."""
    logins: tuple[Path, ...]
    """Where a login is looked for, the first that has it wins."""
    home: Path | None
    """The user's home directory."""

    def locate(self, name: str) -> Path:
        """Return where an entry of the profile is, or would be."""
        if name != _FROM_CONFIG:
            return self.profile / name
        found = (directory / name for directory in self.config)
        return next((path for path in found if is_there(path)), self.profile / name)

    def seed(self, clone: Clone) -> None:
        """Fill a clone: settings are copied, logins and the home are linked.

        Conversations and per-project data are not taken.

        Raises:
            ProfileError: Something can't be read, copied or linked.
        """
        copier = TreeCopier()
        for name in _COPIED:
            copier.copy(self.locate(name), clone.profile / name)
        for name in _LINKED:
            found = (directory / name for directory in self.logins)
            login = next((path for path in found if os.path.lexists(path)), None)
            if login is not None:
                link_file(login, clone.profile / name)
        self._link_home(clone.home)
        link_profile(clone)

    def _link_home(self, target: Path) -> None:
        # The model's shell needs git, ssh and toolchains, which look there.
        if self.home is None or not is_there(self.home):
            return
        with reported("read", self.home):
            for entry in sorted(self.home.iterdir()):
                if entry.name != _OWN_NAME:
                    (target / entry.name).symlink_to(entry)


def link_profile(clone: Clone) -> None:
    """Make the clone's home show the clone's profile as `.cursor`.

    Raises:
        ProfileError: Something else is there and can't be replaced.
    """
    link = clone.home / _OWN_NAME
    with reported("linked", link):
        if link.is_symlink() and link.readlink() == clone.profile:
            return
        link.unlink(missing_ok=True)
        link.symlink_to(clone.profile)


def find_source(profile: Path | None, environment: Mapping[str, str]) -> Source:
    """Return the source profile, explicit or the user's own.

    Args:
        profile: The explicit one.
        environment: Where its variables and the home directory are looked up.

    Raises:
        ProfileError: The explicit one is no directory.
    """
    home = _directory(environment, "HOME")
    xdg = _directory(environment, "XDG_CONFIG_HOME")
    shared = [xdg / "cursor"] if xdg else []
    if home is not None:
        shared.append(home / ".config" / "cursor")
    if profile is not None:
        path = profile.expanduser().absolute()
        if not _is_directory(path):
            msg = f"The profile {path} is not a directory. Correct `profile`, or leave it out."
            raise ProfileError(msg)
        return Source(path, (path,), (path, *shared), home)
    if home is None:
        msg = "HOME is not set, so there is no profile to find. Set it, or pass `profile`."
        raise ProfileError(msg)
    own = home / _OWN_NAME
    moved = _directory(environment, "CURSOR_CONFIG_DIR")
    config = [path for path in (moved, xdg and xdg / "cursor", own) if path is not None]
    logins = [path for path in (moved, own, *shared) if path is not None]
    return Source(own, tuple(config), tuple(logins), home)


def _directory(environment: Mapping[str, str], name: str) -> Path | None:
    value = environment.get(name, "")
    return Path(value).absolute() if value else None


def _is_directory(path: Path) -> bool:
    try:
        return path.is_dir()
    except OSError:
        return False
