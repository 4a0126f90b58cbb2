"""A child process with its pipes, for the one thread that pumps it."""

from __future__ import annotations

import contextlib
import errno
import os
import selectors
import signal
import subprocess
import time
from collections import deque
from collections.abc import Callable
from pathlib import Path
from typing import Literal

import psutil

from ...messages.turn import Launch
from .interface import SpawnError
from .orders import Orders

__all__ = ["Child", "Stream"]

Stream = Literal["stdout", "stderr"]
"""A pipe that is read."""

_CHUNK = 64 * 1024
_EXIT_POLL = 0.05
_REAP = 5.0
_REAP_POLL = 0.005


class Child:
    """One child in a session of its own; not thread-safe.

    The child stays unreaped until `reap`, so that its number, which is its
    group's too, can't come to mean somebody else in the meantime.

    Args:
        launch: What to start.
        marker: A variable to add to its environment, name and value.
        orders: What interrupts `wait`.

    Raises:
        SpawnError: It could not be started.
    """

    def __init__(self, launch: Launch, marker: tuple[str, str], orders: Orders) -> None:
        self._orders = orders
        self._selector = selectors.DefaultSelector()
        try:
            self._selector.register(orders.open(), selectors.EVENT_READ, "orders")
            self._popen = _spawn(launch, marker)
        except BaseException:
            self._selector.close()
            orders.close()
            raise
        self.pid = self._popen.pid
        self.exited = False
        self.code_known = True
        self._unwritten: deque[memoryview] = deque()
        self._input_wanted = True
        self._pipes: dict[str, int] = {}
        for name in ("stdin", "stdout", "stderr"):
            self._pipes[name] = getattr(self._popen, name).fileno()
            os.set_blocking(self._pipes[name], False)
        self._pidfd = _open_pidfd(self.pid)
        if self._pidfd is not None:
            self._watch("exit", self._pidfd, selectors.EVENT_READ)

    @property
    def drained(self) -> bool:
        """Whether both output pipes have ended."""
        return "stdout" not in self._pipes and "stderr" not in self._pipes

    def write(self, data: bytes) -> None:
        """Write to its input as it takes it; nothing where that is closed."""
        if self._input_wanted and data and "stdin" in self._pipes:
            self._unwritten.append(memoryview(data))
            # At once, as far as it goes: an order to end may be next.
            self._flush()

    def close_input(self, *, discard: bool = False) -> None:
        """Close its input after what is to be written, or without that."""
        self._input_wanted = False
        if discard:
            self._unwritten.clear()
        if not self._unwritten:
            self._close_pipe("stdin")

    def wait(self, timeout: float | None, *, reading: bool) -> list[tuple[Stream, bytes]]:
        """Wait until something happens; move what the pipes take and hold.

        Args:
            timeout: Seconds at most, ``None`` for no end.
            reading: Whether to read the output pipes.

        Returns:
            What was read, by pipe; no bytes where that pipe has ended.
        """
        self._watch_pipes(reading)
        if self._pidfd is None and not self.exited:
            timeout = _EXIT_POLL if timeout is None else min(timeout, _EXIT_POLL)
        chunks: list[tuple[Stream, bytes]] = []
        for key, _ in self._selector.select(timeout):
            match key.data:
                case "stdout" | "stderr" as stream:
                    if (chunk := self._read(stream)) is not None:
                        chunks.append((stream, chunk))
                case "stdin":
                    self._flush()
                case "exit":
                    self._note_exit()
                case _:
                    self._orders.clear()
        if self._pidfd is None and not self.exited and _is_over(self.pid):
            self._note_exit()
        return chunks

    def signal_group(self, number: signal.Signals) -> None:
        """Send a signal to its group, unless it has exited."""
        # A host that ignores SIGCHLD has it reaped, and its number free, at once.
        if not self.exited:
            with contextlib.suppress(ProcessLookupError, PermissionError):
                os.killpg(self.pid, number)

    def reap(self) -> int | None:
        """Return its exit code; ``None`` where even SIGKILL has not ended it yet.

        Where somebody else has reaped it that is 0, and `code_known` says so.
        """
        end = time.monotonic() + _REAP
        while True:
            try:
                # Not by Popen, which takes a code that it did not get for 0.
                pid, status = os.waitpid(self.pid, os.WNOHANG)
            except ChildProcessError:
                self.code_known = False
                self._popen.returncode = 0
                return 0
            if pid:
                self._popen.returncode = os.waitstatus_to_exitcode(status)
                return self._popen.returncode
            if time.monotonic() >= end:
                return None
            time.sleep(_REAP_POLL)

    def close(self) -> None:
        """Close every descriptor."""
        for name in list(self._pipes):
            self._close_pipe(name)
        self._selector.close()
        self._orders.close()
        if self._pidfd is not None:
            os.close(self._pidfd)
            self._pidfd = None

    def _read(self, stream: Stream) -> bytes | None:
        try:
            chunk = os.read(self._pipes[stream], _CHUNK)
        except BlockingIOError:
            return None
        except OSError:
            chunk = b""
        if not chunk:
            self._close_pipe(stream)
        return chunk

    def _flush(self) -> None:
        try:
            while self._unwritten:
                data = self._unwritten[0]
                written = os.write(self._pipes["stdin"], data[:_CHUNK])
                if written == len(data):
                    self._unwritten.popleft()
                else:
                    self._unwritten[0] = data[written:]
        except BlockingIOError:
            return
        except OSError:
            # It does not read any more, which is its own affair.
            self.close_input(discard=True)
        if not self._input_wanted:
            self._close_pipe("stdin")

    def _note_exit(self) -> None:
        self.exited = True
        if self._pidfd is not None:
            self._unwatch(self._pidfd)
        self.close_input(discard=True)

    def _watch_pipes(self, reading: bool) -> None:
        for name, fd in self._pipes.items():
            if name == "stdin":
                wanted, event = bool(self._unwritten), selectors.EVENT_WRITE
            else:
                wanted, event = reading, selectors.EVENT_READ
            if wanted:
                self._watch(name, fd, event)
            else:
                self._unwatch(fd)

    def _watch(self, name: str, fd: int, event: int) -> None:
        if fd not in self._selector.get_map():
            self._selector.register(fd, event, name)

    def _unwatch(self, fd: int) -> None:
        if fd in self._selector.get_map():
            self._selector.unregister(fd)

    def _close_pipe(self, name: str) -> None:
        fd = self._pipes.pop(name, None)
        if fd is not None:
            self._unwatch(fd)
            getattr(self._popen, name).close()


