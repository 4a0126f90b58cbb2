"""What a process can do wrong, and what tests need to meet it at a known point."""

from __future__ import annotations

import os
import signal
import sys
import time
from pathlib import Path
from typing import NoReturn

__all__ = ["die", "hang", "ignore_sigterm", "put", "spawn", "wait_for"]

_POLL = 0.01
_SLEEPER = "import signal\nwhile True: signal.pause()"


def hang() -> NoReturn:
    """Do nothing until a signal ends the process."""
    while True:
        signal.pause()


def ignore_sigterm() -> None:
    """Ignore the polite signal from now on; children started later do so too."""
    signal.signal(signal.SIGTERM, signal.SIG_IGN)


def die(name: str) -> NoReturn:
    """End by a signal.

    Args:
        name: The signal's name, such as ``SIGKILL``.
    """
    number = signal.Signals[name]
    if number not in (signal.SIGKILL, signal.SIGSTOP):
        signal.signal(number, signal.SIG_DFL)
    os.kill(os.getpid(), number)
    hang()


def spawn(*, detached: bool, pid_file: Path | None) -> None:
    """Start a process that sleeps until it is killed, and leave it alone.

    Args:
        detached: Whether it leaves our session and lets go of our output. If
            not, it keeps the pipes of standard output and error open.
        pid_file: Where to write its process id.
    """
    # Only scripts that start something need it.
    import subprocess

    output = subprocess.DEVNULL if detached else None
    process = subprocess.Popen(
        [sys.executable, "-I", "-S", "-c", _SLEEPER],
        stdin=subprocess.DEVNULL,
        stdout=output,
        stderr=output,
        start_new_session=detached,
    )
    if pid_file is not None:
        put(pid_file, str(process.pid))


def put(path: Path, text: str) -> None:
    """Write a file so that whoever waits for it finds it whole."""
    path.parent.mkdir(parents=True, exist_ok=True)
    temporary = path.with_name(f".{path.name}.{os.getpid()}")
    temporary.write_text(text, encoding="utf-8")
    temporary.replace(path)


def wait_for(path: Path) -> None:
    """Wait until the file exists."""
    while not path.exists():
        time.sleep(_POLL)
