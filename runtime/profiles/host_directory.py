"""Which host process owns a directory, told by a lock of the operating system.

The lock (`flock`) is on the directory itself. It ends with its process however
that ends, so neither a file's presence nor its age has to be judged; and there
is no lock file that a cleaner of temporary files could take away.
"""

from __future__ import annotations

import fcntl
import os
import stat
import time
from contextlib import suppress
from pathlib import Path

from ...errors import ProfileError

__all__ = ["claim", "private_root", "try_lock"]

_CLAIM_DEADLINE = 5.0


def private_root(path: Path) -> Path:
    """Return the directory, made where it is missing, once it is provably ours.

    Raises:
        ProfileError: It is a link, no directory, somebody else's, or open to
            other users.
    """
    try:
        path.mkdir(mode=0o700, parents=True, exist_ok=True)
        found = path.lstat()
    except OSError as error:
        msg = f"{path} can't be used for clones: {error.strerror}. Choose another directory."
        raise ProfileError(msg) from error
    if not stat.S_ISDIR(found.st_mode):
        fault = "is a link, not a directory"
    elif found.st_uid != os.geteuid():
        fault = "belongs to another user"
    elif found.st_mode & 0o077:
        fault = "is open to other users (it must have mode 0700)"
    else:
        return path
    msg = f"{path} {fault}, so no clone is put there. Remove it or choose another directory."
    raise ProfileError(msg)


def try_lock(path: Path) -> int | None:
    """Lock a directory, or return ``None`` where it is gone, a link, or taken.

    Returns:
        A descriptor; closing it gives the lock back. Child processes that are
        started the usual way don't inherit it.
    """
    try:
        handle = os.open(path, os.O_RDONLY | os.O_DIRECTORY)
    except OSError:
        return None
    try:
        fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
        # Between opening and locking, a sweep may have removed the directory;
        # and a link is never the same as what it leads to.
        if os.path.samestat(os.fstat(handle), path.lstat()):
            return handle
    except OSError:
        pass
    os.close(handle)
    return None


def claim(path: Path) -> int:
    """Make a directory (0700) and lock it, and return the descriptor.

    Raises:
        ProfileError: It can't be made or locked.
    """
    deadline = time.monotonic() + _CLAIM_DEADLINE
    while True:
        # A sweep may hold, and then remove, a directory that is new and
        # not locked yet; so try again.
        try:
            with suppress(FileExistsError):
                path.mkdir(mode=0o700)
        except OSError as error:
            msg = f"{path} can't be made: {error.strerror}. Check the temporary directory."
            raise ProfileError(msg) from error
        handle = try_lock(path)
        if handle is not None:
            return handle
        if time.monotonic() > deadline:
            msg = f"{path} can't be locked. Use a local directory for clones."
            raise ProfileError(msg)
        time.sleep(0.01)