def _spawn(launch: Launch, marker: tuple[str, str]) -> subprocess.Popen[bytes]:
    try:
        return subprocess.Popen(
            launch.argv,
            bufsize=0,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            cwd=launch.cwd,
            env={**launch.environment, marker[0]: marker[1]},
            start_new_session=True,
        )
    except Exception as error:
        raise _explain(launch, error) from error


def _explain(launch: Launch, error: Exception) -> SpawnError:
    if not launch.argv:
        return SpawnError("There is no command to start; the driver has to name one.")
    command = launch.argv[0]
    if not Path(launch.cwd).is_dir():
        return SpawnError(
            f"{command} can't be started: its working directory {launch.cwd} is not "
            "there. Create it, or choose another workspace."
        )
    match getattr(error, "errno", None):
        case errno.ENOENT | errno.ENOTDIR:
            return SpawnError(
                f"{command}, or the interpreter that it names, is not there. Install "
                "it, or give the driver its full path.",
                missing=True,
            )
        case errno.EACCES:
            advice = "Make it executable, and its working directory accessible."
        case errno.ENOEXEC:
            advice = "It is no program for this machine."
        case errno.E2BIG:
            advice = "Its arguments and environment are too large; shorten them."
        case _:
            advice = "Check its arguments, its environment and the limits of this host."
    # Only the system's own words: others may quote the environment.
    why = error.strerror if isinstance(error, OSError) else type(error).__name__
    return SpawnError(f"{command} can't be started ({why}). {advice}")


def _open_pidfd(pid: int) -> int | None:
    opener: Callable[[int], int] | None = getattr(os, "pidfd_open", None)
    if opener is None:
        return None
    try:
        return opener(pid)
    except OSError:
        return None


def _is_over(pid: int) -> bool:
    try:
        return psutil.Process(pid).status() == psutil.STATUS_ZOMBIE
    except psutil.NoSuchProcess:
        return True
