"""What an application gives a run beside the profile, laid into its clone.

Runs of one Agent may share a clone, at the same time. So everything here is
named after its content: it is written once, never changed, and never in the
way of another run. What all runs of a clone have alike stays as long as the
clone; what may be another each time has a folder of the run's own.
"""

from __future__ import annotations

import hashlib
import os
import shutil
import tempfile
from collections.abc import Iterable, Sequence
from pathlib import Path

from ...errors import ConfigurationError
from ...messages.resources import Skill
from .clone import Clone
from .files import TreeCopier, is_there, reported, write_atomically

__all__ = ["digest_of", "lay_skills", "lay_text"]

_SKILL = "SKILL.md"


def digest_of(*parts: str) -> str:
    """Return a short name for some texts, the same for the same texts."""
    whole = "\0".join(parts).encode(errors="surrogateescape")
    return hashlib.sha256(whole).hexdigest()[:24]


def lay_text(clone: Clone, name: str, text: str) -> Path:
    """Write a text into the clone for a run, and return its file.

    Args:
        clone: The clone, lent to the run, at whose end the file goes.
        name: How the file's name ends, such as ``servers.json``.
        text: The text; may hold secrets, the file is the user's alone (0600).

    Raises:
        ProfileError: It can't be written.
    """
    path = _made(clone.given_to_run) / f"{digest_of(text)}-{name}"
    if not is_there(path):
        write_atomically(path, text.encode(errors="replace"))
    return path


def lay_skills(clone: Clone, skills: Sequence[Skill], directory: Path) -> None:
    """Make a directory of the clone show these skills beside the profile's own.

    Args:
        clone: The clone.
        skills: The skills; those of an earlier run that are not among them go.
        directory: The provider's directory of skills, in the clone.

    Raises:
        ConfigurationError: The profile has another skill of that name.
        ProfileError: A skill can't be read or written.
    """
    wanted = {skill.name: _laid(clone, skill) for skill in skills}
    with reported("written", directory):
        if wanted:
            directory.mkdir(mode=0o700, exist_ok=True)
        entries = sorted(directory.iterdir()) if directory.is_dir() else []
        # The profile was copied with its links followed, so a link is ours.
        for entry in entries:
            if entry.is_symlink() and entry.name not in wanted:
                entry.unlink(missing_ok=True)
        for name, target in wanted.items():
            _link(directory / name, target)


def _link(link: Path, target: Path) -> None:
    if link.is_symlink():
        if link.readlink() == target:
            return
    elif is_there(link):
        msg = f"The profile has a skill {link.name!r} of its own. Rename the one that you add."
        raise ConfigurationError(msg)
    new = link.with_name(f".{link.name}-{os.getpid()}-{target.parent.name}")
    new.unlink(missing_ok=True)
    new.symlink_to(target)
    new.replace(link)


def _laid(clone: Clone, skill: Skill) -> Path:
    """Copy a skill into the clone, and return its folder there."""
    made = Path(tempfile.mkdtemp(prefix=".making-", dir=_made(clone.given)))
    try:
        folder = made / skill.name
        if skill.path is not None:
            TreeCopier().copy(skill.path, folder)
        else:
            folder.mkdir(mode=0o700)
            write_atomically(folder / _SKILL, (skill.content or "").encode(errors="replace"))
        if not is_there(folder / _SKILL):
            msg = f"The skill {skill.name!r} has no {_SKILL} in {skill.path}. Put one there."
            raise ConfigurationError(msg)
        kept = _made(clone.given) / digest_of(*_contents(folder))
        # Another run may have laid the same; it is not touched again.
        if not is_there(kept):
            with reported("laid", kept):
                try:
                    made.rename(kept)
                except OSError:
                    if not is_there(kept):
                        raise
        return kept / skill.name
    finally:
        shutil.rmtree(made, ignore_errors=True)


def _contents(folder: Path) -> Iterable[str]:
    yield folder.name
    for path in sorted(folder.rglob("*")):
        yield str(path.relative_to(folder))
        if path.is_file():
            executable = path.stat().st_mode & 0o111
            yield f"{executable} {hashlib.sha256(path.read_bytes()).hexdigest()}"


def _made(folder: Path) -> Path:
    with reported("made", folder):
        folder.parent.mkdir(mode=0o700, exist_ok=True)
        folder.mkdir(mode=0o700, exist_ok=True)
    return folder
