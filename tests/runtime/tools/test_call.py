"""A hosted call gives an outcome, whatever the handler does."""

from __future__ import annotations

import asyncio
import contextvars
import gc
import io
import logging
import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import pytest

from toolcrib import tool
from toolcrib.errors import InvalidInputError, InvalidOutputError
from toolcrib.runtime.tools.call import CallOutcome, call
from toolcrib.runtime.tools.loop import AsyncRunner
from toolcrib.tool import Context

from .conftest import failure

variable: contextvars.ContextVar[str] = contextvars.ContextVar("variable", default="unset")


@dataclass
class Answer:
    text: str
    count: int


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
    assert all("rejected a call: not_found" in one.getMessage() for one in caplog.records)
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


def test_a_result_of_the_right_type_that_its_schema_refuses_is_an_internal_error(
    caplog: pytest.LogCaptureFixture,
) -> None:
    def count(number: int) -> dict[str, int]:
        return {"number": number}

    schema = {
        "type": "object",
        "properties": {"number": {"type": "integer", "maximum": 5}},
        "additionalProperties": False,
    }
    made = tool.define("count", "Count.", count, output_schema=schema)
    assert call(made, {"number": 5}, Context("t")).ok
    facts = failure(call(made, {"number": 6}, Context("t")))
    assert facts == {"code": "internal_error", "message": "The tool failed."}
    (record,) = caplog.records
    assert record.exc_info
    assert "does not fit the output schema" in str(record.exc_info[1])


def test_a_number_of_too_many_digits_is_an_internal_error(
    caplog: pytest.LogCaptureFixture,
) -> None:
    @tool.define
    def power() -> int:
        """Give more digits than Python writes out."""
        return 10**5000

    assert failure(call(power, {}, Context("t")))["code"] == "internal_error"
    (record,) = caplog.records
    assert record.exc_info
    assert "has no JSON text" in str(record.exc_info[1])


def test_a_tools_own_limit_counts_and_not_the_general_one() -> None:
    def give() -> str:
        return "x" * 10

    small = tool.define("small", "Give.", give, output_limit=11)
    large = tool.define("large", "Give.", give, output_limit=12)
    assert "larger than 11 bytes" in call(small, {}, Context("t")).text
    assert call(large, {}, Context("t"), output_limit=5).ok
    with pytest.raises(InvalidOutputError, match="larger than 11 bytes"):
        small.invoke({})


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
