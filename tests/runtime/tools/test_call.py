"""A hosted call gives an outcome, whatever the handler does."""

from __future__ import annotations

import asyncio
import contextlib
import contextvars
import gc
import io
import json
import logging
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import pytest

from toolcrib import tool
from toolcrib.errors import InvalidInputError, InvalidOutputError
from toolcrib.runtime.tools.call import CallOutcome, call
from toolcrib.runtime.tools.loop import AsyncRunner
from toolcrib.tool import Context

variable: contextvars.ContextVar[str] = contextvars.ContextVar("variable", default="unset")


@pytest.fixture
def runner() -> Iterator[AsyncRunner]:
    made = AsyncRunner()
    yield made
    made.close()


@dataclass
class Answer:
    text: str
    count: int


def failure(outcome: CallOutcome) -> dict[str, str]:
    assert not outcome.ok
    assert outcome.structured is None
    facts: dict[str, str] = json.loads(outcome.text)
    assert list(facts) == ["code", "message"]
    return facts


def both(error: Callable[[], BaseException]) -> list[tool.Tool]:
    def sync() -> None:
        raise error()

    async def waiting() -> None:
        await asyncio.sleep(0)
        raise error()

    return [tool.define("sync", "d", sync), tool.define("waiting", "d", waiting)]


def test_a_success_has_text_and_structure() -> None:
    @tool.define
    def sync(n: int) -> Answer:
        """Sync."""
        return Answer("é", n)

    outcome = call(sync, {"n": 2**70}, Context("sync"))
    assert outcome == CallOutcome(
        ok=True,
        text='{"count":1180591620717411303424,"text":"é"}',
        structured={"text": "é", "count": 2**70},
    )


def test_a_result_that_is_no_object_is_bare_in_text_and_wrapped_in_structure() -> None:
    @tool.define
    async def waiting() -> list[int] | None:
        """Wait."""
        return [1]

    @tool.define
    def nothing() -> None:
        """Nothing."""

    assert call(waiting, {}, Context("w")) == CallOutcome(
        ok=True, text="[1]", structured={"result": [1]}
    )
    assert call(nothing, {}, Context("n")) == CallOutcome(
        ok=True, text="null", structured={"result": None}
    )


def test_refused_arguments_are_invalid_input() -> None:
    @tool.define
    def sync(n: int) -> None:
        """Sync."""

    wrong: list[object] = [{"n": "1"}, None, [], {}, {"n": 1, "m": 2}]
    for arguments in wrong:
        facts = failure(call(sync, arguments, Context("sync")))
        assert facts["code"] == "invalid_input"
        assert facts["message"]


def test_a_rejection_reaches_the_model_and_leaves_no_error(
    caplog: pytest.LogCaptureFixture, runner: AsyncRunner
) -> None:
    def wrapped() -> BaseException:
        error = ValueError("secret")
        error.__cause__ = tool.reject("not_found", "Choose another.")
        return error

    with caplog.at_level(logging.DEBUG, "toolcrib.tools"):
        for make in (lambda: tool.reject("not_found", "Choose another."), wrapped):
            for made in both(make):
                facts = failure(call(made, {}, Context("t"), runner=runner))
                assert facts == {"code": "not_found", "message": "Choose another."}
    assert len(caplog.records) == 4
    assert all(one.levelno <= logging.INFO and not one.exc_info for one in caplog.records)


class Hostile(BaseException):
    def __str__(self) -> str:
        raise SystemExit(9)

    __repr__ = __str__


@pytest.mark.parametrize(
    "make",
    [
        lambda: RuntimeError("secret"),
        lambda: SystemExit("secret"),
        lambda: KeyboardInterrupt("secret"),
        lambda: GeneratorExit("secret"),
        lambda: asyncio.CancelledError("secret"),
        lambda: StopIteration("secret"),
        lambda: RecursionError("secret"),
        lambda: BaseExceptionGroup("secret", [SystemExit("secret")]),
        lambda: InvalidInputError("secret"),
        lambda: Hostile("secret"),
    ],
)
def test_any_crash_is_one_sentence_and_one_record_with_its_traceback(
    make: Callable[[], BaseException], caplog: pytest.LogCaptureFixture, runner: AsyncRunner
) -> None:
    for made in both(make):
        caplog.clear()
        outcome = call(made, {}, Context("t"), runner=runner)
        assert failure(outcome) == {"code": "internal_error", "message": "The tool failed."}
        (record,) = caplog.records
        assert (record.name, record.levelno) == ("toolcrib.tools", logging.ERROR)
        assert record.exc_info
        assert made.name in record.getMessage()


def noted() -> BaseException:
    error = ValueError("secret")
    error.add_note("secret note")
    error.__cause__ = KeyError("secret cause")
    return ExceptionGroup("secret group", [error, RuntimeError("secret")])


class Unprintable(Exception):
    """Raises whatever of it is asked for, also while a traceback is printed."""

    def __str__(self) -> str:
        raise SystemExit(9)

    __repr__ = __str__

    def __getattribute__(self, name: str) -> Any:
        if name in {"__notes__", "__suppress_context__", "__context__", "__cause__"}:
            raise SystemExit(9)
        return super().__getattribute__(name)


