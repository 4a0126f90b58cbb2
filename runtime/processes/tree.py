"""Everything that one child process has started, however it detached."""

from __future__ import annotations

import contextlib
import os
import signal
import time
from collections.abc import Iterable
from pathlib import Path

import psutil

__all__ = ["Tree", "end_tree"]

_BETWEEN_SCANS = 0.1
_AFTER_KILL = 0.01
_PATIENCE = 5.0
_KERNEL = 0  # the group of the kernel's own threads
_HAS_PROC = Path("/proc/self/environ").exists()


class Tree:
    """The processes of one tree; not thread-safe.

    A process belongs to it by its group, its session, a marker variable in its
    environment, or a parent that belongs to it. What was found once stays
    known, with its time of creation, so that it is found again after its
    parent's end and never mistaken for another process with the same number.

    Args:
        pgid: The id of a child that leads its group and its session. It should
            not be reaped yet: as long as it is not, its number means nobody else.
        marker: The variable's name and value.

    Raises:
        ValueError: The group can't be that of a child.
    """

    def __init__(self, pgid: int, marker: tuple[str, str]) -> None:
        if pgid <= 1 or pgid == os.getpgrp():
            msg = f"{pgid} is not the group of a child; start it in a session of its own."
            raise ValueError(msg)
        self._pgid = pgid
        self._marker = marker
        self._known: set[psutil.Process] = set()
        self._sure = True

    def look(self) -> tuple[psutil.Process, ...]:
        """Return the members that live; zombies don't."""
        self._sure = True
        everything = [pid for pid in psutil.pids() if pid != os.getpid()]
        found = {pid for pid in everything if self._belongs(pid)}
        self._known = _living(self._known | _processes(found))
        if self._known:  # a zombie has no children
            found = _descendants(everything, {process.pid for process in self._known})
            self._known |= _living(_processes(found))
        return tuple(self._known)

    def end(self, patience: float = _PATIENCE) -> tuple[int, ...]:
        """Kill every member, until none is found twice in a row.

        One look is not enough: a process that is just being made may be missed, and
        who is just becoming another program shows no marker for a moment.
        The group is killed as one besides, which no member can outrun by forking.

        Args:
            patience: Seconds to try.

        Returns:
            The ids of those that could not be ended; empty as a rule.
        """
        give_up = time.monotonic() + patience
        empty = 0
        while True:
            with contextlib.suppress(ProcessLookupError, PermissionError):
                os.killpg(self._pgid, signal.SIGKILL)
            members = self.look()
            empty = 0 if members else empty + 1
            if empty == 2:
                return ()
            if members and time.monotonic() > give_up:
                return tuple(sorted(process.pid for process in members))
            for process in members:
                with contextlib.suppress(psutil.Error):
                    process.kill()
            if members or not self._sure:
                time.sleep(_AFTER_KILL if members else _BETWEEN_SCANS)

    def _belongs(self, pid: int) -> bool:
        try:
            group = os.getpgid(pid)
            if self._pgid in (group, os.getsid(pid)):
                return True
            return group != _KERNEL and self._carries_marker(pid)
        except (OSError, psutil.Error):
            return False

    def _carries_marker(self, pid: int) -> bool:
        name, value = self._marker
        if not _HAS_PROC:
            return psutil.Process(pid).environ().get(name) == value
        # psutil takes twenty times as long, and every run looks at every process.
        with open(f"/proc/{pid}/environ", "rb") as file:  # noqa: PTH123
            variables = file.read()
        if not variables and _lives(psutil.Process(pid)):
            # It has none, or is just becoming another program.
            self._sure = False
        return f"\0{name}={value}\0".encode() in b"\0" + variables


def end_tree(
    pgid: int, marker: tuple[str, str], grace: float = 0.0, patience: float = _PATIENCE
) -> tuple[int, ...]:
    """End a tree: ask its members, give them time, then kill what is left.

    Args:
        pgid: The id of a child that leads its group and its session, not reaped yet.
        marker: The variable in the environment of its members, name and value.
        grace: Seconds between asking and killing.
        patience: Seconds to try killing.

    Returns:
        The ids of those that could not be ended; empty as a rule.

    Raises:
        ValueError: The group can't be that of a child.
    """
    tree = Tree(pgid, marker)
    if grace > 0:
        for process in tree.look():
            with contextlib.suppress(psutil.Error):
                process.terminate()
        give_up = time.monotonic() + grace
        while time.monotonic() < give_up and tree.look():
            time.sleep(_AFTER_KILL)
    return tree.end(patience)


def _lives(process: psutil.Process) -> bool:
    try:
        return process.is_running() and process.status() != psutil.STATUS_ZOMBIE
    except psutil.Error:
        return False


def _processes(pids: Iterable[int]) -> set[psutil.Process]:
    found = set()
    for pid in pids:
        with contextlib.suppress(psutil.Error):
            found.add(psutil.Process(pid))
    return found


def _living(processes: Iterable[psutil.Process]) -> set[psutil.Process]:
    return {process for process in processes if _lives(process)}


def _descendants(everything: Iterable[int], roots: set[int]) -> set[int]:
    children: dict[int, list[int]] = {}
    for process in _processes(everything):
        with contextlib.suppress(psutil.Error):
            children.setdefault(process.ppid(), []).append(process.pid)
    found: set[int] = set()
    ahead = list(roots)
    while ahead:
        new = [pid for pid in children.get(ahead.pop(), ()) if pid not in found]
        found.update(new)
        ahead += new
    return found
