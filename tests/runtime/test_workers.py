from __future__ import annotations

import contextvars
import gc
import queue
import threading
import weakref
from collections.abc import Callable, Iterator
from functools import partial
from typing import Any

import pytest

from toolcrib.runtime.workers import Workers

DEADLINE = 10.0


@pytest.fixture
def workers() -> Iterator[Workers]:
    pool = Workers("toolcrib-test", idle=60.0)
    yield pool
    pool.close()


class Outcome:
    """Waits for one job's end."""

    def __init__(self) -> None:
        self._values: queue.SimpleQueue[tuple[str, Any, threading.Thread]] = queue.SimpleQueue()

    def done(self, value: object) -> None:
        self._values.put(("done", value, threading.current_thread()))

    def failed(self, error: BaseException) -> None:
        self._values.put(("failed", error, threading.current_thread()))

    def get(self) -> tuple[str, Any, threading.Thread]:
        return self._values.get(timeout=DEADLINE)


def run(workers: Workers, job: Callable[[], object]) -> tuple[str, Any, threading.Thread]:
    outcome = Outcome()
    workers.submit(job, outcome.done, outcome.failed)
    return outcome.get()


def wait_until_idle(workers: Workers) -> None:
    pause = threading.Event()
    for _ in range(1000):
        if not workers.busy:
            return
        pause.wait(0.01)
    pytest.fail(f"still busy: {workers.busy}")


def test_the_value_of_a_job_goes_to_done_on_a_named_daemon_thread(workers: Workers) -> None:
    kind, value, thread = run(workers, lambda: 42)
    assert (kind, value) == ("done", 42)
    assert thread.daemon
    assert thread.name.startswith("toolcrib-test-")
    assert thread is not threading.current_thread()


@pytest.mark.parametrize("error", [ValueError("x"), SystemExit(3), KeyboardInterrupt()])
def test_whatever_a_job_raises_goes_to_failed(workers: Workers, error: BaseException) -> None:
    def job() -> None:
        raise error

    kind, value, _ = run(workers, job)
    assert (kind, value) == ("failed", error)
    assert run(workers, lambda: "on")[1] == "on"


def test_a_thread_is_used_again(workers: Workers) -> None:
    threads = set()
    for _ in range(5):
        threads.add(run(workers, lambda: None)[2])
        wait_until_idle(workers)
    assert len(threads) == 1


def test_a_worker_that_is_picked_while_it_still_starts_gets_no_second_thread(
    workers: Workers, monkeypatch: pytest.MonkeyPatch
) -> None:
    first, second = Outcome(), Outcome()
    started: list[threading.Thread] = []
    start = threading.Thread.start

    def slow_start(thread: threading.Thread) -> None:
        started.append(thread)
        start(thread)
        if len(started) == 1:
            # It is done and idle before its start has returned.
            first.get()
            wait_until_idle(workers)
            workers.submit(lambda: 2, second.done, second.failed)

    monkeypatch.setattr(threading.Thread, "start", slow_start)
    workers.submit(lambda: 1, first.done, first.failed)
    assert second.get() == ("done", 2, started[0])
    assert len(started) == 1


def test_a_job_that_never_returns_holds_up_no_other(workers: Workers) -> None:
    release = threading.Event()
    stuck = Outcome()
    for _ in range(50):
        workers.submit(release.wait, stuck.done, stuck.failed)
    assert run(workers, lambda: "through")[1] == "through"
    release.set()
    assert [stuck.get()[0] for _ in range(50)] == ["done"] * 50


def test_busy_names_what_runs_oldest_first(workers: Workers) -> None:
    release, running = threading.Event(), threading.Barrier(3)
    outcome = Outcome()

    def first() -> None:
        running.wait(DEADLINE)
        release.wait(DEADLINE)

    workers.submit(first, outcome.done, outcome.failed)
    workers.submit(partial(first), outcome.done, outcome.failed)
    running.wait(DEADLINE)
    names = workers.busy
    release.set()
    assert [name.rpartition(".")[2] for name in names] == ["first", "partial"]
    wait_until_idle(workers)
    assert workers.busy == ()


