"""`invoke` and `ainvoke`: the same path as a hosted call, in the caller's place."""

from __future__ import annotations

import asyncio
import contextvars
import functools
import threading
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any

import pytest

from toolcrib import tool
from toolcrib.errors import InvalidInputError, InvalidOutputError
from toolcrib.runtime.tools.validation import DEPTH_LIMIT

variable: contextvars.ContextVar[str] = contextvars.ContextVar("variable", default="unset")


@dataclass
class Filter:
    tags: dict[str, int] | None = None


@tool.define
def search(key: str, limit: int = 3, where: Filter | None = None) -> str:
    """Search."""
    return f"{key} {limit}"


def refusal(arguments: Any) -> str:
    with pytest.raises(InvalidInputError) as caught:
        search.invoke(arguments)
    assert tool.as_rejection(caught.value) == ("invalid_input", str(caught.value))
    assert len(str(caught.value).encode()) <= 512
    return str(caught.value)


@pytest.mark.parametrize(
    ("arguments", "text"),
    [
        ({}, 'arguments: the field "key" is required'),
        ({"key": 1}, "/key: must be a string"),
        ({"key": None}, "/key: must be a string"),
        (
            {"key": "k", "limit": None},
            "/limit: must be an integer; leave the field out to use its default",
        ),
        ({"key": "k", "zeta": 1, "kee": 2}, 'arguments: unknown field "kee"; leave it out'),
        ({"kee": 2}, 'arguments: unknown field "kee"; leave it out'),
        (
            {"key": "k", "where": 5},
            "/where: must be an object or null; leave the field out to use its default",
        ),
        (
            {"key": "k", "where": {"tags": {"a/b": "x"}}},
            "/where/tags/a/b: must be an integer",
        ),
        ({"key": "k", "where": {"b": 1}}, '/where: unknown field "b"; leave it out'),
        ([], "arguments: must be an object"),
        (None, "arguments: must be an object"),
        ("{}", "arguments: must be an object"),
        ({"key": "\ud800"}, "/key: holds half of a surrogate pair, which is no text"),
        ({"key": {1, 2}}, "/key: must be a string"),
        ({"key": float("nan")}, "/key: must be a string"),
    ],
)
def test_a_refusal_names_path_and_rule(arguments: Any, text: str) -> None:
    assert refusal(arguments) == text


def test_a_refusal_never_holds_a_value() -> None:
    secret = "hunter2-" * 200
    for arguments in (
        {"key": [secret]},
        {"key": "k", "limit": secret},
        {"key": "k", "where": secret},
        {"key": "k", "where": {"tags": {"a": secret}}},
        {"key": "k", "unknown": secret},
        {"key": secret, "limit": {secret}},
        {"key": "k", "limit": [secret] * 20_000},
    ):
        assert "hunter2" not in refusal(arguments)


@pytest.mark.parametrize(
    "name", ["x" * 10_000, "é" * 100, "\x00" * 80, "\u202e\x1b[31m\n", "\ud800"]
)
def test_the_name_of_an_unknown_field_is_cut_and_escaped(name: str) -> None:
    text = refusal({"key": "k", name: 1})
    assert text.isprintable()
    assert len(text) < 450
    if len(name.encode("utf-8", "replace")) > 64:
        assert "…" in text


def test_a_long_path_is_cut_but_keeps_its_end() -> None:
    @dataclass
    class Deep:
        sub: dict[str, Deep] | None = None
        number: int = 0

    @tool.define
    def deep(root: Deep) -> None:
        """Deep."""

    arguments: dict[str, Any] = {"number": "x"}
    for _ in range(20):
        arguments = {"sub": {"é" * 100: arguments}}
    with pytest.raises(InvalidInputError, match="/number: must be an integer") as caught:
        deep.invoke(arguments)
    assert len(str(caught.value).encode()) <= 512


def test_a_number_that_no_float_can_hold_is_refused() -> None:
    @tool.define
    def half(number: float) -> float:
        """Half."""
        return number / 2

    with pytest.raises(InvalidInputError, match="/number: is too large"):
        half.invoke({"number": 10**400})
    with pytest.raises(InvalidInputError, match="/number"):
        half.invoke({"number": float("inf")})


@dataclass
class Tree:
    sub: Tree | None = None


@tool.define
def same(tree: Tree) -> Tree:
    """Same."""
    return tree


def tree_of(levels: int) -> dict[str, Any]:
    arguments: dict[str, Any] = {"sub": None}
    for _ in range(levels - 1):
        arguments = {"sub": arguments}
    return arguments


def test_the_deepest_that_is_allowed_can_be_converted_both_ways() -> None:
    assert same.invoke(tree_of(DEPTH_LIMIT)) == tree_of(DEPTH_LIMIT)


@pytest.mark.parametrize("levels", [DEPTH_LIMIT + 1, 1_000, 200_000])
def test_deeper_nesting_is_refused_and_the_process_lives(levels: int) -> None:
    with pytest.raises(InvalidInputError, match="nested deeper than 64 levels"):
        same.invoke(tree_of(levels))


def test_a_large_wrong_array_is_explained_by_its_place() -> None:
    @tool.define
    def total(numbers: list[int]) -> int:
        """Total."""
        return sum(numbers)

    with pytest.raises(InvalidInputError) as caught:
        total.invoke({"numbers": [*range(50_000), "secret"]})
    assert (
        str(caught.value) == "/numbers/50000: does not fit the input schema; send JSON that does"
    )


