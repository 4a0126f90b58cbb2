"""Agents that an application gives a run, as files beside those of the profile."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from pathlib import Path

from ...errors import ConfigurationError
from .files import is_there, read_file, reported, write_atomically

__all__ = ["lay_agents", "repository_folders"]

_LIMIT = 1024 * 1024


def lay_agents(
    texts: Mapping[str, str],
    directory: Path,
    suffix: str,
    *,
    others: Iterable[Path],
    named: Callable[[str], str | None],
) -> None:
    """Write agents into a clone, once nobody else's has one of their names.

    The files are not named after their content, as the provider may want their
    names. So all runs of a clone have the same agents.

    Args:
        texts: The files' texts, by the agent's name.
        directory: The provider's directory of agents, in the clone.
        suffix: How the files end, such as ``.md``.
        others: Further directories that the provider reads agents from.
        named: Returns the name that a file's text gives its agent, if any.

    Raises:
        ConfigurationError: There is another agent of that name; both are named.
        ProfileError: A file can't be read or written.
    """
    if not texts:
        return
    ours = {directory / f"{name}{suffix}": text for name, text in texts.items()}
    names = {name.casefold(): name for name in texts}
    for folder in (directory, *others):
        for path in _files(folder, suffix):
            text = (read_file(path, _LIMIT) or b"").decode(errors="replace")
            if ours.get(path) != text:
                _check(path, (path.stem, named(text)), names, directory)
    with reported("made", directory):
        directory.mkdir(mode=0o700, exist_ok=True)
    for path, text in ours.items():
        if not is_there(path):
            write_atomically(path, text.encode())


def repository_folders(workspace: Path, name: str) -> tuple[Path, ...]:
    """Return the folders of a name in a workspace, and above it in its repository."""
    start = workspace.resolve()
    above = (start, *start.parents)
    root = next((n for n, folder in enumerate(above) if is_there(folder / ".git")), 0)
    return tuple(folder / name for folder in above[: root + 1])


def _files(folder: Path, suffix: str) -> list[Path]:
    with reported("read", folder):
        return sorted(path for path in folder.rglob(f"*{suffix}") if path.is_file())


def _check(
    path: Path, taken: Iterable[str | None], names: Mapping[str, str], directory: Path
) -> None:
    for name in taken:
        mine = None if name is None else names.get(name.casefold())
        if mine is None:
            continue
        inside = path.is_relative_to(directory)
        where = f"agents/{path.relative_to(directory)} of the profile" if inside else str(path)
        msg = f"The agent {mine!r} has the name of {name!r}, in {where}. Rename the one you add."
        raise ConfigurationError(msg)
