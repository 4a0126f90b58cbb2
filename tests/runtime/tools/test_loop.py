"""Where handlers run, what they see there, and how they are stopped."""

from __future__ import annotations

import asyncio
import contextlib
import contextvars
import gc
import logging
import subprocess
import sys
import threading
import time
from collections.abc import Callable
from typing import Any

import pytest

from toolcrib import tool
from toolcrib.runtime.tools.call import CallOutcome, call
from toolcrib.runtime.tools.loop import AsyncRunner
from toolcrib.tool import Context

from .conftest import failure

variable: contextvars.ContextVar[str] = contextvars.ContextVar("variable", default="unset")


def test_the_runner_lives_on_after_system_exit_in_a_task_left_behind(
    runner: AsyncRunner, caplog: pytest.LogCaptureFixture
) -> None:
    kept: list[Any] = []

    @tool.define
    async def leaving() -> None:
        """Leave a task behind."""

        async def exit() -> None:
            raise SystemExit(3)

        kept.append(asyncio.ensure_future(exit()))

    @tool.define
    async def fine() -> int:
        """Fine."""
        await asyncio.sleep(0)
        return 1

    assert call(leaving, {}, Context("t"), runner=runner).ok
    for _ in range(3):
        assert call(fine, {}, Context("t", time.monotonic() + 10), runner=runner).ok
    with pytest.raises(SystemExit):
        kept[0].result()


def in_thread(work: Callable[[], CallOutcome]) -> Callable[[], CallOutcome]:
    """Start a call on a thread; the returned function waits for its outcome."""
    outcomes: list[CallOutcome] = []
    thread = threading.Thread(target=lambda: outcomes.append(work()), daemon=True)
    thread.start()

    def wait() -> CallOutcome:
        thread.join(10)
        return outcomes[0]

    return wait


@pytest.mark.parametrize(
    "ending", [None, lambda: tool.reject("late", "m"), lambda: ValueError("x")]
)
def test_cancelling_reaches_a_sync_handler_and_beats_what_it_says_then(
    ending: Callable[[], Exception] | None, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.INFO, "toolcrib.tools")
    started = threading.Event()

    @tool.define
    def handler(call: tool.Context) -> None:
        """Wait."""
        started.set()
        assert call.wait_cancelled(10)
        if ending is not None:
            raise ending()

    context = Context("t")
    wait = in_thread(lambda: call(handler, {}, context))
    assert started.wait(10)
    context.cancel()
    assert failure(wait()) == {"code": "canceled", "message": "The call was canceled."}
    told = [(one.levelno, one.getMessage(), one.exc_info) for one in caplog.records]
    assert told == [(logging.INFO, "tool handler: canceled", None)]


def waiting_tool(started: threading.Event, ended: threading.Event) -> tool.Tool:
    async def handler() -> None:
        started.set()
        try:
            await asyncio.Event().wait()
        finally:
            ended.set()

    return tool.define("waiting", "d", handler)


def test_cancelling_cancels_an_async_handler(runner: AsyncRunner) -> None:
    started, ended = threading.Event(), threading.Event()
    context = Context("t")
    wait = in_thread(lambda: call(waiting_tool(started, ended), {}, context, runner=runner))
    assert started.wait(10)
    context.cancel()
    assert failure(wait())["code"] == "canceled"
    assert ended.is_set()


def test_a_deadline_ends_an_async_handler_by_itself(runner: AsyncRunner) -> None:
    started, ended = threading.Event(), threading.Event()
    context = Context("t", time.monotonic() + 0.2)
    outcome = call(waiting_tool(started, ended), {}, context, runner=runner)
    assert failure(outcome)["code"] == "deadline_exceeded"
    assert started.is_set()
    assert ended.is_set()


def test_a_sync_handler_that_returns_too_late_is_too_late() -> None:
    @tool.define
    def handler(call: tool.Context) -> None:
        """Wait."""
        call.wait_cancelled()

    facts = failure(call(handler, {}, Context("t", time.monotonic() + 0.05)))
    assert facts["code"] == "deadline_exceeded"


