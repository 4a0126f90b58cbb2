"""Types that no converter knows are refused, with what to write instead."""

from __future__ import annotations

import collections.abc
import dataclasses
import datetime as dt
import decimal
import enum
import pathlib
import typing
import uuid
from collections.abc import Callable, Sequence
from dataclasses import InitVar, dataclass
from typing import Annotated, Any, Literal, NamedTuple, TypedDict, TypeVar

import annotated_types
import marshmallow
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


class Typed(TypedDict):
    a: int


class Named(NamedTuple):
    a: int


class Model(pydantic.BaseModel):
    a: int


class Marsh(marshmallow.Schema):
    a = marshmallow.fields.Integer()


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


@pytest.mark.parametrize(
    "kind",
    [
        Any,
        object,
        complex,
        bytes,
        list,
        dict,
        tuple[int, str],
        set[int],
        frozenset[int],
        Sequence[int],
        collections.abc.Mapping[str, int],
        dict[int, str],
        dict[Color, int],
        int | str,
        int | str | None,
        Callable[[], int],
        dt.datetime,
        dt.date,
        dt.timedelta,
        uuid.UUID,
        decimal.Decimal,
        pathlib.Path,
        Typed,
        Named,
        Model,
        Marsh,
        Mixed,
        Permission,
        Nobody,
        Literal["a", 1],
        Literal[True],
        Literal[Color.RED],
        Annotated[int, annotated_types.Gt(3)],
        Annotated[int, pydantic.Field(gt=3)],
        T,
        Page,
        Page[int],
        Unknown,
        collections.abc.Iterator[int],
        collections.abc.Awaitable[int],
        type[int],
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

    for kind in (WithInitVar, Own):
        with pytest.raises(DefinitionError, match="constructor"):
            taking(kind)
    assert giving(Own, Own("3")).invoke({}) == {"a": 3}


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
