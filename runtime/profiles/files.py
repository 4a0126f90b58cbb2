"""File work for profiles: whole writes, bounded copies, links, removal.

Every function blocks and belongs on a worker thread. What goes wrong is a
`ProfileError` that names the file.
"""

from __future__ import annotations

import os
import shutil
import stat
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from ...errors import ProfileError

__all__ = [
    "TreeCopier",
    "is_there",
    "link_file",
    "read_file",
    "remove_tree",
    "reported",
    "write_atomically",
]

_CHUNK = 1024 * 1024
_MAX_DEPTH = 64
_REMOVE_ATTEMPTS = 3


@contextmanager
def reported(action: str, path: Path) -> Iterator[None]:
    """Turn an `OSError` about a path into a `ProfileError` that names it.

    Args:
        action: What was tried, as a participle such as ``written``.
        path: With what.
    """
    try:
        yield
    except OSError as error:
        reason = error.strerror or type(error).__name__
        msg = f"{path} can't be {action}: {reason}. Check its permissions and the free space."
        raise ProfileError(msg) from error


def is_there(path: Path) -> bool:
    """Tell whether something can be reached at a path; links are followed."""
    try:
        path.stat()
    except OSError:
        return False
    return True


def write_atomically(path: Path, data: bytes, mode: int = 0o600) -> None:
    """Write a file as a whole: readers see the old bytes or the new ones.

    Args:
        path: The file; its directory must exist.
        data: The new content.
        mode: Permissions of a new file. One that exists keeps its own.

    Raises:
        ProfileError: The target is a symbolic link or not a regular file, or
            can't be written. The target is as it was.
    """
    with reported("written", path):
        kept = _mode_of_regular(path)
        handle, name = tempfile.mkstemp(prefix=".toolcrib-", dir=path.parent)
        try:
            with os.fdopen(handle, "wb") as file:
                file.write(data)
                file.flush()
                os.fchmod(handle, mode if kept is None else kept)
                os.fsync(handle)
            Path(name).replace(path)
        except BaseException:
            Path(name).unlink(missing_ok=True)
            raise
        _sync_directory(path.parent)


def _mode_of_regular(path: Path) -> int | None:
    try:
        found = path.lstat()
    except FileNotFoundError:
        return None
    if not stat.S_ISREG(found.st_mode):
        what = "a symbolic link" if stat.S_ISLNK(found.st_mode) else "not a regular file"
        msg = f"{path} is {what}; toolcrib won't replace it. Put a regular file there."
        raise ProfileError(msg)
    return found.st_mode & 0o777


def _sync_directory(path: Path) -> None:
    handle = os.open(path, os.O_RDONLY | os.O_DIRECTORY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)


def read_file(path: Path, limit: int) -> bytes | None:
    """Return a regular file's bytes, ``None`` where there is no such file.

    Args:
        path: The file; a symbolic link is followed.
        limit: The most bytes to accept.

    Raises:
        ProfileError: It is not a regular file, too large, or can't be read.
    """
    with reported("read", path):
        try:
            handle = _open_regular(path)
        except FileNotFoundError:
            return None
        with os.fdopen(handle, "rb") as file:
            data = file.read(limit + 1)
    if len(data) > limit:
        msg = f"{path} is larger than {limit} bytes. Make it smaller."
        raise ProfileError(msg)
    return data


def _open_regular(path: Path) -> int:
    # Without O_NONBLOCK the opening of a FIFO would wait for a writer.
    handle = os.open(path, os.O_RDONLY | os.O_NONBLOCK)
    if not stat.S_ISREG(os.fstat(handle).st_mode):
        os.close(handle)
        raise ProfileError(_special(path))
    return handle


def _special(path: Path) -> str:
    return f"{path} is neither a regular file nor a directory. Move it out of the profile."


