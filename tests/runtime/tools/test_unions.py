"""Unions: what a value is for is never a guess."""

from __future__ import annotations

import datetime as dt
import enum
from dataclasses import dataclass, field
from decimal import Decimal
from pathlib import Path
from typing import Annotated, Any, Literal, NotRequired, TypedDict, Union

import pytest
from typed_tools import dumped, giving, loaded, schema_of, taking
from typing_extensions import TypeAliasType

from toolcrib import tool
from toolcrib.errors import DefinitionError, InvalidInputError, InvalidOutputError


class Color(enum.Enum):
    RED = "red"


@dataclass
class Circle:
    radius: int
    kind: Literal["circle"] = "circle"


@dataclass
class Square:
    side: int
    kind: Literal["square"] = "square"


@dataclass
class Narrow:
    a: int


@dataclass
class Wide:
    a: int
    b: int


@dataclass
class Maybe:
    a: int
    b: int | None = None


@dataclass
class Text:
    a: str


@dataclass
class Add:
    left: Term
    right: Term
    op: Literal["add"] = "add"


@dataclass
class Number:
    value: int
    op: Literal["number"] = "number"


class Meters(TypedDict):
    unit: Literal["m"]
    size: float


class Feet(TypedDict):
    unit: Literal["ft"]
    size: float


Term = Union[Add, Number]  # noqa: UP007 - `|` does not take names that come later
Json = TypeAliasType("Json", "bool | int | float | str | list[Json] | dict[str, Json] | None")
Endless = TypeAliasType("Endless", "Endless | int")  # type: ignore[misc]


@pytest.mark.parametrize(
    ("kind", "plain", "value"),
    [
        (int | str, 5, 5),
        (int | str, "5", "5"),
        (int | str | None, None, None),
        (float | int, 2**60 + 1, 2**60 + 1),
        (int | float, 2.5, 2.5),
        (bool | int, True, True),
        (Literal["auto"] | int, "auto", "auto"),
        (Literal["auto"] | str, "other", "other"),  # noqa: PYI051 - for its editor
        (list[int] | list[str], ["a"], ["a"]),
        (list[Narrow] | list[Text], [{"a": "x"}], [Text("x")]),
        (list[int] | dict[str, int], {"a": 1}, {"a": 1}),
        (dt.datetime | dt.date, "2026-01-31", dt.date(2026, 1, 31)),
        (
            dt.datetime | dt.date,
            "2026-01-31T00:00:00+00:00",
            dt.datetime(2026, 1, 31, tzinfo=dt.UTC),
        ),
        (Circle | Square, {"radius": 1, "kind": "circle"}, Circle(1)),
        (Circle | Square | None, {"side": 1, "kind": "square"}, Square(1)),
        (Narrow | Wide, {"a": 1}, Narrow(1)),
        (Narrow | Wide, {"a": 1, "b": 2}, Wide(1, 2)),
        (Narrow | Text, {"a": "x"}, Text("x")),
        (Circle | Narrow | int, {"a": 1}, Narrow(1)),
        (Meters | Feet, {"unit": "ft", "size": 1.5}, {"unit": "ft", "size": 1.5}),
        (
            Term,
            {
                "left": {"value": 1, "op": "number"},
                "right": {"value": 2, "op": "number"},
                "op": "add",
            },
            Add(Number(1), Number(2)),
        ),
        (Json, {"a": [1, None, 2.5, {"b": True}]}, {"a": [1, None, 2.5, {"b": True}]}),
    ],
)
def test_each_value_finds_its_member_and_leaves_as_it_came(
    kind: Any, plain: Any, value: Any
) -> None:
    found = loaded(kind, plain)
    assert (repr(found), type(found)) == (repr(value), type(value))
    assert dumped(kind, found) == plain


@pytest.mark.parametrize(
    "kind",
    [
        str | Path,
        Path | str,
        str | Color,
        str | dt.datetime,
        int | Decimal,
        Narrow | Maybe,
        Narrow | dict[str, int],
        set[int] | list[int],
        list[Narrow] | list[Maybe],
        dict[str, Narrow] | dict[str, Maybe],
        Annotated[str, "One."] | bytes,
    ],
    ids=str,
)
def test_members_that_can_be_the_same_json_are_refused_with_advice(kind: Any) -> None:
    with pytest.raises(DefinitionError, match=r"value: .* can be the same JSON; .* Literal"):
        taking(kind)


def test_a_union_that_means_itself_is_refused() -> None:
    with pytest.raises(DefinitionError, match="means itself"):
        taking(Endless)


@pytest.mark.parametrize(
    ("kind", "wrong"),
    [
        (int | str, [None, True, 1.5, [1]]),
        (Circle | Square, [{"radius": 1}, {"side": 1, "kind": "circle"}, {"kind": "oval"}, {}]),
        (Circle | Square, [{"radius": 1, "kind": ["circle"]}, "circle"]),
        (Narrow | Wide, [{"b": 1}, {"a": 1, "b": 2, "c": 3}]),
        (Term, [{"value": 1}, {"left": {}, "right": {}, "op": "add"}]),
    ],
)
def test_a_value_for_no_member_is_refused(kind: Any, wrong: list[Any]) -> None:
    for plain in wrong:
        with pytest.raises(InvalidInputError):
            loaded(kind, plain)


def test_a_tag_is_required_in_a_union_although_it_has_a_default() -> None:
    assert schema_of(Circle)["required"] == ["radius"]
    branches = schema_of(Circle | Square)["anyOf"]
    assert [branch["required"] for branch in branches] == [["radius", "kind"], ["side", "kind"]]
    recursive = taking(Term).input_schema
    for branch in recursive["properties"]["value"]["anyOf"]:
        assert "op" in branch["required"]


def test_a_mistake_behind_a_tag_is_told_where_it_is() -> None:
    @dataclass
    class Group:
        shapes: list[Circle | Square] = field(default_factory=list)

    def handler(group: Group) -> None: ...

    made = tool.define("t", "d", handler)
    with pytest.raises(InvalidInputError, match="/shapes/1/side"):
        made.invoke({"shapes": [{"radius": 1, "kind": "circle"}, {"side": "x", "kind": "square"}]})


def test_results_go_by_their_class() -> None:
    @dataclass
    class Special(Narrow):
        more: int = 1

    assert dumped(Narrow | Special, Special(1)) == {"a": 1, "more": 1}
    assert dumped(float | str, 5) == 5.0
    with pytest.raises(InvalidOutputError, match="is none of int, str but of type float"):
        giving(int | str, 1.5).invoke({})


def test_a_rule_around_a_union_keeps_its_tags() -> None:
    schema = schema_of(Annotated[Circle | Square | list[int], "Which."])
    assert schema["description"] == "Which."
    assert schema["anyOf"][0]["required"] == ["radius", "kind"]


class Named(TypedDict):
    value: str


class Numbered(TypedDict):
    value: NotRequired[int]


class Free(TypedDict):
    value: NotRequired[str]


def test_a_field_that_one_member_requires_tells_it_from_others() -> None:
    for kind in (Named | Numbered, Numbered | Named):
        for plain in ({"value": "a"}, {"value": 1}, {}):
            assert loaded(kind, plain) == plain
            assert dumped(kind, plain) == plain
    with pytest.raises(DefinitionError, match="can be the same JSON"):
        taking(Free | Numbered)