@pytest.mark.parametrize(
    ("make", "printed"),
    [(noted, ["secret group", "secret note", "secret cause"]), (Unprintable, ["Unprintable"])],
)
def test_the_hosts_log_really_shows_each_crash_once(
    make: Callable[[], BaseException], printed: list[str]
) -> None:
    stream = io.StringIO()
    handler = logging.StreamHandler(stream)
    logging.getLogger("toolcrib.tools").addHandler(handler)
    try:
        for made in both(make):
            outcome = call(made, {}, Context("t"))
            assert "secret" not in outcome.text
    finally:
        logging.getLogger("toolcrib.tools").removeHandler(handler)
    lines = stream.getvalue()
    assert lines.count("tool sync failed") == lines.count("tool waiting failed") == 1
    assert "in sync" in lines  # the traceback names the handler
    for text in printed:
        assert text in lines


@dataclass
class Inner:
    number: float
    rows: list[dict[str, float]]


@pytest.mark.parametrize("number", [float("nan"), float("inf"), float("-inf")])
def test_a_number_that_json_lacks_is_an_internal_error_at_any_depth(
    number: float, caplog: pytest.LogCaptureFixture
) -> None:
    @tool.define
    def give(where: int) -> Inner:
        """Give."""
        numbers = [1.0, 1.0]
        numbers[where] = number
        return Inner(numbers[0], [{}, {"x": numbers[1]}])

    for where, path in enumerate(["/number", "/rows/1/x"]):
        caplog.clear()
        facts = failure(call(give, {"where": where}, Context("t")))
        assert facts == {"code": "internal_error", "message": "The tool failed."}
        (record,) = caplog.records
        assert record.exc_info
        assert f"result {path} is not a finite number" in str(record.exc_info[1])


def test_a_sync_handler_that_returns_an_awaitable_or_a_generator_has_failed(
    caplog: pytest.LogCaptureFixture,
) -> None:
    async def later() -> int:
        raise AssertionError

    @tool.define
    def promise() -> int:
        """Promise."""
        return later()  # type: ignore[return-value]

    @tool.define
    def rows() -> list[int]:
        """Rows."""
        return (one for one in range(3))  # type: ignore[return-value]

    for made, why in ((promise, "async def"), (rows, "is not a list but of type generator")):
        caplog.clear()
        assert failure(call(made, {}, Context("t")))["code"] == "internal_error"
        (record,) = caplog.records
        assert record.exc_info
        assert why in str(record.exc_info[1])
        with pytest.raises(InvalidOutputError, match=why):
            asyncio.run(made.ainvoke({}))
    gc.collect()  # a coroutine that was never closed would warn here


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


def test_a_wrong_result_and_one_over_the_limit_are_internal_errors(
    caplog: pytest.LogCaptureFixture,
) -> None:
    @tool.define
    def give(kind: str) -> float:
        """Give."""
        values: dict[str, Any] = {"nan": float("nan"), "text": "secret", "fine": 1.25}
        return values[kind]  # type: ignore[no-any-return]

    for kind in ("nan", "text"):
        facts = failure(call(give, {"kind": kind}, Context("t")))
        assert facts == {"code": "internal_error", "message": "The tool failed."}
    assert call(give, {"kind": "fine"}, Context("t"), output_limit=4).ok
    facts = failure(call(give, {"kind": "fine"}, Context("t"), output_limit=3))
    assert facts["code"] == "internal_error"
    assert "larger than 3 bytes" in facts["message"]
    assert [record.levelno for record in caplog.records] == [logging.ERROR] * 3


@pytest.mark.parametrize("make", [lambda: tool.reject("forged", "m"), lambda: SystemExit(3)])
def test_what_a_dataclass_raises_is_a_crash_and_no_rejection(
    make: Callable[[], BaseException], caplog: pytest.LogCaptureFixture
) -> None:
    @dataclass
    class Request:
        a: int

        def __post_init__(self) -> None:
            raise make()

    def handler(request: Request) -> None: ...

    facts = failure(call(tool.define("t", "d", handler), {"a": 1}, Context("t")))
    assert facts["code"] == "internal_error"
    assert len(caplog.records) == 1


def test_a_log_handler_that_fails_changes_nothing() -> None:
    class Failing(logging.Handler):
        def emit(self, record: logging.LogRecord) -> None:
            raise SystemExit(4)

    handler = Failing()
    logging.getLogger("toolcrib.tools").addHandler(handler)
    try:
        outcomes = [call(made, {}, Context("t")) for made in both(lambda: ValueError("x"))]
    finally:
        logging.getLogger("toolcrib.tools").removeHandler(handler)
    assert [failure(one)["code"] for one in outcomes] == ["internal_error"] * 2


def counting(calls: list[int]) -> tool.Tool:
    def handler() -> None:
        calls.append(1)

    return tool.define("counting", "d", handler)


def test_a_call_that_is_over_before_it_starts_never_reaches_the_handler() -> None:
    calls: list[int] = []
    cancelled = Context("t")
    cancelled.cancel()
    assert failure(call(counting(calls), {}, cancelled))["code"] == "canceled"
    late = Context("t", time.monotonic() - 1)
    assert failure(call(counting(calls), {}, late))["code"] == "deadline_exceeded"
    assert failure(call(counting(calls), {"wrong": 1}, cancelled))["code"] == "canceled"
    assert calls == []


def test_a_cancel_while_arguments_are_converted_never_reaches_the_handler() -> None:
    context, calls = Context("t"), []

    @dataclass
    class Request:
        a: int

        def __post_init__(self) -> None:
            context.cancel()

    def handler(request: Request) -> None:
        calls.append(request)

    made = tool.define("t", "d", handler)
    assert failure(call(made, {"a": 1}, context))["code"] == "canceled"
    assert calls == []


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
    assert not [one for one in caplog.records if one.levelno > logging.INFO]


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


SCRIPT = """
import sys, threading, time
from toolcrib import tool
from toolcrib.runtime.tools.call import call

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