def test_a_cancel_before_the_first_step_ends_an_async_call(runner: AsyncRunner) -> None:
    async def handler() -> None:
        raise AssertionError

    class Race(Context):
        """Ends the runner's task before the loop has taken its first step."""

        __slots__ = ()

        @property
        def deadline(self) -> float | None:
            # The runner asks for it between making the task and its first step.
            with contextlib.suppress(RuntimeError):  # this thread has no loop
                for task in asyncio.all_tasks():
                    task.cancel()
            return None

    made = tool.define("t", "d", handler)
    # On a thread: `call` would swallow the timeout of this test, as it swallows all.
    assert not in_thread(lambda: call(made, {}, Race("t"), runner=runner))().ok
    gc.collect()  # a coroutine that was never closed would warn here


def test_closing_the_runner_cancels_what_runs_and_it_can_start_again(runner: AsyncRunner) -> None:
    started, ended = threading.Event(), threading.Event()
    made = waiting_tool(started, ended)
    wait = in_thread(lambda: call(made, {}, Context("t"), runner=runner))
    assert started.wait(10)
    runner.close()
    assert ended.is_set()
    assert failure(wait())["code"] == "internal_error"
    runner.close()

    async def fine() -> int:
        return 1

    assert call(tool.define("t", "d", fine), {}, Context("t"), runner=runner).ok


def test_handlers_run_in_a_copy_of_the_given_context(runner: AsyncRunner) -> None:
    @tool.define
    def sync() -> str:
        """Sync."""
        seen = variable.get()
        variable.set("changed")
        return seen

    @tool.define
    async def waiting() -> str:
        """Wait."""
        await asyncio.sleep(0)
        seen = variable.get()
        variable.set("changed")
        return seen

    given = contextvars.copy_context()
    given.run(variable.set, "given")
    token = variable.set("around")
    for made in (sync, waiting):
        for _ in range(2):
            outcome = call(made, {}, Context("t"), within=given, runner=runner)
            assert outcome.text == '"given"'
        assert call(made, {}, Context("t"), runner=runner).text == '"around"'
    assert variable.get() == "around"
    variable.reset(token)


def test_a_sync_handler_runs_in_the_calling_thread_and_async_ones_share_a_loop(
    runner: AsyncRunner,
) -> None:
    @tool.define
    def sync() -> int:
        """Sync."""
        return threading.get_ident()

    @tool.define
    async def waiting() -> int:
        """Wait."""
        return threading.get_ident()

    assert call(sync, {}, Context("t")).text == str(threading.get_ident())
    first, second = (call(waiting, {}, Context("t"), runner=runner).text for _ in range(2))
    assert first == second != str(threading.get_ident())
    # Without a runner of its own, a call uses the one of the process.
    first, second = (call(waiting, {}, Context("t")).text for _ in range(2))
    assert first == second != str(threading.get_ident())


def test_many_async_calls_wait_at_the_same_time(runner: AsyncRunner) -> None:
    arrived: list[int] = []
    everybody = asyncio.Event()

    @tool.define
    async def meet(n: int) -> int:
        """Meet the others."""
        arrived.append(n)
        if len(arrived) == 10:
            everybody.set()
        await asyncio.wait_for(everybody.wait(), 10)
        return n

    waits = [
        in_thread(lambda n=n: call(meet, {"n": n}, Context("t"), runner=runner))  # type: ignore[misc]
        for n in range(10)
    ]
    assert [wait().text for wait in waits] == [str(n) for n in range(10)]


