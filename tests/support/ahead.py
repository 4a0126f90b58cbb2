"""Work that begins before the tests that look at it, a few pieces at a time.

What starts a CLI or checks types takes seconds in which its test only waits. As soon
as the first such piece is wanted, all begin that the selected tests want, in the order
of these tests.
"""

from __future__ import annotations

import contextlib
import inspect
import os
import signal
import subprocess
import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest

__all__ = ["Ahead", "begun"]

_AT_ONCE = max(2, os.cpu_count() or 2)
_PARAMETER = "provider"

_works: dict[str, Callable[..., Any]] = {}


def begun(work: Callable[..., Any]) -> object:
    """Make a fixture of the session from a function whose work may begin early.

    The function is called on a thread, as ``work(ahead)`` or, where the tests are
    parametrized by it, as ``work(ahead, provider)``. What it returns or raises, a
    skip as well, is the fixture's.
    """
    name = work.__name__
    assert name not in _works, f"there are two fixtures named {name}"
    _works[name] = work

    def alone(ahead: Ahead, request: pytest.FixtureRequest) -> Any:
        return ahead.result(request.session, name)

    def each(ahead: Ahead, request: pytest.FixtureRequest, provider: str) -> Any:
        return ahead.result(request.session, name, provider)

    fixture: Callable[..., Any] = each if _is_parametrized(work) else alone
    return pytest.fixture(scope="session", name=name)(fixture)


def _is_parametrized(work: Callable[..., Any]) -> bool:
    return _PARAMETER in inspect.signature(work).parameters


class Ahead:
    """Does the work, and knows the processes that it runs."""

    def __init__(self, folders: pytest.TempPathFactory) -> None:
        self._folders = folders
        self._pool = ThreadPoolExecutor(_AT_ONCE, "ahead")
        self._futures: dict[tuple[str, str | None], Future[Any]] = {}
        self._lock = threading.Lock()
        self._running: dict[int, subprocess.Popen[str]] = {}
        self._ended = False

    def result(self, session: pytest.Session, name: str, provider: str | None = None) -> Any:
        """Return what a work returned; all of the session's begin with the first."""
        if (name, provider) not in self._futures:
            self._begin(session)
        return self._futures[name, provider].result()

    def folder(self, name: str) -> Path:
        """Make a folder that is kept for a while after the session."""
        with self._lock:
            return self._folders.mktemp(name)

    def run(
        self,
        argv: Sequence[str | Path],
        *,
        cwd: Path,
        environment: Mapping[str, str] | None = None,
        input: str = "",
        timeout: float = 280.0,
    ) -> subprocess.CompletedProcess[str]:
        """Run a command to its end; it fails the test when it takes too long."""
        process = self._start(argv, cwd, environment)
        try:
            out, err = process.communicate(input, timeout)
        except subprocess.TimeoutExpired:
            _kill(process)
            _, err = process.communicate()
            pytest.fail(f"{argv[0]} takes longer than {timeout} s. So far:\n{err}", pytrace=False)
        finally:
            with self._lock:
                del self._running[process.pid]
        return subprocess.CompletedProcess(argv, process.returncode, out, err)

    @contextlib.contextmanager
    def processes(self) -> Iterator[set[int]]:
        """The processes that run; no other is started meanwhile."""
        with self._lock:
            yield set(self._running)

    def end(self) -> None:
        """Stop everything, done or not."""
        with self._lock:
            self._ended = True
            for process in self._running.values():
                _kill(process)
        self._pool.shutdown(cancel_futures=True)

    def _begin(self, session: pytest.Session) -> None:
        for item in session.items:
            if isinstance(item, pytest.Function):
                for name in item.fixturenames:
                    if name in _works:
                        self._submit(name, item)

    def _submit(self, name: str, item: pytest.Function) -> None:
        work = _works[name]
        given = [str(item.callspec.params[_PARAMETER])] if _is_parametrized(work) else []
        key = name, given[0] if given else None
        if key not in self._futures:
            self._futures[key] = self._pool.submit(work, self, *given)

    def _start(
        self, argv: Sequence[str | Path], cwd: Path, environment: Mapping[str, str] | None
    ) -> subprocess.Popen[str]:
        with self._lock:
            assert not self._ended, "the session has ended"
            process = subprocess.Popen(
                argv,
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=subprocess.PIPE,
                text=True,
                env=environment,
                cwd=cwd,
                start_new_session=True,
            )
            self._running[process.pid] = process
        return process


def _kill(process: subprocess.Popen[str]) -> None:
    # It may have ended meanwhile; the whole group, whose guards then clean up.
    if process.poll() is None:
        with contextlib.suppress(ProcessLookupError):
            os.killpg(process.pid, signal.SIGKILL)
