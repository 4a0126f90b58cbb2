"""The source profile: where it is, and how a clone is filled from it."""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from ....errors import ProfileError
from ...profiles.clone import Clone
from ...profiles.files import TreeCopier, is_there, link_file, reported

__all__ = ["Source", "find_source"]

_COPIED = (
    "config.toml",
    "config.json",
    "hooks.json",
    "instructions.md",
    "AGENTS*.md",
    "instructions",
    "skills",
    "rules",
    "prompts",
    "agents",
    "hooks",
)
_LINKED = ("auth.json", ".credentials.json", ".env")
"""The login, logins of MCP servers, and variables that Codex reads, such as keys."""


@dataclass(frozen=True, slots=True)
class Source:
    """A profile to clone, which is only ever read."""

    profile: Path
    """What `~/.codex` is to the user; may be missing where it is the default."""

    @property
    def config(self) -> Path:
        """Its configuration file."""
        return self.profile / "config.toml"

    def seed(self, clone: Clone) -> None:
        """Fill a clone: settings are copied, logins are linked.

        Conversations, history, memories, logs and databases are not taken.

        Raises:
            ProfileError: Something can't be read, copied or linked.
        """
        copier = TreeCopier()
        with reported("read", self.profile):
            found = [path for name in _COPIED for path in sorted(self.profile.glob(name))]
        for path in found:
            copier.copy(path, clone.profile / path.name)
        for name in _LINKED:
            if os.path.lexists(self.profile / name):
                link_file(self.profile / name, clone.profile / name)


def find_source(profile: Path | None, environment: Mapping[str, str]) -> Source:
    """Return the source profile, explicit or the user's own.

    Args:
        profile: The explicit one.
        environment: Where ``CODEX_HOME`` and ``HOME`` are looked up.

    Raises:
        ProfileError: It must be there, and is no directory.
    """
    if profile is not None:
        return _existing(profile.expanduser().absolute(), "Correct `profile`, or leave it out.")
    if moved := environment.get("CODEX_HOME", ""):
        return _existing(Path(moved).absolute(), "Correct CODEX_HOME, or leave it unset.")
    home = environment.get("HOME", "")
    if not home:
        msg = "HOME is not set, so there is no profile to find. Set it, or pass `profile`."
        raise ProfileError(msg)
    own = Path(home).absolute() / ".codex"
    return _existing(own, "Make it a directory.") if is_there(own) else Source(own)


def _existing(path: Path, step: str) -> Source:
    # Not by `is_dir` alone, which may raise where a parent can't be entered.
    if not is_there(path) or not path.is_dir():
        msg = f"The profile {path} is not a directory. {step}"
        raise ProfileError(msg)
    return Source(path)
