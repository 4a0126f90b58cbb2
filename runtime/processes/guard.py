"""The guard process, as its host handles it: it cleans up when the host dies."""

from __future__ import annotations

import json
import logging
import os
import signal
import subprocess
import sys
import threading
from pathlib import Path
from typing import IO, cast

from . import guard_process
from .guard_process import HOST_MARKER, start_time

__all__ = ["HOST_MARKER", "Guard", "start_time"]

_PROGRAM = guard_process.__file__
# What an interpreter may need to find its own library; the guard needs no more,
# and above all not the host's secrets.
_KEPT_VARIABLES = ("PATH", "LD_LIBRARY_PATH", "DYLD_LIBRARY_PATH")
_BLOCKED = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP, signal.SIGQUIT)
_LEAVE = 2.0
_log = logging.getLogger("toolcrib.guard")


class Guard:
    """Starts one guard process and tells it what to end and to remove.

    The guard waits for the host's end, however it comes, unless it was closed
    before. Then it kills the recorded groups and every process whose
    environment has the host's marker, and removes the recorded directories.

    All methods are thread-safe and may block for a moment; none raises because
    of the guard. A guard that can't be started is logged: the sweep of the next
    host is what remains then. One that was killed is replaced at the next record.

    Args:
        host_marker: The value of `HOST_MARKER` in the environment of everything
            that this host's providers start; random, not secret.
        directory: This host's own directory of clones, recorded from the
            beginning.
    """

    def __init__(self, host_marker: str, directory: Path | None = None) -> None:
        self._marker = host_marker
        self._own_directory = directory
        self._lock = threading.Lock()
        self._process: subprocess.Popen[bytes] | None = None
        self._groups: dict[int, str | None] = {}
        self._directories: dict[str, str] = {}
        self._forget_all()

    @property
    def pid(self) -> int | None:
        """The guard's process id; ``None`` while there is none."""
        process = self._process
        return None if process is None else process.pid

    def start(self) -> None:
        """Start the guard, where it does not run yet."""
        with self._lock:
            if self._process is None:
                self._spawn()

    def record_group(self, pgid: int, start: str | None = None) -> None:
        """Tell it of a process group, and start it where it does not run yet.

        Args:
            pgid: The group's number, which is its leader's process id.
            start: The leader's `start_time`; looked up where not given.
        """
        with self._lock:
            self._groups[pgid] = start or start_time(pgid)
            self._tell(self._group(pgid))

    def forget_group(self, pgid: int) -> None:
        """Tell it that a group has ended, before its number can be used again."""
        with self._lock:
            if self._groups.pop(pgid, self) is not self:
                self._tell({"do": "forget_group", "pgid": pgid})

    def record_directory(self, path: Path, *, below: Path) -> None:
        """Tell it of a directory to remove, and start it where it does not run yet.

        Args:
            path: The directory; its links are removed, not followed.
            below: The directory of all clones; what lies elsewhere is left alone.
        """
        with self._lock:
            self._tell(self._directory(self._note_directory(path, below)))

    def forget_directory(self, path: Path) -> None:
        """Tell it that a directory is gone, or is somebody else's now."""
        name = str(path.absolute())
        with self._lock:
            if self._directories.pop(name, None) is not None:
                self._tell({"do": "forget_directory", "path": name})

    def close(self) -> None:
        """End the guard and forget all records; nothing is killed or removed.

        Waits some moments for its end. A later record starts a new one.
        """
        with self._lock:
            process, self._process = self._process, None
            self._forget_all()
            if process is not None:
                _dismiss(process)

    # What follows is called with the lock held.

    def _forget_all(self) -> None:
        self._groups.clear()
        self._directories.clear()
        if self._own_directory is not None:
            self._note_directory(self._own_directory, self._own_directory.parent)

    def _note_directory(self, path: Path, below: Path) -> str:
        # The guard works elsewhere, where a relative path is another one.
        name = str(path.absolute())
        self._directories[name] = str(below.absolute())
        return name

    def _group(self, pgid: int) -> dict[str, object]:
        return {"do": "group", "pgid": pgid, "start": self._groups[pgid]}

    def _directory(self, name: str) -> dict[str, object]:
        return {"do": "directory", "path": name, "below": self._directories[name]}

    def _tell(self, message: dict[str, object]) -> None:
        if self._process is not None:
            try:
                _write(self._process, message)
            except OSError:
                _log.warning("the guard process %d is gone; starting another", self._process.pid)
                _discard(self._process)
                self._process = None
            else:
                return
        # A new guard is told everything, this message's subject included.
        self._spawn()

    def _spawn(self) -> None:
        command = [sys.executable, "-I", "-S", _PROGRAM, str(os.getpid()), self._marker]
        # The guard inherits this, and so is deaf to them from its first moment.
        before = signal.pthread_sigmask(signal.SIG_BLOCK, _BLOCKED)
        try:
            process = subprocess.Popen(
                command,
                bufsize=0,
                stdin=subprocess.PIPE,
                stdout=subprocess.DEVNULL,
                stderr=subprocess.DEVNULL,
                cwd="/",
                env={name: os.environ[name] for name in _KEPT_VARIABLES if name in os.environ},
                start_new_session=True,
            )
        except (OSError, ValueError) as error:
            _log.warning(
                "no guard process can be started (%s): if this host is killed, its providers "
                "live on until the next host sweeps",
                error,
            )
            return
        finally:
            signal.pthread_sigmask(signal.SIG_SETMASK, before)
        try:
            for pgid in self._groups:
                _write(process, self._group(pgid))
            for name in self._directories:
                _write(process, self._directory(name))
        except OSError as error:
            _log.warning("the guard process %d ended at once (%s)", process.pid, error)
            _discard(process)
            return
        self._process = process


def _write(process: subprocess.Popen[bytes], message: dict[str, object]) -> None:
    pipe = cast("IO[bytes]", process.stdin)
    data = json.dumps(message).encode() + b"\n"
    while data:
        data = data[pipe.write(data) :]


def _discard(process: subprocess.Popen[bytes]) -> None:
    # Killed first: the end of its input would be the end of the host to it.
    process.kill()
    process.wait()
    if process.stdin is not None:
        process.stdin.close()


def _dismiss(process: subprocess.Popen[bytes]) -> None:
    try:
        _write(process, {"do": "close"})
        process.wait(_LEAVE)
    except (OSError, subprocess.TimeoutExpired):
        _log.warning("the guard process %d did not leave by itself; killing it", process.pid)
    _discard(process)
