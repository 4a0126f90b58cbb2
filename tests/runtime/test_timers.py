from __future__ import annotations

import queue
import threading
import time
from collections.abc import Iterator
from functools import partial

import pytest

from toolcrib.runtime.timers import Timers

DEADLINE = 10.0
FAR = 3600.0


@pytest.fixture
def timers() -> Iterator[Timers]:
    clock = Timers("toolcrib-test-timers")
    yield clock
    clock.close()


def thread_of(timers: Timers) -> threading.Thread:
    found: queue.SimpleQueue[threading.Thread] = queue.SimpleQueue()
    timers.after(0, lambda: found.put(threading.current_thread()))
    return found.get(timeout=DEADLINE)


def test_a_callback_comes_after_its_time_on_the_timers_thread(timers: Timers) -> None:
    called: queue.SimpleQueue[float] = queue.SimpleQueue()
    start = time.monotonic()
    timers.after(0.1, lambda: called.put(time.monotonic()))
    assert called.get(timeout=DEADLINE) - start >= 0.1
    thread = thread_of(timers)
    assert thread.daemon
    assert thread.name == "toolcrib-test-timers"


def test_callbacks_come_in_the_order_of_their_times(timers: Timers) -> None:
    called: queue.SimpleQueue[str] = queue.SimpleQueue()
    timers.after(FAR, lambda: called.put("never"))
    timers.after(0.10, lambda: called.put("third"))
    timers.after(0.05, lambda: called.put("first"))
    # A sooner one has to interrupt the wait for a later one.
    timers.after(0.0, lambda: called.put("now"))
    assert [called.get(timeout=DEADLINE) for _ in range(3)] == ["now", "first", "third"]


def test_equal_times_keep_their_order(timers: Timers, monkeypatch: pytest.MonkeyPatch) -> None:
    called: queue.SimpleQueue[int] = queue.SimpleQueue()
    moment = time.monotonic()
    with monkeypatch.context() as patch:
        patch.setattr("toolcrib.runtime.timers.time.monotonic", lambda: moment)
        for number in range(100):
            timers.after(0.05, partial(called.put, number))
    assert [called.get(timeout=DEADLINE) for _ in range(100)] == list(range(100))


def test_a_cancelled_callback_does_not_come(timers: Timers) -> None:
    called: queue.SimpleQueue[str] = queue.SimpleQueue()
    timer = timers.after(0.05, lambda: called.put("cancelled"))
    assert timer.pending
    assert timer.cancel()
    assert not timer.pending
    assert not timer.cancel()
    timers.after(0.1, lambda: called.put("kept"))
    assert called.get(timeout=DEADLINE) == "kept"


def test_cancelling_after_the_call_is_too_late(timers: Timers) -> None:
    called = threading.Event()
    timer = timers.after(0, called.set)
    assert called.wait(DEADLINE)
    assert not timer.cancel()


def test_cancelled_timers_do_not_pile_up(timers: Timers) -> None:
    kept = [timers.after(FAR, lambda: None) for _ in range(10)]
    for _ in range(10_000):
        timers.after(FAR, lambda: None).cancel()
    assert len(timers._heap) < 200
    assert all(timer.pending for timer in kept)


@pytest.mark.parametrize("error", [ValueError("x"), SystemExit(3)])
def test_a_callback_that_raises_is_logged_and_others_still_come(
    timers: Timers, caplog: pytest.LogCaptureFixture, error: BaseException
) -> None:
    def fail() -> None:
        raise error

    timers.after(0, fail)
    assert thread_of(timers).is_alive()
    assert "a timer's callback raised" in caplog.text


def test_a_callback_may_set_and_cancel_timers(timers: Timers) -> None:
    called = threading.Event()
    other = timers.after(FAR, lambda: None)

    def callback() -> None:
        other.cancel()
        timers.after(0, called.set)

    timers.after(0, callback)
    assert called.wait(DEADLINE)
    assert not other.pending


def test_close_drops_what_is_to_come_and_ends_the_thread(timers: Timers) -> None:
    thread = thread_of(timers)
    called: queue.SimpleQueue[str] = queue.SimpleQueue()
    timer = timers.after(0.05, lambda: called.put("dropped"))
    timers.close()
    timers.close()
    thread.join(DEADLINE)
    assert not thread.is_alive()
    assert not timer.pending
    timers.after(0.1, lambda: called.put("anew"))
    assert called.get(timeout=DEADLINE) == "anew"


def test_timers_that_were_never_used_have_no_thread() -> None:
    before = threading.active_count()
    timers = Timers()
    timers.close()
    assert threading.active_count() == before


def test_a_time_without_end_is_no_error(timers: Timers) -> None:
    timer = timers.after(float("inf"), lambda: None)
    assert thread_of(timers).is_alive()
    assert timer.cancel()
