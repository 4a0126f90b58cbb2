"""Profiles that one variable moves: where they are, and how a clone is filled."""

from __future__ import annotations

import os
import re
from collections.abc import Mapping, Sequence
from pathlib import Path, PurePosixPath

from ....errors import ConfigurationError, ProfileError
from ...profiles.clone import Clone
from ...profiles.files import TreeCopier, is_there, link_file

__all__ = ["check_session", "conversation_files", "find_profile", "project_files", "seed"]

_SESSION_ID = re.compile(r"[A-Za-z0-9][A-Za-z0-9_-]{0,199}")
_PROJECTS = "projects"


def find_profile(
    explicit: str | os.PathLike[str] | None,
    environment: Mapping[str, str],
    variable: str,
    own: str,
) -> Path:
    """Return the source profile; the default one may be missing.

    Args:
        explicit: The one that the user named.
        environment: Where variables are looked up.
        variable: The variable that moves the provider's profile.
        own: Its name in the home directory, where nothing moves it.

    Raises:
        ProfileError: It must be there, and is no directory.
    """
    if explicit is not None:
        path = Path(explicit).expanduser().absolute()
        return _existing(path, "Correct `profile`, or leave it out.")
    if moved := environment.get(variable, ""):
        return _existing(Path(moved).absolute(), f"Correct {variable}, or leave it unset.")
    home = environment.get("HOME", "")
    if not home:
        msg = "HOME is not set, so there is no profile to find. Set it, or pass `profile`."
        raise ProfileError(msg)
    path = Path(home).absolute() / own
    return _existing(path, "Make it a directory.") if is_there(path) else path


def _existing(path: Path, step: str) -> Path:
    # Not by `is_dir` alone, which may raise where a parent can't be entered.
    if not is_there(path) or not path.is_dir():
        msg = f"The profile {path} is not a directory. {step}"
        raise ProfileError(msg)
    return path


def seed(clone: Clone, copied: Mapping[str, Path], linked: Mapping[str, Path]) -> None:
    """Fill a clone; what is missing in the source is left out.

    Args:
        clone: The clone.
        copied: Settings, by their names in the clone.
        linked: Logins, by their names in the clone.

    Raises:
        ProfileError: Something can't be read, copied or linked.
    """
    copier = TreeCopier()
    for name, path in copied.items():
        copier.copy(path, clone.profile / name)
    for name, path in linked.items():
        if os.path.lexists(path):
            link_file(path, clone.profile / name)


def project_files(workspace: Path) -> tuple[Path, ...]:
    """Return the server files of a workspace and of the directories above it."""
    start = workspace.resolve()
    files = (directory / ".mcp.json" for directory in (start, *start.parents))
    return tuple(file for file in files if is_there(file))


def check_session(session_id: str, provider: str) -> str:
    """Return a conversation's id, once it can't be taken for a flag or a path.

    Raises:
        ConfigurationError: It can.
    """
    if not _SESSION_ID.fullmatch(session_id):
        msg = f"{session_id!r} is no conversation of {provider}. Start a new thread."
        raise ConfigurationError(msg)
    return session_id


def conversation_files(clone: Clone, session_id: str) -> tuple[PurePosixPath, ...]:
    """Return a conversation's file, and the files in the folder of its name.

    The provider names the folder above them after the working directory, so
    they are looked for by the id alone.
    """
    projects = clone.profile / _PROJECTS
    if projects.is_symlink() or not _SESSION_ID.fullmatch(session_id):
        return ()
    found: list[Path] = []
    for project in _directories(projects):
        found += _regular((project / f"{session_id}.jsonl",))
        beside = project / session_id
        if beside.is_symlink():
            continue
        for parent, _names, files in os.walk(beside):
            found += _regular([Path(parent, name) for name in files])
    return tuple(sorted(PurePosixPath(path.relative_to(clone.profile)) for path in found))


def _directories(path: Path) -> list[Path]:
    if not path.is_dir():
        return []
    return [entry for entry in path.iterdir() if entry.is_dir() and not entry.is_symlink()]


def _regular(paths: Sequence[Path]) -> list[Path]:
    return [path for path in paths if path.is_file() and not path.is_symlink()]