class TreeCopier:
    """Copies files and directories, bounded over all of its copies together.

    Permissions are kept. Symbolic links are followed, so that a copy never
    leads back to its source; links that lead nowhere are left out.

    Args:
        max_entries: The most files and directories.
        max_bytes: The most bytes.
    """

    def __init__(self, *, max_entries: int = 20_000, max_bytes: int = 64 * 1024 * 1024) -> None:
        self._max_entries = max_entries
        self._max_bytes = max_bytes
        self._entries = 0
        self._bytes = 0

    def copy(self, source: Path, target: Path) -> bool:
        """Copy a file or a whole directory to a place where nothing is yet.

        Returns:
            Whether there was something to copy.

        Raises:
            ProfileError: It is too much, holds something that is neither file
                nor directory, or can't be read or written.
        """
        return self._copy(source, target, ())

    def _copy(self, source: Path, target: Path, above: tuple[tuple[int, int], ...]) -> bool:
        with reported("copied", source):
            try:
                found = source.stat()
            except FileNotFoundError:
                return False
            self._count(source)
            if stat.S_ISDIR(found.st_mode):
                self._copy_directory(source, target, found, above)
            else:
                self._copy_file(source, target)
        return True

    def _copy_directory(
        self,
        source: Path,
        target: Path,
        found: os.stat_result,
        above: tuple[tuple[int, int], ...],
    ) -> None:
        here = (found.st_dev, found.st_ino)
        if here in above or len(above) >= _MAX_DEPTH:
            msg = f"{source} leads back into itself or is nested too deeply. Remove that link."
            raise ProfileError(msg)
        target.mkdir(mode=0o700)
        for entry in sorted(source.iterdir()):
            self._copy(entry, target / entry.name, (*above, here))
        target.chmod(found.st_mode & 0o777)

    def _copy_file(self, source: Path, target: Path) -> None:
        reading = _open_regular(source)
        with os.fdopen(reading, "rb", buffering=0) as old, target.open("xb") as new:
            os.fchmod(new.fileno(), 0o600)
            while chunk := old.read(_CHUNK):
                self._bytes += len(chunk)
                if self._bytes > self._max_bytes:
                    raise ProfileError(self._too_much(source))
                new.write(chunk)
            os.fchmod(new.fileno(), os.fstat(reading).st_mode & 0o777)

    def _count(self, source: Path) -> None:
        self._entries += 1
        if self._entries > self._max_entries:
            raise ProfileError(self._too_much(source))

    def _too_much(self, source: Path) -> str:
        return (
            f"The profile is too large to clone: at {source} it passed {self._max_entries} "
            f"entries or {self._max_bytes} bytes. Move what the agent doesn't need out of it."
        )


def link_file(source: Path, target: Path) -> None:
    """Make ``target`` a symbolic link to a regular file, replacing what is there.

    Never falls back to a copy: a copied login goes stale as soon as the
    provider renews it.

    Raises:
        ProfileError: The source is no regular file, or can't be linked.
    """
    with reported("linked", source):
        if not stat.S_ISREG(source.stat().st_mode):
            raise ProfileError(_special(source))
        target.unlink(missing_ok=True)
        target.symlink_to(source.absolute())


def remove_tree(path: Path) -> None:
    """Remove a file, or a directory with all that is in it.

    Links are not followed. Directories without write permission are opened up
    first. Does nothing where the path is gone.

    Raises:
        ProfileError: Something in it can't be removed.
    """
    with reported("removed", path):
        for attempt in range(1, _REMOVE_ATTEMPTS + 1):
            try:
                with suppress(FileNotFoundError):
                    _remove_once(path)
                if not os.path.lexists(path):
                    return
            except OSError:
                # A process that is just ending may still put files in.
                if attempt == _REMOVE_ATTEMPTS:
                    raise


def _remove_once(path: Path) -> None:
    if stat.S_ISDIR(path.lstat().st_mode):
        _open_up(path)
        shutil.rmtree(path)
    else:
        path.unlink()


def _open_up(path: Path) -> None:
    path.chmod(0o700)
    for parent, names, _files in os.walk(path):
        for name in names:
            inner = Path(parent, name)
            if not inner.is_symlink() and inner.stat().st_mode & 0o700 != 0o700:
                inner.chmod(0o700)
