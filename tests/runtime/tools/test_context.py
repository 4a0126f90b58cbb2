"""A call's context, from the handler's side and from the host's."""

from __future__ import annotations

import threading
import time
from concurrent.futures import CancelledError

import pytest

from toolcrib.runtime.tools.context import _lock, when_cancelled
from toolcrib.tool import Context


def test_a_new_context_may_go_on() -> None:
    call = Context("t")
    assert (call.tool_name, call.deadline, call.reason, call.cancelled) == ("t", None, None, False)
    call.raise_if_cancelled()
    assert call.wait_cancelled(0) is False


def test_cancel_is_seen_at_once_and_its_first_reason_stays() -> None:
    call = Context("t")
    call.cancel()
    call.cancel("deadline_exceeded")
    assert (call.cancelled, call.reason) == (True, "canceled")
    assert call.wait_cancelled() is True
    with pytest.raises(CancelledError, match="call of t "):
        call.raise_if_cancelled()


def test_a_deadline_counts_down_and_stops_by_itself() -> None:
    call = Context("t", time.monotonic() + 60)
    assert call.deadline is not None
    assert 59 < call.deadline <= 60
    assert not call.cancelled
    past = Context("t", time.monotonic() - 1)
    assert (past.deadline, past.cancelled, past.reason) == (0.0, True, "deadline_exceeded")
    with pytest.raises(TimeoutError, match="call of t "):
        past.raise_if_cancelled()


def test_waiting_ends_at_the_deadline() -> None:
    assert Context("t", time.monotonic() + 0.02).wait_cancelled(30) is True


def test_cancel_wakes_all_who_wait() -> None:
    call, woken = Context("t"), []
    waiting = threading.Semaphore(0)

    def wait() -> None:
        waiting.release()
        woken.append(call.wait_cancelled(10))

    threads = [threading.Thread(target=wait) for _ in range(3)]
    for thread in threads:
        thread.start()
    for _ in threads:
        assert waiting.acquire(timeout=10)
    call.cancel()
    for thread in threads:
        thread.join(10)
    assert woken == [True] * 3


def test_a_handler_can_leave_no_code_to_run_on_the_thread_that_cancels() -> None:
    public = {name for name in vars(Context) if not name.startswith("_")}
    assert public == {
        "cancel",
        "cancelled",
        "deadline",
        "raise_if_cancelled",
        "reason",
        "tool_name",
        "wait_cancelled",
    }


def test_a_finalizer_may_cancel_while_another_cancel_goes_on() -> None:
    call, other = Context("t"), Context("t")
    with _lock:  # as where the garbage collector runs in the middle of one
        call.cancel()
        assert other.wait_cancelled(0) is False
    assert call.cancelled


def test_callbacks_of_the_host_side_run_once_and_can_be_taken_back() -> None:
    call, seen = Context("t"), []
    when_cancelled(call, lambda: seen.append("kept"))
    when_cancelled(call, lambda: seen.append("taken back"))()
    call.cancel()
    call.cancel()
    assert seen == ["kept"]
    when_cancelled(call, lambda: seen.append("late"))()
    assert seen == ["kept", "late"]


def test_a_callback_that_races_with_cancel_runs_exactly_once() -> None:
    for _ in range(200):
        call = Context("t")
        seen: list[int] = []
        gate = threading.Barrier(2)

        def cancel(call: Context = call, gate: threading.Barrier = gate) -> None:
            gate.wait(10)
            call.cancel()

        thread = threading.Thread(target=cancel)
        thread.start()
        gate.wait(10)
        when_cancelled(call, lambda seen=seen: seen.append(1))  # type: ignore[misc]
        thread.join(10)
        assert seen == [1]
