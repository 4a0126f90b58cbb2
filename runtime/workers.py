"""Threads for work that blocks, so that no actor's thread ever does."""

from __future__ import annotations

import contextvars
import itertools
import logging
import queue
import threading
from collections.abc import Callable
from typing import Any, TypeVar

__all__ = ["Workers"]

T = TypeVar("T")
_log = logging.getLogger("toolcrib.workers")


class Workers:
    """Runs blocking jobs on daemon threads, started on demand and kept a while.

    There is no upper bound, by design: one job that never returns must not hold
    up any other. All methods are thread-safe and return at once.

    Args:
        name: The beginning of the threads' names.
        idle: Seconds that a thread without a job is kept.
    """

    def __init__(self, name: str, idle: float = 30.0) -> None:
        self._name = name
        self._idle_time = idle
        self._lock = threading.Lock()
        self._idle: list[_Worker] = []
        self._busy: dict[_Worker, str] = {}
        self._keeps = True
        self._numbers = itertools.count(1)

    @property
    def busy(self) -> tuple[str, ...]:
        """What runs now: the name of each job's function, oldest first."""
        with self._lock:
            return tuple(self._busy.values())

    def submit(
        self,
        job: Callable[[], T],
        done: Callable[[T], object],
        failed: Callable[[BaseException], object],
    ) -> None:
        """Run a job on a thread that has nothing else to do.

        Exactly one of the callbacks is called, on that thread; what a callback
        raises is logged. Each job has an empty context of its own. Where no
        thread can be had, as in some Pythons at the interpreter's exit, the job
        and its callback run in the caller's thread instead: late beats never.

        Args:
            job: What to run.
            done: Takes what the job returned.
            failed: Takes whatever the job raised, `SystemExit` included.
        """
        task = _Task(job, done, failed)
        with self._lock:
            worker = self._idle.pop() if self._idle else _Worker(self)
            self._busy[worker] = _name_of(job)
        try:
            worker.take(task, f"{self._name}-{next(self._numbers)}")
        except RuntimeError:
            task.run()
            with self._lock:
                del self._busy[worker]

    def close(self) -> None:
        """End the threads that have no job, and the others after theirs.

        A job submitted later still runs, on a thread that is not kept.
        """
        with self._lock:
            self._keeps = False
            idle, self._idle = self._idle, []
        for worker in idle:
            worker.leave()

    def wait_for_task(self, worker: _Worker) -> _Task | None:
        """Return the worker's next task, ``None`` where it should end. For workers."""
        with self._lock:
            self._busy.pop(worker, None)
            if not self._keeps:
                return None
            self._idle.append(worker)
        try:
            return worker.inbox.get(timeout=self._idle_time)
        except queue.Empty:
            with self._lock:
                if worker in self._idle:
                    self._idle.remove(worker)
                    return None
        # Somebody has just picked this worker, so its task is on its way.
        return worker.inbox.get()


class _Task:
    __slots__ = ("_done", "_failed", "_job")

    def __init__(
        self,
        job: Callable[[], Any],
        done: Callable[[Any], object],
        failed: Callable[[BaseException], object],
    ) -> None:
        self._job = job
        self._done = done
        self._failed = failed

    def run(self) -> None:
        try:
            value = contextvars.Context().run(self._job)
        except BaseException as error:
            _call_back(self._failed, error)
        else:
            _call_back(self._done, value)


class _Worker:
    """One thread and the one place where it finds its next task."""

    def __init__(self, pool: Workers) -> None:
        self._pool = pool
        self._started = False
        self.inbox: queue.SimpleQueue[_Task | None] = queue.SimpleQueue()

    def take(self, task: _Task, name: str) -> None:
        self.inbox.put(task)
        if not self._started:
            # Before the start: the thread may be idle, and picked again, before
            # that returns, and a worker with two threads may miss its end.
            self._started = True
            threading.Thread(target=self._work, name=name, daemon=True).start()

    def leave(self) -> None:
        self.inbox.put(None)

    def _work(self) -> None:
        task = self.inbox.get()
        while task is not None:
            task.run()
            # Else an idle thread would keep its last job's values alive.
            del task
            task = self._pool.wait_for_task(self)


def _call_back(callback: Callable[[Any], object], value: object) -> None:
    try:
        callback(value)
    except BaseException:
        _log.exception("a callback of a finished job raised; its outcome is lost")


def _name_of(job: Callable[[], object]) -> str:
    return getattr(job, "__qualname__", None) or type(job).__qualname__
