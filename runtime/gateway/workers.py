"""The threads that run exchanges."""

from __future__ import annotations

import logging
import threading
import time
from collections.abc import Callable
from queue import SimpleQueue

__all__ = ["Job", "Workers"]

_log = logging.getLogger("toolcrib.gateway")

Job = Callable[[], object]
"""What a thread of the gateway runs."""


class Workers:
    """A bounded pool of daemon threads, each started when it is needed.

    The standard library's pool is joined at interpreter exit, so that a handler
    that never returns would keep the host process alive.

    Args:
        limit: The most threads.
    """

    def __init__(self, limit: int) -> None:
        self._limit = limit
        self._jobs: SimpleQueue[Job | None] = SimpleQueue()
        self._threads: list[threading.Thread] = []
        self._lock = threading.Lock()
        # Idle threads minus queued jobs; below zero, jobs wait for a thread.
        self._free = 0
        self._closed = False

    def submit(self, job: Job) -> None:
        """Have a job run on some worker; after `close` it is dropped."""
        with self._lock:
            if self._closed:
                return
            self._free -= 1
            if self._free < 0 and len(self._threads) < self._limit:
                self._start()
            self._jobs.put(job)

    def close(self, deadline: float) -> bool:
        """End every idle worker, and each busy one after its job.

        Args:
            deadline: Until when to wait for them, as `time.monotonic` counts.

        Returns:
            Whether all of them have ended.
        """
        with self._lock:
            if not self._closed:
                self._closed = True
                for _ in self._threads:
                    self._jobs.put(None)
        for thread in self._threads:
            thread.join(max(0.0, deadline - time.monotonic()))
        return not any(thread.is_alive() for thread in self._threads)

    def _start(self) -> None:
        name = f"toolcrib-gateway-worker-{len(self._threads) + 1}"
        thread = threading.Thread(target=self._work, name=name, daemon=True)
        try:
            thread.start()
        except RuntimeError:
            # The system has no more threads; the job waits for one of ours.
            _log.exception("A gateway worker could not start.")
            return
        self._threads.append(thread)
        self._free += 1

    def _work(self) -> None:
        while (job := self._jobs.get()) is not None:
            try:
                job()
            except BaseException:
                # One exchange may fail; the thread and the others may not.
                _log.exception("A gateway exchange failed.")
            # Its captured exchange would live until the next job otherwise.
            del job
            with self._lock:
                self._free += 1