def test_arguments_may_be_any_mapping() -> None:
    arguments: Mapping[str, Any] = MappingProxyType({"key": "k"})
    assert search.invoke(arguments) == "k 3"


def test_invoke_runs_in_the_callers_thread_and_context() -> None:
    seen: list[Any] = []

    @tool.define
    def handler() -> None:
        """Look."""
        seen.append((threading.get_ident(), variable.get()))
        variable.set("by the handler")

    token = variable.set("by the caller")
    handler.invoke({})
    assert seen == [(threading.get_ident(), "by the caller")]
    assert variable.get() == "by the handler"
    variable.reset(token)


@tool.define
async def slowly(text: str) -> str:
    """Wait a moment."""
    await asyncio.sleep(0)
    return text + variable.get()


def passed_on(text: str) -> Any:
    return slowly_function(text)


async def slowly_function(text: str) -> str:
    await asyncio.sleep(0)
    return text


def test_invoke_runs_async_handlers_too() -> None:
    assert slowly.invoke({"text": "a"}) == "aunset"


def test_a_wrapper_that_returns_a_coroutine_is_awaited() -> None:
    @functools.wraps(slowly_function)
    def wrapper(*args: Any, **kwargs: Any) -> Any:
        return slowly_function(*args, **kwargs)

    made = tool.define("t", "d", wrapper)
    assert made.invoke({"text": "a"}) == "a"
    assert asyncio.run(made.ainvoke({"text": "a"})) == "a"


def test_invoke_of_an_async_handler_in_a_running_loop_names_ainvoke() -> None:
    async def main() -> None:
        with pytest.raises(RuntimeError, match="tool slowly .* ainvoke"):
            slowly.invoke({"text": "a"})
        assert await slowly.ainvoke({"text": "a"}) == "aset"
        assert search.invoke({"key": "k"}) == "k 3"

    token = variable.set("set")
    asyncio.run(main())
    variable.reset(token)


def test_ainvoke_keeps_the_loop_free_while_a_sync_handler_waits() -> None:
    released = threading.Event()

    @tool.define
    def handler() -> str:
        """Wait."""
        assert released.wait(10)
        return variable.get()

    async def main() -> str:
        variable.set("copied")
        task = asyncio.create_task(handler.ainvoke({}))
        await asyncio.sleep(0)
        released.set()
        result: str = await task
        return result

    assert asyncio.run(main()) == "copied"


def test_cancelling_ainvoke_reaches_a_sync_handler() -> None:
    started, ended = threading.Event(), threading.Event()

    @tool.define
    def handler(call: tool.Context) -> None:
        """Wait."""
        started.set()
        if call.wait_cancelled(10):
            ended.set()

    async def main() -> None:
        task = asyncio.create_task(handler.ainvoke({}))
        await asyncio.to_thread(started.wait, 10)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task

    asyncio.run(main())
    assert ended.wait(10)


def raising(error: BaseException) -> tuple[tool.Tool, tool.Tool]:
    def sync() -> None:
        raise error

    async def waiting() -> None:
        raise error

    return tool.define("sync", "d", sync), tool.define("waiting", "d", waiting)


@pytest.mark.parametrize(
    "make", [lambda: ValueError("x"), lambda: tool.reject("code", "m"), lambda: SystemExit(3)]
)
def test_what_a_handler_raises_comes_out_unchanged(make: Callable[[], BaseException]) -> None:
    for position in (0, 1):
        error = make()
        with pytest.raises(type(error)) as caught:
            raising(error)[position].invoke({})
        assert caught.value is error


def test_ainvoke_survives_a_stop_iteration_of_a_sync_handler() -> None:
    with pytest.raises(RuntimeError):
        asyncio.run(asyncio.wait_for(raising(StopIteration())[0].ainvoke({}), 10))


def test_a_result_over_the_limit_is_refused() -> None:
    @tool.define
    def much(count: int) -> str:
        """Return much."""
        return "é" * count

    assert len(much.invoke({"count": 2 * 1024 * 1024 - 1})) == 2 * 1024 * 1024 - 1
    with pytest.raises(InvalidOutputError, match="larger than 4194304 bytes"):
        much.invoke({"count": 2 * 1024 * 1024})


def test_a_handler_can_be_given_a_context_of_the_hosts_making() -> None:
    @tool.define
    def handler(call: tool.Context) -> bool:
        """Look."""
        return call.cancelled

    call = tool.Context("handler")
    assert handler.invoke({}, context=call) is False
    call.cancel()
    assert handler.invoke({}, context=call) is True


def test_many_threads_may_use_a_new_tool_at_once() -> None:
    made = tool.define("t", "d", lambda_free_double)
    gate = threading.Barrier(8)
    results: list[Any] = []

    def work() -> None:
        gate.wait(10)
        results.append(made.invoke({"n": 2}))

    threads = [threading.Thread(target=work) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(10)
    assert results == [4] * 8


def lambda_free_double(n: int) -> int:
    return n * 2


def test_ainvoke_takes_a_context_too() -> None:
    @tool.define
    async def handler(call: tool.Context) -> bool:
        """Look."""
        return call.cancelled

    call = tool.Context("handler")
    call.cancel()
    assert asyncio.run(handler.ainvoke({}, context=call)) is True