@pytest.mark.parametrize("error", [ValueError("x"), SystemExit(3)])
def test_a_callback_that_raises_is_logged_and_the_thread_goes_on(
    workers: Workers, caplog: pytest.LogCaptureFixture, error: BaseException
) -> None:
    threads: list[threading.Thread] = []

    def callback(_: object) -> None:
        threads.append(threading.current_thread())
        raise error

    workers.submit(lambda: 1, callback, callback)
    wait_until_idle(workers)
    workers.submit(lambda: 1 / 0, callback, callback)
    wait_until_idle(workers)
    assert len(threads) == 2
    assert run(workers, lambda: None)[2] is threads[0] is threads[1]
    assert caplog.text.count("a callback of a finished job raised") == 2


def test_a_job_sees_no_context_variables_of_others(workers: Workers) -> None:
    variable: contextvars.ContextVar[int] = contextvars.ContextVar("variable", default=0)
    variable.set(1)
    assert run(workers, lambda: (variable.get(), variable.set(2)))[1][0] == 0
    wait_until_idle(workers)
    assert run(workers, variable.get)[1] == 0


def test_an_idle_thread_keeps_no_value_alive(workers: Workers) -> None:
    class Value:
        pass

    value = Value()
    gone = weakref.ref(value)
    finished = threading.Event()
    workers.submit(partial(id, value), lambda _: finished.set(), lambda _: None)
    del value
    assert finished.wait(DEADLINE)
    wait_until_idle(workers)
    gc.collect()
    assert gone() is None


def test_idle_threads_end_after_a_while() -> None:
    workers = Workers("toolcrib-test", idle=0.05)
    thread = run(workers, lambda: None)[2]
    thread.join(DEADLINE)
    assert not thread.is_alive()
    assert run(workers, lambda: "again")[1] == "again"
    workers.close()


def test_close_ends_idle_threads_at_once_and_busy_ones_after_their_job(
    workers: Workers,
) -> None:
    release, running = threading.Event(), threading.Event()
    slow = Outcome()

    def job() -> str:
        running.set()
        release.wait(DEADLINE)
        return "finished"

    workers.submit(job, slow.done, slow.failed)
    running.wait(DEADLINE)
    idle = run(workers, lambda: None)[2]
    workers.close()
    idle.join(DEADLINE)
    assert not idle.is_alive()
    release.set()
    kind, value, busy = slow.get()
    assert (kind, value) == ("done", "finished")
    busy.join(DEADLINE)
    assert not busy.is_alive()


def test_a_job_after_close_still_runs_on_a_thread_that_is_not_kept(workers: Workers) -> None:
    workers.close()
    kind, _, thread = run(workers, lambda: None)
    assert kind == "done"
    thread.join(DEADLINE)
    assert not thread.is_alive()


def test_a_thread_that_can_not_be_had_fails_the_job(
    workers: Workers, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(_: threading.Thread) -> None:
        msg = "can't start new thread"
        raise RuntimeError(msg)

    with monkeypatch.context() as patch:
        patch.setattr(threading.Thread, "start", refuse)
        kind, value, thread = run(workers, lambda: "late")
    assert (kind, value) == ("done", "late")
    assert thread is threading.current_thread()
    assert workers.busy == ()
    assert run(workers, lambda: "on")[1] == "on"


def test_threads_that_just_end_lose_no_job() -> None:
    workers = Workers("toolcrib-test", idle=0.0005)
    pause = threading.Event()
    for _ in range(500):
        assert run(workers, lambda: 1)[1] == 1
        # About as long as a thread waits, so that its end and a job meet.
        pause.wait(0.0004)
    workers.close()
