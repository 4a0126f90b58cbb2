"""A call's context, from the handler's side and from the host's."""

from __future__ import annotations

import threading
import time
from concurrent.futures import CancelledError
from typing import Any

import pytest

from toolcrib.runtime.tools.context import Progress, _lock, when_cancelled
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
        "progress",
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


def test_progress_reaches_who_listens_on_the_thread_that_reports() -> None:
    seen: list[tuple[Progress, int]] = []
    call = Context("t", on_progress=lambda report: seen.append((report, threading.get_ident())))
    call.progress(1)
    call.progress(2.5, 10**400, "half")
    here = threading.get_ident()
    assert seen == [
        (Progress(1, None, None), here),
        (Progress(2.5, 10**400, "half"), here),
    ]


def test_progress_goes_nowhere_without_a_listener_or_after_a_cancel() -> None:
    Context("t").progress(1, 2, "m")
    seen: list[Progress] = []
    call = Context("t", on_progress=seen.append)
    call.cancel()
    call.progress(1)
    assert seen == []


def test_a_listener_that_fails_is_logged_and_the_handler_goes_on(
    caplog: pytest.LogCaptureFixture,
) -> None:
    def fail(report: Progress) -> None:
        raise RuntimeError

    Context("t", on_progress=fail).progress(1)
    assert [record.name for record in caplog.records] == ["toolcrib.tools"]


@pytest.mark.parametrize(
    ("arguments", "error"),
    [
        (("1",), TypeError),
        ((True,), TypeError),
        ((None,), TypeError),
        ((1, "2"), TypeError),
        ((1, 2, 3), TypeError),
        ((float("nan"),), ValueError),
        ((1, float("inf")), ValueError),
    ],
)
def test_progress_takes_finite_numbers_and_text_only(
    arguments: Any, error: type[Exception]
) -> None:
    with pytest.raises(error, match="progress: "):
        Context("t").progress(*arguments)
