"""What can be a handler, through both forms of `define`, and what can't."""

from __future__ import annotations

import asyncio
import functools
from collections.abc import AsyncIterator, Callable, Coroutine, Iterator
from dataclasses import dataclass
from typing import Any

import pytest

from toolcrib import tool
from toolcrib.errors import DefinitionError
from toolcrib.runtime.tools.context import Context


class Shelf:
    """A host's object with tools on it."""

    def __init__(self, start: int) -> None:
        self.start = start

    def plain(self, n: int) -> int:
        """Plain."""
        return self.start + n

    async def waiting(self, n: int) -> int:
        """Wait."""
        await asyncio.sleep(0)
        return self.start + n

    def typed(self: Shelf, n: int) -> int:
        """Annotated self."""
        return self.start + n

    @classmethod
    def of_class(cls, n: int) -> int:
        """Class."""
        return n

    @staticmethod
    def static(n: int) -> int:
        """Be static."""
        return n


class AsyncCallable:
    """An object that is called and awaited."""

    async def __call__(self, n: int) -> int:
        return n + 1


def plain(n: int) -> int:
    """Plain."""
    return n


async def waiting(n: int) -> int:
    """Wait."""
    await asyncio.sleep(0)
    return n


def made_async(function: Callable[[int], int]) -> Callable[[int], Coroutine[Any, Any, int]]:
    @functools.wraps(function)
    async def wrapper(n: int) -> int:
        return function(n)

    return wrapper


def made_sync(function: Callable[[int], Coroutine[Any, Any, int]]) -> Callable[[int], int]:
    @functools.wraps(function)
    def wrapper(n: int) -> int:
        return asyncio.run(function(n))

    return wrapper


@pytest.mark.parametrize(
    ("handler", "result"),
    [
        (plain, 1),
        (waiting, 1),
        (Shelf(10).plain, 11),
        (Shelf(10).waiting, 11),
        (Shelf(10).typed, 11),
        (Shelf.of_class, 1),
        (Shelf.static, 1),
        (AsyncCallable(), 2),
        (functools.partial(plain), 1),
        (functools.partial(waiting), 1),
        (functools.partial(Shelf(10).waiting), 11),
        (made_async(plain), 1),
        (functools.lru_cache(plain), 1),
    ],
)
def test_whatever_is_called_by_name_is_a_handler(handler: Any, result: int) -> None:
    made = tool.define("t", "d", handler)
    assert list(made.input_schema["properties"]) == ["n"]
    assert made.invoke({"n": 1}) == result
    assert asyncio.run(made.ainvoke({"n": 1})) == result


def test_a_sync_wrapper_of_an_async_function_is_called_as_it_is() -> None:
    assert tool.define("t", "d", made_sync(waiting)).invoke({"n": 1}) == 1


def test_static_and_class_methods_are_tools_of_their_class_in_any_order() -> None:
    class Host:
        @tool.define
        @staticmethod
        def below(n: int) -> int:
            """Below."""
            return n

        @staticmethod  # pyright: ignore[reportArgumentType]
        @tool.define
        def above(n: int) -> int:
            """Above."""
            return n

    assert isinstance(Host.below, tool.Tool)
    assert (Host.below.name, Host.above.name) == ("below", "above")
    assert Host.below.invoke({"n": 1}) == Host().above.invoke({"n": 1}) == 1


def test_a_method_is_no_tool_until_it_is_bound() -> None:
    def in_class(order: int) -> None:
        class Host:
            if order == 0:

                @tool.define
                def method(self, n: int) -> int:
                    """Take self."""
                    return n

            elif order == 1:

                @tool.define
                def typed(self: Host, n: int) -> int:
                    """Take self, annotated."""
                    return n

            elif order == 2:

                @classmethod  # pyright: ignore[reportArgumentType]
                @tool.define
                def inside(cls, n: int) -> int:
                    """Take cls."""
                    return n

            else:

                @tool.define
                @classmethod
                def outside(cls, n: int) -> int:
                    """Take cls."""
                    return n

    for order, words in enumerate(("bound method", "annotation", "bound method", "Class.method")):
        with pytest.raises(DefinitionError, match=words):
            in_class(order)


@dataclass
class Owner:
    n: int

    def method(self: Owner) -> int:
        """Annotate self with a type that could be an input."""
        return self.n


def test_an_annotated_self_is_not_taken_for_the_arguments() -> None:
    with pytest.raises(DefinitionError, match="bound method"):
        tool.define("t", "d", Owner.method)
    assert tool.define("t", "d", Owner(3).method).invoke({}) == 3


def test_a_function_may_name_its_parameter_self() -> None:
    def handler(self: int) -> int:
        return self

    assert tool.define("t", "d", handler).invoke({"self": 1}) == 1


def generator(n: int) -> Iterator[int]:
    yield n


async def async_generator(n: int) -> AsyncIterator[int]:
    yield n


def made_generator(function: Callable[..., Any]) -> Callable[..., Any]:
    @functools.wraps(function)
    def wrapper(n: int) -> Iterator[int]:
        yield function(n)

    return wrapper


class Generating:
    def __call__(self, n: int) -> Iterator[int]:
        yield n


@pytest.mark.parametrize(
    "handler",
    [
        generator,
        async_generator,
        functools.partial(generator),
        Generating(),
        made_generator(plain),
    ],
)
def test_generators_are_refused_with_what_to_do(handler: Any) -> None:
    with pytest.raises(DefinitionError, match="return a list instead of yielding"):
        tool.define("t", "d", handler)


def test_a_lambda_needs_a_name_and_then_types() -> None:
    with pytest.raises(DefinitionError, match="give one to tool.define"):
        tool.define()(lambda: 1)
    with pytest.raises(DefinitionError, match="write it with `def`"):
        tool.define("t", "d", lambda: 1)
    typed = lambda n: n  # noqa: E731
    typed.__annotations__ = {"n": int, "return": int}
    assert tool.define("t", "d", typed).invoke({"n": 1}) == 1


def test_the_context_goes_to_any_kind_of_handler() -> None:
    class Host:
        def __call__(self, n: int, *, call: Context) -> str:
            return f"{call.tool_name}{n}"

    made = tool.define("t", "d", functools.partial(Host()))
    assert list(made.input_schema["properties"]) == ["n"]
    assert made.invoke({"n": 1}) == "t1"
