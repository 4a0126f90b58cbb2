"""What a run leaves in processes and files, as the machine shows it."""

from __future__ import annotations

import hashlib
import os
import threading
import time
from collections.abc import Iterator
from pathlib import Path

import psutil

__all__ = ["descendants", "leaks", "living", "snapshot", "token_of", "tree_of"]

_UNSURE_FOR = 10.0

Known = tuple[int, float, str]
"""A process: its number, when it was started, and its command line."""


def descendants() -> list[psutil.Process]:
    """Return the processes that this one started, directly or not."""
    return psutil.Process().children(recursive=True)


def token_of(variable: str) -> str | None:
    """Return the token, from the environment of a process that we started."""
    end = time.monotonic() + _UNSURE_FOR
    while True:
        sure = True
        for process in descendants():
            try:
                token = process.environ().get(variable)
                # Who is just becoming another program shows neither for a moment.
                sure = sure and bool(process.cmdline())
            except psutil.Error:
                continue
            if token:
                return token
        if sure or time.monotonic() > end:
            return None
        threading.Event().wait(0.01)


def tree_of(marker: str) -> list[Known]:
    """Return every process that carries a host's marker, wherever it moved to."""
    found = []
    for process in psutil.process_iter():
        try:
            if process.pid != os.getpid() and process.environ().get("TOOLCRIB_HOST") == marker:
                command = " ".join(process.cmdline())
                found.append((process.pid, process.create_time(), command))
        except psutil.Error:
            continue
    return found


def living(tree: list[Known]) -> list[str]:
    """Return the command lines of those processes that still run."""
    return [command for pid, created, command in tree if _lives(pid, created)]


def _lives(pid: int, created: float) -> bool:
    try:
        process = psutil.Process(pid)
        return process.create_time() == created and process.status() != psutil.STATUS_ZOMBIE
    except psutil.Error:
        return False


def leaks(token: str, folder: Path) -> list[str]:
    """Return where a token can be read: command lines of all processes, files below a folder."""
    return [*_in_arguments(token), *_in_files(token.encode(), folder)]


def _in_arguments(token: str) -> Iterator[str]:
    for process in psutil.process_iter():
        try:
            if any(token in argument for argument in process.cmdline()):
                yield f"argv of {process.pid} {process.name()}"
        except psutil.Error:
            continue


def _in_files(token: bytes, folder: Path) -> Iterator[str]:
    for parent, _, names in os.walk(folder):
        for name in names:
            path = Path(parent, name)
            try:
                if path.is_file() and not path.is_symlink() and token in path.read_bytes():
                    yield f"file {path.relative_to(folder)}"
            except OSError:
                continue  # it was there for a moment only


def snapshot(folder: Path) -> dict[str, str]:
    """Return every entry of a folder: its mode, its time of change, its content."""
    found = {}
    for path in sorted(folder.rglob("*")):
        about = path.lstat()
        content = hashlib.sha256(path.read_bytes()).hexdigest() if path.is_file() else ""
        found[str(path.relative_to(folder))] = f"{about.st_mode:o} {about.st_mtime_ns} {content}"
    return found
