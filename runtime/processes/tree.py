"""Everything that one child process has started, however it detached."""

from __future__ import annotations

import contextlib
import os
import signal
import time
from collections.abc import Iterator

import psutil

__all__ = ["Tree", "end_tree"]

_BETWEEN_SCANS = 0.1
_AFTER_KILL = 0.01
_PATIENCE = 5.0


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

    def look(self) -> tuple[psutil.Process, ...]:
        """Return the members that live; zombies don't."""
        everything = {p.pid: p for p in psutil.process_iter() if p.pid != os.getpid()}
        found = {pid for pid, process in everything.items() if self._belongs(process)}
        found |= _descendants(everything, found)
        self._known.update(everything[pid] for pid in found)
        self._known = {process for process in self._known if _lives(process)}
        return tuple(self._known)

    def end(self, patience: float = _PATIENCE) -> tuple[int, ...]:
        """Kill every member, until none is found twice in a row.

        One look is not enough: a process that is just being made may be missed.
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
            time.sleep(_AFTER_KILL if members else _BETWEEN_SCANS)

    def _belongs(self, process: psutil.Process) -> bool:
        name, value = self._marker
        try:
            if self._pgid in (os.getpgid(process.pid), os.getsid(process.pid)):
                return True
            return process.environ().get(name) == value
        except (OSError, psutil.Error):
            return False


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


def _descendants(everything: dict[int, psutil.Process], roots: set[int]) -> set[int]:
    if not roots:
        return set()
    children: dict[int, list[int]] = {}
    for parent, pid in _parents(everything):
        children.setdefault(parent, []).append(pid)
    found: set[int] = set()
    ahead = list(roots)
    while ahead:
        new = [pid for pid in children.get(ahead.pop(), ()) if pid not in found]
        found.update(new)
        ahead += new
    return found


def _parents(everything: dict[int, psutil.Process]) -> Iterator[tuple[int, int]]:
    for pid, process in everything.items():
        with contextlib.suppress(psutil.Error):
            yield process.ppid(), pid
