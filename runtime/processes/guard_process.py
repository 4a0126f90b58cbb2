"""What runs in the guard process: waits for its host's end, then cleans up.

This file is a program of its own, started by path with ``python -I -S``. It
imports nothing but the standard library, and little of that: it stays for as
long as its host, and has to be quick when that is gone.

It reads JSON objects, one a line, from its standard input::

    {"do": "group", "pgid": 123, "start": "4567"}
    {"do": "forget_group", "pgid": 123}
    {"do": "directory", "path": "/…/clones/a", "below": "/…/clones"}
    {"do": "forget_directory", "path": "/…/clones/a"}
    {"do": "close"}

After ``close`` it ends and touches nothing. Otherwise it takes the end of its
input, the host's end or a new parent as the end of the host. Then it kills the
recorded groups and every process whose environment has the host's marker, and
removes the recorded directories. Its host starts it with the signals blocked by
which a terminal or a shutdown ends processes. Nobody reads what it would say, so it says
nothing.

Where there is no ``/proc``, only the groups are found.
"""

# Without pathlib, whose import is a good part of such a short start.
# ruff: noqa: PTH101, PTH112, PTH114, PTH123, PTH208

from __future__ import annotations

import json
import os
import select
import shutil
import signal
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import suppress

__all__ = ["HOST_MARKER", "main", "start_time"]

HOST_MARKER = "TOOLCRIB_HOST"
"""The variable in the environment of all that the host's providers start."""

_LOOK_AT_PARENT = 0.5
_BETWEEN_SCANS = 0.1
_AFTER_KILL = 0.01
_PATIENCE = 10.0
_FIELD_OF_START = 19


def start_time(pid: int) -> str | None:
    """Return when a process started, as an opaque text; ``None`` if it is gone.

    Together with its number this names a process for good.
    """
    try:
        with open(f"/proc/{pid}/stat", "rb") as stat:
            fields = stat.read()
    except OSError:
        return None
    # The second field is a name in parentheses and may hold anything.
    return fields.rpartition(b")")[2].split()[_FIELD_OF_START].decode()


class _Records:
    """What the host has told so far."""

    def __init__(self) -> None:
        self.groups: dict[int, str | None] = {}
        self.directories: dict[str, str] = {}
        self.closed = False
        self._unread = b""

    def feed(self, data: bytes) -> None:
        *lines, self._unread = (self._unread + data).split(b"\n")
        for line in lines:
            with suppress(ValueError, KeyError, TypeError):
                self._take(json.loads(line))

    def _take(self, message: dict[str, object]) -> None:
        match message:
            case {"do": "group", "pgid": int(pgid), "start": str() | None as start}:
                self.groups[pgid] = start
            case {"do": "forget_group", "pgid": int(pgid)}:
                self.groups.pop(pgid, None)
            case {"do": "directory", "path": str(path), "below": str(below)}:
                self.directories[path] = below
            case {"do": "forget_directory", "path": str(path)}:
                self.directories.pop(path, None)
            case {"do": "close"}:
                self.closed = True
            case _:
                # A host of another version may know more than this file.
                return


def _wait_for_end(host: int, records: _Records) -> None:
    os.set_blocking(0, False)
    poll = select.poll()
    poll.register(0, select.POLLIN)
    pidfd = _open_pidfd(host)
    if pidfd is not None:
        poll.register(pidfd, select.POLLIN)
    # A process forked off the host may hold the pipe open, so its end alone is
    # not enough; a host that died before the guard came up has no pidfd.
    while _read(records) and os.getppid() == host and not records.closed:
        if pidfd in [fd for fd, _ in poll.poll(_LOOK_AT_PARENT * 1000)]:
            break
    # What it told last may still lie in the pipe.
    _read(records)


def _read(records: _Records) -> bool:
    """Take what the pipe holds; return whether there may come more."""
    with suppress(BlockingIOError):
        while data := os.read(0, 65536):
            records.feed(data)
        return False
    return True


def _open_pidfd(pid: int) -> int | None:
    opener = getattr(os, "pidfd_open", None)
    with suppress(OSError):
        return opener(pid) if opener is not None else None
    return None


def _end_processes(groups: dict[int, str | None], marker: str) -> None:
    give_up = time.monotonic() + _PATIENCE
    ours = set(_marked(marker))
    marked_groups = {_of(os.getpgid, pid) for pid in ours}
    proven = {
        pgid
        for pgid, start in groups.items()
        if pgid in marked_groups or (start is not None and start_time(pgid) == start)
    }
    # Whoever left the group but not its session is found through that.
    ours.update(pid for pid in _all_pids() if _of(os.getsid, pid) in proven)
    for pgid in proven:
        _kill(os.killpg, pgid)
    empty = 0
    while empty < 2 and time.monotonic() < give_up:
        for pid in ours:
            _kill(os.kill, pid)
        empty = 0 if ours else empty + 1
        # A process that is just being made may be missed by one scan.
        time.sleep(_AFTER_KILL if ours else _BETWEEN_SCANS)
        ours = set(_marked(marker))


def _marked(marker: str) -> Iterator[int]:
    wanted = b"\0" + os.fsencode(f"{HOST_MARKER}={marker}") + b"\0"
    for pid in _all_pids():
        with suppress(OSError), open(f"/proc/{pid}/environ", "rb") as environ:
            if wanted in b"\0" + environ.read() + b"\0":
                yield pid


def _all_pids() -> list[int]:
    with suppress(OSError):
        names = os.listdir("/proc")
        return [int(name) for name in names if name.isdigit() and int(name) != os.getpid()]
    return []


def _of(what: Callable[[int], int], pid: int) -> int | None:
    try:
        return what(pid)
    except OSError:
        return None


def _kill(how: Callable[[int, int], None], number: int) -> None:
    if number > 1:
        with suppress(OSError):
            how(number, signal.SIGKILL)


def _remove(path: str, below: str) -> None:
    """Remove a directory, if it really lies below the other one and is no link."""
    root = os.path.realpath(below)
    real = os.path.realpath(path)
    if os.path.islink(path) or os.path.commonpath([root, real]) != root or real == root:
        return
    shutil.rmtree(real, ignore_errors=True)
    if os.path.isdir(real):
        # A directory that may not be written can't be emptied.
        for directory, _, _ in os.walk(real):
            with suppress(OSError):
                os.chmod(directory, 0o700)
        shutil.rmtree(real, ignore_errors=True)


def main(host: int, marker: str) -> None:
    """Guard a host.

    Args:
        host: Its process id, which must be the parent's.
        marker: The value of `HOST_MARKER` in what it starts.
    """
    records = _Records()
    _wait_for_end(host, records)
    if records.closed:
        return
    _end_processes(records.groups, marker)
    for path, below in records.directories.items():
        with suppress(OSError, ValueError):
            _remove(path, below)


if __name__ == "__main__":
    main(int(sys.argv[1]), sys.argv[2])