def test_a_handler_that_blocks_the_loop_holds_no_later_call(
    caplog: pytest.LogCaptureFixture,
) -> None:
    entered, opened = threading.Event(), threading.Event()

    @tool.define
    async def block() -> str:
        """Block the loop."""
        entered.set()
        opened.wait(20)
        await asyncio.sleep(0)
        return "blocked"

    @tool.define
    async def fine(n: int) -> int:
        """Fine."""
        await asyncio.sleep(0)
        return n

    runner = AsyncRunner("toolcrib-test-async", patience=0.1)
    blocked = in_thread(lambda: call(block, {}, Context("block"), runner=runner))
    assert entered.wait(10)
    waits = [
        in_thread(lambda n=n: call(fine, {"n": n}, Context("fine"), runner=runner))  # type: ignore[misc]
        for n in range(4)
    ]
    assert [wait().text for wait in waits] == ["0", "1", "2", "3"]
    assert call(fine, {"n": 5}, Context("fine"), runner=runner).text == "5"
    (record,) = caplog.records
    assert "The async tool block blocks the loop" in record.getMessage()
    assert not opened.is_set()

    def loops() -> list[threading.Thread]:
        return [one for one in threading.enumerate() if one.name == "toolcrib-test-async"]

    assert len(loops()) == 2
    opened.set()
    assert blocked().text == '"blocked"', "it ends as ever, where it began"
    runner.close()
    assert loops() == []


def test_a_loop_that_is_blocked_ends_with_what_it_holds_once_it_is_free() -> None:
    entered, opened = threading.Event(), threading.Event()
    homes: list[threading.Thread] = []

    @tool.define
    async def block() -> None:
        """Block the loop."""
        homes.append(threading.current_thread())
        entered.set()
        opened.wait(20)

    @tool.define
    async def later() -> int:
        """Take another turn of the loop."""
        await asyncio.sleep(0.01)
        return 1

    runner = AsyncRunner(patience=0.1)
    for _ in range(20):
        entered.clear()
        opened.clear()
        waits = [in_thread(lambda: call(block, {}, Context("t"), runner=runner))]
        assert entered.wait(10)
        waits.append(in_thread(lambda: call(later, {}, Context("t"), runner=runner)))
        waits[1]()
        opened.set()
        assert all(wait().ok for wait in waits)
    for home in homes[:-1]:
        home.join(10)
        assert not home.is_alive()
    runner.close()


def test_a_call_that_comes_in_the_last_round_of_a_loop_is_taken_by_the_next(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    @tool.define
    async def fine() -> int:
        """Fine."""
        await asyncio.sleep(0)
        return 1

    runner = AsyncRunner(patience=0.1)
    assert call(fine, {}, Context("t"), runner=runner).ok
    (home,) = runner._homes
    ending, submitted = threading.Event(), threading.Event()

    def end() -> None:
        home._stop(cancel=False)
        ending.set()
        submitted.wait(10)

    def submit(job: Any, original: Callable[[Any], bool] = home.submit) -> bool:
        known = original(job)
        submitted.set()
        return known

    monkeypatch.setattr(home, "submit", submit)
    home._call(end)
    assert ending.wait(10)
    assert in_thread(lambda: call(fine, {}, Context("t"), runner=runner))().ok
    home.thread.join(10)
    assert not home.thread.is_alive()
    runner.close()


# Development mode makes asyncio warn of every step that a busy machine held up.
SCRIPT = """
import logging, sys, threading, time
from toolcrib import tool
from toolcrib.runtime.tools.call import call

logging.getLogger("asyncio").setLevel(logging.ERROR)

@tool.define
async def fine() -> int:
    "Fine."
    return 1

@tool.define
async def stuck() -> None:
    "Block the loop."
    started.set()
    time.sleep(600)

started = threading.Event()
print(call(fine, {}, tool.Context("fine")).text)
if sys.argv[1] == "stuck":
    args = (stuck, {}, tool.Context("stuck"))
    threading.Thread(target=call, args=args, daemon=True).start()
    started.wait(10)
"""


@pytest.mark.parametrize("how", ["idle", "stuck"])
def test_the_interpreter_exits_at_once_and_in_silence(how: str) -> None:
    done = subprocess.run(
        [sys.executable, "-X", "dev", "-W", "error", "-c", SCRIPT, how],
        capture_output=True,
        text=True,
        timeout=30,
        check=False,
    )
    assert (done.returncode, done.stdout, done.stderr) == (0, "1\n", "")
