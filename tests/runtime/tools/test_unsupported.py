"""Types that no converter knows are refused, with what to write instead."""

from __future__ import annotations

import collections.abc
import dataclasses
import datetime as dt
import enum
import math
import pathlib
import typing
from collections.abc import Callable, Sequence
from dataclasses import InitVar, dataclass
from typing import Annotated, Any, Literal, TypeVar

import annotated_types
import pydantic
import pytest

from toolcrib import tool
from toolcrib.errors import DefinitionError


class Color(enum.Enum):
    RED = "red"
    BLUE = "blue"


@dataclass
class Point:
    x: int
    y: float = 0.5


def taking(kind: Any, seen: list[Any] | None = None) -> tool.Tool:
    def handler(value: Any) -> None:
        if seen is not None:
            seen.append(value)

    handler.__annotations__["value"] = kind
    return tool.define("taking", "Takes a value.", handler)


def giving(kind: Any, value: Any = None) -> tool.Tool:
    def handler() -> Any:
        return value

    handler.__annotations__["return"] = kind
    return tool.define("giving", "Gives a value.", handler)


class Mixed(enum.Enum):
    A = 1
    B = "b"


class Permission(enum.Flag):
    READ = 1


class Nobody(enum.Enum):
    pass


T = TypeVar("T")


@dataclass
class Page(typing.Generic[T]):
    items: list[T]


@dataclass
class WithInitVar:
    a: InitVar[int]
    b: int = 0


class Unknown:
    pass


class Struct:
    __struct_fields__ = ("a",)  # what marks those of msgspec


Untold = collections.namedtuple("Untold", "a b")  # noqa: PYI024 - it shows why


@pytest.mark.parametrize(
    "kind",
    [
        Any,
        object,
        Callable[[], int],
        complex,
        bytearray,
        list,
        dict,
        tuple,
        set,
        typing.List,  # noqa: UP006 - both spellings
        typing.Tuple,  # noqa: UP006
        tuple[()],
        Sequence[int],
        collections.abc.Mapping[str, int],
        dict[int, str],
        dict[Color, int],
        set[list[int]],
        set[Point],
        set[dict[str, int]],
        str | pathlib.Path,
        str | Color,
        Mixed,
        Permission,
        Nobody,
        Literal[b"a"],
        Literal["red", Color.RED],
        Annotated[str, annotated_types.Gt(3)],
        Annotated[bool, annotated_types.Gt(3)],
        Annotated[int, annotated_types.MinLen(3)],
        Annotated[int, annotated_types.Gt("a")],
        Annotated[int, annotated_types.Ge(math.nan)],
        Annotated[int, annotated_types.MultipleOf(0)],
        Annotated[str, annotated_types.MinLen(-1)],
        annotated_types.LowerCase[str],
        Annotated[str, annotated_types.Unit("m")],
        Annotated[str, tool.Pattern("(")],
        Annotated[str, tool.Pattern(r"(?P<a>x)(?P=a)")],
        Annotated[str, tool.Pattern("a"), tool.Pattern("b")],
        Annotated[dt.date, annotated_types.Gt(dt.datetime(2026, 1, 1, tzinfo=dt.UTC))],
        Annotated[dt.datetime, annotated_types.Gt(dt.datetime(2026, 1, 1))],  # noqa: DTZ001
        Annotated[int, pydantic.Field(default=3)],
        Annotated[int, pydantic.Strict()],
        Annotated[int, tool.Examples("a")],
        list[Annotated[int, tool.Alias("a")]],
        T,
        Page,
        Untold,
        Struct,
        Unknown,
        collections.abc.Iterator[int],
        collections.abc.Awaitable[int],
        type[int],
        5,
        [int],
    ],
    ids=str,
)
def test_a_type_that_is_not_known_is_refused_with_tool_parameter_and_advice(kind: Any) -> None:
    for nested in (kind, list[kind]):
        with pytest.raises(DefinitionError) as caught:
            taking(nested)
        assert caught.value.tool == "taking"
        assert caught.value.parameter is not None
        with pytest.raises(DefinitionError) as refused:
            giving(nested)
        assert refused.value.parameter is not None
        assert len(str(refused.value)) > len("tool giving: return: ")


def test_a_dataclass_that_its_fields_do_not_make_is_no_input() -> None:
    @dataclass(init=False)
    class Own:
        a: int

        def __init__(self, text: str) -> None:
            self.a = int(text)

    with pytest.raises(DefinitionError, match="constructor"):
        taking(Own)
    assert giving(Own, Own("3")).invoke({}) == {"a": 3}


def test_an_initial_variable_is_refused_by_name() -> None:
    with pytest.raises(DefinitionError, match=r"WithInitVar\.a: a is an InitVar"):
        taking(WithInitVar)


class Plain: ...


class LikeTuple:
    _fields = ("a",)


@pytest.mark.parametrize(
    ("kind", "words"),
    [
        (Plain, "Plain is not a type that a tool can take or return"),
        (LikeTuple, "LikeTuple is not a type that a tool can take or return"),
        (Any, "says nothing about the value"),
        (object, "says nothing about the value"),
        (dict, r"does not say what it holds; write dict\[...\]"),
        (Sequence, "write list$"),
        (collections.abc.Mapping, "write dict$"),
        (collections.abc.Mapping[str, int], "write dict$"),
        (collections.abc.MutableMapping[str, int], "write dict$"),
        (collections.abc.Iterator[int], "can't be sent as one value"),
        (Callable[[], int], "is code"),
        (bytearray, "write bytes"),
    ],
)
def test_the_advice_fits_the_type(kind: Any, words: str) -> None:
    with pytest.raises(DefinitionError, match=words):
        taking(kind)


def test_tuples_that_would_explode_are_refused() -> None:
    deep: Any = int
    for _ in range(12):
        deep = tuple[deep, deep]
    wide: Any = tuple.__class_getitem__((int,) * 5_000)
    for kind in (deep, wide):
        with pytest.raises(DefinitionError, match="smaller"):
            taking(kind)


def test_a_schema_that_would_explode_is_refused() -> None:
    level: type = Point
    for depth in range(12):
        level = dataclasses.make_dataclass(f"L{depth}", [("a", level), ("b", level)])
    with pytest.raises(DefinitionError, match="smaller"):
        taking(level)


def test_a_type_that_nests_without_end_is_refused() -> None:
    kind: Any = int
    for _ in range(50):
        kind = list[kind]
    with pytest.raises(DefinitionError, match="flatter"):
        taking(kind)
