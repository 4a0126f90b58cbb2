"""Defaults: told to the model, checked at once, fresh in every call."""

from __future__ import annotations

import enum
from dataclasses import dataclass, field
from typing import Annotated, Any

import attrs
import pytest
from typed_tools import loaded, schema_of

from toolcrib import tool
from toolcrib.errors import DefinitionError, InvalidInputError


class Color(enum.Enum):
    RED = "red"
    BLUE = "blue"


@dataclass
class Point:
    x: int
    y: float = 0.5


def test_defaults_are_in_the_schema_and_in_its_text() -> None:
    def handler(
        a: int | None = None,
        b: Annotated[str, "Which."] = "é",
        c: Color = Color.RED,
        d: Point = Point(1),  # noqa: B008
    ) -> list[Any]:
        return [a, b, c, d]

    handler.__annotations__["return"] = list[int] | None
    schema = tool.define("t", "d", handler).input_schema
    assert "required" not in schema
    properties = schema["properties"]
    assert [one["default"] for one in properties.values()] == [
        None,
        "é",
        "red",
        {"x": 1, "y": 0.5},
    ]
    assert properties["a"]["description"] == "Default: null."
    assert properties["b"]["description"] == 'Which. Default: "é".'


def test_a_long_default_is_in_the_schema_only() -> None:
    def handler(a: str = "x" * 300) -> None: ...

    (schema,) = tool.define("t", "d", handler).input_schema["properties"].values()
    assert schema == {"type": "string", "default": "x" * 300}


def test_a_default_of_another_type_is_refused() -> None:
    def handler(a: int = None) -> None: ...  # type: ignore[assignment]  # noqa: RUF013

    with pytest.raises(DefinitionError, match="tool t: a: its default"):
        tool.define("t", "d", handler)


def test_a_default_for_the_one_dataclass_is_refused() -> None:
    def handler(request: Point = Point(1)) -> None: ...  # noqa: B008

    with pytest.raises(DefinitionError, match="give the fields defaults"):
        tool.define("t", "d", handler)


def test_each_call_gets_fresh_defaults_and_later_changes_have_no_effect() -> None:
    shared = [1]

    @dataclass
    class Request:
        made: list[int] = field(default_factory=lambda: [7])

    def handler(request: Request, given: list[int] = shared) -> list[int]:
        both = [*given, *request.made]
        given.append(2)
        request.made.append(3)
        return both

    made = tool.define("t", "d", handler)
    shared.append(99)
    assert made.invoke({"request": {}}) == [1, 7]
    assert made.invoke({"request": {}}) == [1, 7]
    assert made.input_schema["properties"]["given"]["default"] == [1]


def test_a_factory_runs_in_calls_only() -> None:
    calls: list[int] = []

    @dataclass
    class Request:
        number: int = field(default_factory=lambda: calls.append(1) or len(calls))  # type: ignore[func-returns-value]

    def handler(request: Request) -> int:
        return request.number

    made = tool.define("t", "d", handler)
    assert calls == []
    assert (made.invoke({}), made.invoke({}), made.invoke({"number": 9})) == (1, 2, 9)


def test_values_that_a_dataclass_refuses_are_a_correction_without_its_words() -> None:
    @dataclass
    class Range:
        low: int
        high: int

        def __post_init__(self) -> None:
            if self.low > self.high:
                msg = f"secret {self.low}"
                raise ValueError(msg)

    def handler(ranges: list[Range]) -> None: ...

    with pytest.raises(InvalidInputError) as caught:
        tool.define("t", "d", handler).invoke({"ranges": [{"low": 2, "high": 1}]})
    assert str(caught.value) == "/ranges/0: holds values that can't be used together"


def test_a_factory_of_a_field_that_the_constructor_calls_otherwise() -> None:
    @attrs.define
    class Made:
        _items: list[int] = attrs.field(factory=lambda: [1])

    assert list(schema_of(Made)["properties"]) == ["items"]
    assert loaded(Made, {}) == Made()
    assert loaded(Made, {"items": [2]}) == Made([2])
