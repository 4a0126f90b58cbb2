"""Who is the front, thread by thread."""

from __future__ import annotations

import logging
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from queue import SimpleQueue

import pytest

from toolcrib.runtime.gateway.relay import Relay

from .conftest import DEADLINE

Job = Callable[[], object]


class Front:
    """Runs what it is given, on whichever thread is the front."""

    def __init__(self) -> None:
        self.jobs: SimpleQueue[Job | None] = SimpleQueue()
        self.ran: SimpleQueue[str] = SimpleQueue()
        self.relay = Relay(self.serve)

    def serve(self) -> bool:
        while (job := self.jobs.get()) is not None:
            while not self.relay.ready():  # for a moment after each takeover
                threading.Event().wait(0.005)
            assert self.relay.leads()
            if not self.relay.run(job):
                assert not self.relay.leads()
                return False
        return True

    def do(self, job: Job | None = None) -> None:
        def run() -> None:
            if job is not None:
                job()
            self.ran.put(threading.current_thread().name)

        self.jobs.put(run)

    def where(self) -> str:
        return self.ran.get(timeout=DEADLINE)


@pytest.fixture
def front() -> Iterator[Front]:
    made = Front()
    made.relay.start()
    yield made
    made.jobs.put(None)
    assert made.relay.join(time.monotonic() + DEADLINE)


def test_quick_jobs_stay_on_one_thread(front: Front) -> None:
    for _ in range(100):
        front.do()
    assert len({front.where() for _ in range(100)}) == 1


def test_whoever_is_held_up_is_relieved_and_leaves(front: Front) -> None:
    release = threading.Event()
    front.do()
    first = front.where()
    front.do(lambda: release.wait(DEADLINE))
    front.do()
    second = front.where()
    assert second != first
    release.set()
    assert front.where() == first
    front.do()
    assert front.where() == second


def test_as_many_are_relieved_as_are_held_up(front: Front) -> None:
    release = threading.Event()
    for _ in range(5):
        front.do(lambda: release.wait(DEADLINE))
    front.do()
    last = front.where()
    release.set()
    held = [front.where() for _ in range(5)]
    assert len({last, *held}) == 6


def test_a_job_that_fails_is_logged_and_the_front_goes_on(
    front: Front, caplog: pytest.LogCaptureFixture
) -> None:
    front.jobs.put(lambda: 1 // 0)
    with caplog.at_level(logging.ERROR):
        front.do()
        front.where()
    assert "ZeroDivisionError" in caplog.text


@pytest.fixture
def broken_log() -> Iterator[None]:
    """Logging of a host's that fails."""

    class Broken(logging.Handler):
        def emit(self, record: logging.LogRecord) -> None:
            raise OSError(record.getMessage())

    handler, log = Broken(), logging.getLogger("toolcrib.gateway")
    log.addHandler(handler)
    yield
    log.removeHandler(handler)


@pytest.mark.usefixtures("broken_log")
def test_a_failure_that_can_not_be_logged_harms_nothing_either(front: Front) -> None:
    release = threading.Event()

    def fail_late() -> None:
        release.wait(DEADLINE)
        msg = "too late"
        raise ValueError(msg)

    front.jobs.put(lambda: 1 // 0)
    front.do()
    first = front.where()
    front.jobs.put(fail_late)
    front.do()
    second = front.where()
    assert second != first
    release.set()
    front.do()
    assert front.where() == second


@pytest.mark.usefixtures("broken_log")
def test_a_second_thread_that_can_not_start_is_done_without(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    start = threading.Thread.start
    ready: SimpleQueue[bool] = SimpleQueue()

    def refuse(thread: threading.Thread) -> None:
        if thread.name.endswith("front-2"):
            msg = "can't start new thread"
            raise RuntimeError(msg)
        start(thread)

    def serve() -> bool:
        ready.put(relay.ready())
        return True

    monkeypatch.setattr(threading.Thread, "start", refuse)
    relay = Relay(serve)
    relay.start()
    assert ready.get(timeout=DEADLINE) is False
    assert relay.join(time.monotonic() + DEADLINE)


def test_join_tells_of_a_thread_that_is_held_up() -> None:
    made, release, entered = Front(), threading.Event(), threading.Event()
    made.relay.start()

    def wait() -> None:
        entered.set()
        release.wait(DEADLINE)

    made.do(wait)
    assert entered.wait(DEADLINE)
    made.jobs.put(None)
    assert not made.relay.join(time.monotonic() + 0.1)
    release.set()
    assert made.relay.join(time.monotonic() + DEADLINE)


def test_a_front_that_fails_ends_the_second_thread_too(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    reported = threading.Event()
    monkeypatch.setattr(threading, "excepthook", lambda _: reported.set())

    def serve() -> bool:
        assert relay.ready()
        msg = "broken"
        raise RuntimeError(msg)

    relay = Relay(serve)
    relay.start()
    assert reported.wait(DEADLINE)
    assert relay.join(time.monotonic() + DEADLINE)


def test_a_job_that_comes_as_the_second_thread_falls_asleep_is_watched(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    entered, release, asleep = threading.Event(), threading.Event(), threading.Event()

    def wait() -> None:
        entered.set()
        release.wait(DEADLINE)

    class Alarm(threading.Event):
        """Has a job come at the last moment before the second thread waits for one."""

        def clear(self) -> None:
            super().clear()
            if not asleep.is_set():
                asleep.set()
                made.do(wait)
                entered.wait(DEADLINE)

    monkeypatch.setattr("toolcrib.runtime.gateway.relay.threading.Event", Alarm)
    made = Front()
    monkeypatch.undo()
    made.relay.start()
    made.do()
    assert made.where()
    made.do()
    second = made.where() if asleep.wait(DEADLINE) else ""
    release.set()
    held = made.where()
    assert held not in {"", second}
    made.jobs.put(None)
    assert made.relay.join(time.monotonic() + DEADLINE)


def test_nothing_runs_by_a_clock_while_there_is_nothing_to_do(front: Front) -> None:
    front.do()
    front.where()
    second = next(each for each in threading.enumerate() if each.name.endswith("front-2"))
    status = Path(f"/proc/self/task/{second.native_id}/status")
    if not status.exists():
        pytest.skip("the system does not tell how often a thread has run")

    def times() -> int:
        (line,) = [one for one in status.read_text().splitlines() if one.startswith("voluntary")]
        return int(line.split()[1])

    before = times()
    threading.Event().wait(0.3)  # sixty looks at its clock
    assert times() - before < 10
