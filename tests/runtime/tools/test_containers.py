"""Tuples, sets, dicts and literals."""

from __future__ import annotations

import datetime as dt
import enum
from dataclasses import dataclass
from decimal import Decimal
from typing import Annotated, Any, Literal, TypedDict

import pytest
from annotated_types import MinLen
from typed_tools import dumped, giving, loaded, schema_of
from typing_extensions import TypeAliasType

from toolcrib.errors import DefinitionError, InvalidInputError, InvalidOutputError


class Color(enum.Enum):
    RED = "red"
    BLUE = "blue"


MIXED = Literal["a", 1, True, None]  # noqa: PYI061 - both spellings should work
SOME = Literal["a", 1, "b", None]  # noqa: PYI061


@dataclass(frozen=True)
class Point:
    x: int


@pytest.mark.parametrize(
    ("kind", "plain", "value"),
    [
        (tuple[int, str], [1, "a"], (1, "a")),
        (tuple[int], [1], (1,)),
        (tuple[int, ...], [], ()),
        (tuple[Color, ...], ["red", "red"], (Color.RED, Color.RED)),
        (set[int], [1, 2], {1, 2}),
        (frozenset[str], ["a", "b"], frozenset({"a", "b"})),
        (set[Point], [{"x": 1}, {"x": 2}], {Point(1), Point(2)}),
        (set[tuple[int, str]], [[1, "a"]], {(1, "a")}),
        (dict[str, tuple[int, ...]], {"": [1]}, {"": (1,)}),
        (MIXED, "a", "a"),
        (MIXED, 1, 1),
        (MIXED, True, True),
        (MIXED, None, None),
        (Literal[Color.RED, 1], "red", Color.RED),
    ],
)
def test_they_arrive_and_leave_unchanged(kind: Any, plain: Any, value: Any) -> None:
    assert repr(loaded(kind, plain)) == repr(value) or isinstance(value, set | frozenset)
    assert loaded(kind, plain) == value
    assert dumped(kind, value) == plain


@pytest.mark.parametrize(
    ("kind", "wrong"),
    [
        (tuple[int, str], [["a", 1], [1], [1, "a", 2], "1a", {"0": 1}]),
        (tuple[int, ...], [[1, "2"], "12", None]),
        (set[int], [[1, 1], [1, 1.0], ["1"], {}]),
        (set[tuple[int, ...]], [[[1], [1]]]),
        # The same values, which no schema can see.
        (set[dt.datetime], [["2026-01-31T00:00:00Z", "2026-01-31T01:00:00+01:00"]]),
        (set[Decimal], [["1.0", "1"]]),
        (Literal["a", 1], ["1", True, None, 1.5, [1]]),
        (Literal[True], [1, "true", False]),
    ],
)
def test_what_is_none_of_them_is_refused(kind: Any, wrong: list[Any]) -> None:
    for plain in wrong:
        with pytest.raises(InvalidInputError):
            loaded(kind, plain)


@pytest.mark.parametrize(
    ("kind", "value"),
    [
        (tuple[int, str], (1,)),
        (tuple[int, str], [1, "a"]),
        (tuple[int, ...], [1]),
        (set[int], [1]),
        (set[int], frozenset({1})),
        (frozenset[int], {1}),
        (Literal[1], True),
        (Literal["a"], ["a"]),
    ],
)
def test_results_of_another_kind_are_refused(kind: Any, value: Any) -> None:
    with pytest.raises(InvalidOutputError):
        giving(kind, value).invoke({})


def test_a_tuple_has_no_item_schemas_by_position_which_providers_would_lose() -> None:
    schema = schema_of(tuple[int, str, int])
    assert schema == {
        "type": "array",
        "items": {"anyOf": [{"type": "integer"}, {"type": "string"}]},
        "minItems": 3,
        "maxItems": 3,
        "description": "Exactly 3 items, in this order: integer, string, integer.",
    }


def test_literals_of_several_kinds_are_parted_by_kind() -> None:
    assert schema_of(SOME) == {
        "anyOf": [
            {"type": "string", "enum": ["a", "b"]},
            {"type": "integer", "enum": [1]},
            {"type": "null"},
        ]
    }


@pytest.mark.parametrize(
    ("kind", "value", "plain"),
    [
        (set[int], {30, 4, 100}, [4, 30, 100]),
        (set[str], {"b", "a"}, ["a", "b"]),
        (set[Point], {Point(2), Point(1)}, [{"x": 1}, {"x": 2}]),
        (set[int | str], {2, "a", 1}, ["a", 1, 2]),
    ],
)
def test_sets_leave_sorted(kind: Any, value: Any, plain: Any) -> None:
    assert dumped(kind, value) == plain


def test_the_schema_of_a_collection_says_what_it_holds_and_in_which_order() -> None:
    assert schema_of(set[int]) == {
        "type": "array",
        "items": {"type": "integer"},
        "uniqueItems": True,
        "description": "No item twice.",
    }
    assert schema_of(tuple[int, ...]) == {"type": "array", "items": {"type": "integer"}}
    assert schema_of(tuple[dt.date, int, Literal["a"]])["description"] == (
        "Exactly 3 items, in this order: date, integer, string."
    )
    assert schema_of(tuple[Annotated[int, "The count."], str])["description"] == (
        "Exactly 2 items, in this order: The count, string."
    )


class Entries(TypedDict):
    rest: set[Entries]


class Named_Node(TypedDict):  # noqa: N801 - what becomes of it is the point
    rest: Named_Node | None


Odd = TypeAliasType("an odd-name", "list[Odd]")  # type: ignore[misc]


def test_a_recursive_type_keeps_its_name_as_far_as_a_reference_can_hold_it() -> None:
    assert schema_of(list[Named_Node])["items"] == {"$ref": "#/$defs/Named_Node"}
    assert schema_of(Odd) == {"$ref": "#/$defs/an_odd_name"}


def test_a_recursive_mapping_is_found_among_members_and_is_in_no_set() -> None:
    nested = {"rest": {"rest": None}}
    assert dumped(Named_Node, nested) == nested
    assert loaded(Named_Node, nested) == nested
    with pytest.raises(DefinitionError, match="a dict can't be in a set"):
        schema_of(Entries)


Tree = TypeAliasType("Tree", "Annotated[dict[str, Tree], MinLen(1)]")


def test_a_reference_says_only_what_is_new() -> None:
    reference = {"$ref": "#/$defs/Tree"}
    assert schema_of(Tree) == reference
    assert schema_of(Annotated[Tree, "A tree."]) == {**reference, "description": "A tree."}
