"""Work that begins before the tests that look at it, a few pieces at a time.

What starts a CLI or checks types takes seconds in which its test only waits. So it is
begun while other tests run, in the order in which it will be wanted: on all processors
but one, and on that one too while a test waits.
"""

from __future__ import annotations

import contextlib
import inspect
import os
import signal
import subprocess
import threading
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest

__all__ = ["Ahead", "begun", "works_of"]

_AT_ONCE = max(2, os.cpu_count() or 2)
_PARAMETER = "provider"

Work = Callable[..., Any]

_works: dict[Callable[..., Any], Work] = {}  # by the functions of their fixtures


def begun(work: Work) -> object:
    """Make a fixture of the session from a function whose work may begin early.

    The function is called on a thread, as ``work(ahead)`` or, where the tests are
    parametrized by it, as ``work(ahead, provider)``. What it returns or raises, a
    skip as well, is the fixture's.
    """

    def alone(ahead: Ahead, request: pytest.FixtureRequest) -> Any:
        ahead.begin(request.session.items)
        return ahead.result(work)

    def each(ahead: Ahead, request: pytest.FixtureRequest, provider: str) -> Any:
        ahead.begin(request.session.items)
        return ahead.result(work, provider)

    fixture: Callable[..., Any] = each if _is_parametrized(work) else alone
    _works[fixture] = work
    return pytest.fixture(scope="session", name=work.__name__)(fixture)


def _is_parametrized(work: Work) -> bool:
    return _PARAMETER in inspect.signature(work).parameters


def works_of(item: pytest.Item) -> list[tuple[Work, str | None]]:
    """Return the works that a test wants, each with the provider if it has one."""
    if not isinstance(item, pytest.Function):
        return []
    # Of several fixtures of one name, the last is the one that counts.
    fixtures = [found[-1].func for found in item._fixtureinfo.name2fixturedefs.values()]
    works = [_works[fixture] for fixture in fixtures if fixture in _works]
    return [
        (work, str(item.callspec.params[_PARAMETER]) if _is_parametrized(work) else None)
        for work in works
    ]


class Ahead:
    """Does the work, and knows the processes that it runs."""

    def __init__(self, folders: pytest.TempPathFactory) -> None:
        self._folders = folders
        self._pool = ThreadPoolExecutor(_AT_ONCE, "ahead")
        self._futures: dict[tuple[Work, str | None], Future[Any]] = {}
        self._turns = threading.Condition()
        self._working = 0
        self._waited_for = False
        self._lock = threading.Lock()
        self._running: dict[int, subprocess.Popen[str]] = {}
        self._ended = False

    def begin(self, items: Iterable[pytest.Item]) -> None:
        """Begin all that these tests want, unless it has begun before."""
        if self._futures:
            return
        for key in dict.fromkeys(key for item in items for key in works_of(item)):
            self._futures[key] = self._pool.submit(self._work, *key)

    def result(self, work: Work, provider: str | None = None) -> Any:
        """Return what a work returned, or raise what it raised."""
        self._wait(waits=True)
        try:
            return self._futures[work, provider].result()
        finally:
            self._wait(waits=False)

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

    def _work(self, work: Work, provider: str | None) -> Any:
        with self._turn():
            return work(self) if provider is None else work(self, provider)

    @contextlib.contextmanager
    def _turn(self) -> Iterator[None]:
        with self._turns:
            self._turns.wait_for(lambda: self._working < _AT_ONCE - (not self._waited_for))
            self._working += 1
        try:
            yield
        finally:
            with self._turns:
                self._working -= 1
                self._turns.notify()

    def _wait(self, *, waits: bool) -> None:
        with self._turns:
            self._waited_for = waits
            self._turns.notify_all()

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
