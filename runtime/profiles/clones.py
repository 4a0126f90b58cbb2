"""Where isolated clones live, and how they come and go.

::

    <root>/                 toolcrib-<uid>, 0700, below the temporary directory
        <host id>/          one a host process, locked while it lives
            <clone name>/   a `Clone`, with its ownership record `owner.json`

A host that was killed leaves its directory without the lock; the next host's
`CloneStore.sweep` removes it.
"""

from __future__ import annotations

import json
import logging
import os
import secrets
import stat
import tempfile
import threading
from collections.abc import Callable
from contextlib import suppress
from datetime import UTC, datetime
from pathlib import Path

from ...errors import ProfileError
from .clone import Clone
from .files import read_file, remove_tree, reported, write_atomically
from .host_directory import claim, private_root, try_lock

__all__ = ["CloneStore"]

_log = logging.getLogger("toolcrib.profiles")

_RECORD = "owner.json"
_RECORD_LIMIT = 64 * 1024


class CloneStore:
    """The clones of this host process.

    Methods block and may be called from several threads at once, on different
    clones; `close` only when no `create` is under way. A store belongs to the
    process that made it: in a forked child every method refuses, except
    `close`, which does nothing. A forked child that outlives its host keeps
    the lock, and so delays the sweep until it ends as well.

    Args:
        root: The directory to keep clones in. Unset, it is
            ``toolcrib-<user id>`` below the system's temporary directory.
    """

    def __init__(self, root: Path | None = None) -> None:
        name = f"toolcrib-{os.geteuid()}"
        self._root = Path(tempfile.gettempdir(), name) if root is None else root.absolute()
        # Short, since a provider may put sockets, whose paths are limited to
        # about 100 characters, below the clone.
        self._host_id = secrets.token_hex(8)
        self._pid = os.getpid()
        self._guard = threading.Lock()
        self._lock: int | None = None

    @property
    def root(self) -> Path:
        """The directory below which all clones of this user lie."""
        return self._root

    @property
    def host_id(self) -> str:
        """What names this host process among others; random, not secret."""
        return self._host_id

    @property
    def host_directory(self) -> Path:
        """The directory of this host process; made with the first clone."""
        return self._root / self._host_id

    def create(self, agent: str, key: str, seed: Callable[[Clone], None]) -> Clone:
        """Make a clone and let ``seed`` fill it, on the calling thread.

        Args:
            agent: The name of the Agent that owns it.
            key: What tells the Agent's clones apart.
            seed: Fills it. If it raises, nothing of the clone is left, and its
                error goes on.

        Raises:
            ProfileError: The directories can't be made.
        """
        host = self._claimed()
        clone = Clone(host / secrets.token_hex(4))
        try:
            clone.root.mkdir(mode=0o700)
            write_atomically(clone.root / _RECORD, self._record(agent, key))
            for directory in (clone.profile, clone.home, clone.temp):
                directory.mkdir(mode=0o700)
        except OSError as error:
            _discard(clone)
            msg = f"{clone.root} can't be made: {error.strerror}. Check the temporary directory."
            raise ProfileError(msg) from error
        except BaseException:
            _discard(clone)
            raise
        try:
            seed(clone)
        except BaseException:
            _discard(clone)
            raise
        return clone

    def remove(self, clone: Clone) -> None:
        """Remove a clone of this host. Does nothing where it is gone.

        Raises:
            ProfileError: It is not a clone of this host, or something in it
                can't be removed; then call again.
        """
        self._check_process()
        root = clone.root
        if root.parent != self.host_directory:
            raise ProfileError(_refusal(root, f"it is not directly inside {self.host_directory}"))
        try:
            found = root.lstat()
        except FileNotFoundError:
            return
        if not stat.S_ISDIR(found.st_mode):
            raise ProfileError(_refusal(root, "it is a link or a file"))
        self._check_record(root)
        _remove_clone(root)

    def sweep(self) -> tuple[Path, ...]:
        """Remove what hosts that are no longer alive have left.

        What can't be removed is logged and left for the next sweep.

        Returns:
            The clones that were removed.

        Raises:
            ProfileError: The root is not safe to use.
        """
        self._check_process()
        if not os.path.lexists(self._root):
            return ()
        removed: list[Path] = []
        for host in sorted(private_root(self._root).iterdir()):
            if host != self.host_directory:
                removed += _sweep_host(host)
        return tuple(removed)

    def close(self) -> None:
        """Give the lock back, and remove the host's directory if it is empty.

        Clones that are still there stay for another host's `sweep`.
        """
        if os.getpid() != self._pid:
            return
        with self._guard:
            if self._lock is None:
                return
            try:
                self.host_directory.rmdir()
            except OSError as error:
                _log.warning("%s is left behind: %s", self.host_directory, error.strerror)
            os.close(self._lock)
            self._lock = None

    def _claimed(self) -> Path:
        self._check_process()
        with self._guard:
            if self._lock is None:
                private_root(self._root)
                self._lock = claim(self.host_directory)
        return self.host_directory

    def _check_process(self) -> None:
        if os.getpid() != self._pid:
            msg = "This clone store belongs to the parent process. Make one after the fork."
            raise ProfileError(msg)

    def _record(self, agent: str, key: str) -> bytes:
        record = {
            "version": 1,
            "host": self._host_id,
            "pid": self._pid,
            "agent": agent,
            "key": key,
            "created": datetime.now(UTC).isoformat(),
        }
        return json.dumps(record, indent=2).encode() + b"\n"

    def _check_record(self, root: Path) -> None:
        data = read_file(root / _RECORD, _RECORD_LIMIT)
        if data is None:
            # Removal takes the record last: without it, only an empty
            # directory can be the rest of a clone of ours.
            if any(root.iterdir()):
                raise ProfileError(_refusal(root, f"it has no {_RECORD}"))
            return
        try:
            record = json.loads(data)
        except (ValueError, RecursionError):
            record = None
        if not isinstance(record, dict) or record.get("host") != self._host_id:
            raise ProfileError(_refusal(root, f"its {_RECORD} doesn't name this host"))


def _refusal(root: Path, reason: str) -> str:
    return f"{root} is not removed: {reason}. Remove it by hand if it is not needed."


def _discard(clone: Clone) -> None:
    try:
        remove_tree(clone.root)
    except ProfileError:
        _log.exception("a clone that could not be finished is left for the next sweep")


def _remove_clone(root: Path) -> None:
    with reported("removed", root), suppress(FileNotFoundError):
        root.chmod(0o700)
        for entry in root.iterdir():
            if entry.name != _RECORD:
                remove_tree(entry)
    # The record goes last, so that a removal that failed can be tried again.
    remove_tree(root)


def _sweep_host(host: Path) -> list[Path]:
    lock = try_lock(host)
    if lock is None:
        return []
    removed: list[Path] = []
    try:
        for clone in sorted(host.iterdir()):
            remove_tree(clone)
            removed.append(clone)
        host.rmdir()
    except (OSError, ProfileError) as error:
        _log.warning("%s of a host that is gone can't be removed yet: %s", host, error)
    finally:
        os.close(lock)
    return removed
