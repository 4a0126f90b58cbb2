"""Rules in `Annotated`: in the schema, in its words, and held both ways."""

from __future__ import annotations

import datetime as dt
from dataclasses import dataclass
from decimal import Decimal
from typing import Annotated, Any

import annotated_types as at
import pydantic
import pytest
import typing_extensions
from typed_tools import dumped, giving, loaded, schema_of, taking

from toolcrib import tool
from toolcrib.errors import DefinitionError, InvalidInputError, InvalidOutputError
from toolcrib.runtime.tools.shape import Misfit
from toolcrib.runtime.tools.tool import plan_of

DAY = dt.date(2026, 1, 1)
NOON = dt.datetime(2026, 1, 1, 12, tzinfo=dt.UTC)


@pytest.mark.parametrize(
    ("kind", "keywords", "good", "bad"),
    [
        (Annotated[int, at.Ge(3)], {"minimum": 3}, 3, 2),
        (Annotated[int, at.Gt(3)], {"exclusiveMinimum": 3}, 4, 3),
        (Annotated[float, at.Le(3)], {"maximum": 3}, 3.0, 3.5),
        (Annotated[float, at.Lt(Decimal("3.5"))], {"exclusiveMaximum": 3.5}, 3.0, 3.5),
        (Annotated[int, at.Ge(1), at.Ge(3), at.Ge(2)], {"minimum": 3}, 3, 2),
        (Annotated[int, at.Le(9), at.Le(3)], {"maximum": 3}, 3, 4),
        (Annotated[int, at.Interval(gt=1, le=3)], {"exclusiveMinimum": 1, "maximum": 3}, 3, 4),
        (Annotated[int, at.MultipleOf(5)], {"multipleOf": 5}, 10, 11),
        (Annotated[float, at.MultipleOf(0.1)], {"multipleOf": 0.1}, 0.3, 0.35),
        (Annotated[str, at.MinLen(2)], {"minLength": 2}, "éé", "é"),
        (Annotated[str, at.Len(1, 2)], {"minLength": 1, "maxLength": 2}, "a", "abc"),
        (Annotated[list[int], at.MaxLen(1)], {"maxItems": 1}, [1], [1, 2]),
        (Annotated[set[int], at.MinLen(1)], {"minItems": 1}, [1], []),
        (Annotated[tuple[int, ...], at.MinLen(1)], {"minItems": 1}, [1], []),
        (Annotated[dict[str, int], at.MinLen(1)], {"minProperties": 1}, {"a": 1}, {}),
        (Annotated[str, tool.Pattern("^[a-z]+$")], {"pattern": "^[a-z]+$"}, "ab", "a1"),
        (Annotated[str, tool.Pattern(r"\d")], {"pattern": r"\d"}, "a1", "a٣"),
        (Annotated[int, pydantic.Field(gt=3)], {"exclusiveMinimum": 3}, 4, 3),
        (Annotated[str, pydantic.Field(pattern="^a")], {"pattern": "^a"}, "ab", "ba"),
        (
            Annotated[str, pydantic.StringConstraints(min_length=2, pattern="^a")],
            {"minLength": 2, "pattern": "^a"},
            "ab",
            "a",
        ),
        (list[Annotated[int, at.Ge(3)]], {}, [3], [2]),
        (dict[str, Annotated[str, at.MaxLen(1)]], {}, {"a": "b"}, {"a": "bc"}),
        (Annotated[dt.date, at.Gt(DAY)], {"format": "date"}, "2026-01-02", "2026-01-01"),
        (
            Annotated[dt.datetime, at.Le(NOON)],
            {"format": "date-time"},
            "2026-01-01T14:00:00+02:00",
            "2026-01-01T14:00:01+02:00",
        ),
        (Annotated[dt.timedelta, at.Ge(dt.timedelta())], {}, "PT0S", "-PT1S"),
        (Annotated[Decimal, at.MultipleOf(Decimal("0.01"))], {}, "1.10", "1.101"),
        (Annotated[Decimal, at.MultipleOf(Decimal("0.01"))], {}, "1E+300", "1E+99999999"),
        (Annotated[Decimal, at.Lt(10)], {}, "9.99", 10),
        (Annotated[bytes, at.MaxLen(2)], {"contentEncoding": "base64"}, "YWI=", "YWJj"),
    ],
)
def test_a_rule_is_in_the_schema_and_held_on_the_way_in_and_out(
    kind: Any, keywords: dict[str, Any], good: Any, bad: Any
) -> None:
    assert schema_of(kind).items() >= keywords.items()
    value = loaded(kind, good)
    assert dumped(kind, value) in (good, value, "2026-01-01T12:00:00+00:00")
    with pytest.raises(InvalidInputError):
        loaded(kind, bad)
    # By itself too, as where another schema takes the inferred one's place.
    with pytest.raises(Misfit):
        plan_of(taking(kind)).input.load({"value": bad})
    bare = kind.__origin__ if hasattr(kind, "__metadata__") else None
    if bare is not None:
        with pytest.raises(InvalidOutputError, match="must"):
            giving(kind, loaded(bare, bad)).invoke({})


def test_rules_are_told_in_words_since_some_providers_drop_the_keywords() -> None:
    kind = Annotated[int, "How many", at.Interval(ge=3, lt=9), at.MultipleOf(3)]
    assert schema_of(kind)["description"] == (
        "How many. Must be at least 3. Must be below 9. Must be a multiple of 3."
    )


def test_none_passes_a_rule_for_what_else_it_may_be() -> None:
    kind = Annotated[int | None, at.Ge(3)]
    assert loaded(kind, None) is None
    assert schema_of(kind)["anyOf"] == [{"type": "integer", "minimum": 3}, {"type": "null"}]
    with pytest.raises(InvalidInputError):
        loaded(kind, 2)
    with pytest.raises(InvalidOutputError):
        giving(kind, 2).invoke({})


def test_a_rule_goes_to_the_members_that_it_has_a_meaning_for() -> None:
    kind = Annotated[int | bool | str, at.MinLen(2)]
    assert [loaded(kind, plain) for plain in (1, True, "ab")] == [1, True, "ab"]
    with pytest.raises(InvalidInputError):
        loaded(kind, "a")
    assert loaded(Annotated[int | bool, at.Ge(3)], True) is True


def test_a_default_keeps_the_rules() -> None:
    def handler(count: Annotated[int, at.Ge(3)] = 2) -> None: ...

    with pytest.raises(DefinitionError, match="count: its default must be at least 3"):
        tool.define("t", "d", handler)


def test_examples_are_shown_as_json_and_checked() -> None:
    kind = Annotated[dt.date, tool.Examples(DAY, dt.date(2026, 1, 2))]
    assert schema_of(kind)["examples"] == ["2026-01-01", "2026-01-02"]
    assert schema_of(kind)["description"].endswith('Examples: "2026-01-01", "2026-01-02".')
    long = schema_of(Annotated[str, tool.Examples("x" * 300)])
    assert long == {"type": "string", "examples": ["x" * 300]}
    with pytest.raises(DefinitionError, match="an example must be above 3"):
        taking(Annotated[int, at.Gt(3), tool.Examples(3)])


def test_texts_come_from_strings_docs_and_pydantic_fields() -> None:
    for said in ("Text.", typing_extensions.Doc("Text."), pydantic.Field(description="Text.")):
        assert schema_of(Annotated[int, said]) == {"type": "integer", "description": "Text."}
    shown = Annotated[int, pydantic.Field(examples=[1])]
    assert schema_of(shown)["examples"] == [1]


def test_what_the_host_changes_later_has_no_effect_on_examples() -> None:
    shared = [1]
    made = taking(Annotated[list[int], tool.Examples(shared)])
    shared.append(2)
    assert made.input_schema["properties"]["value"]["examples"] == [[1]]


def test_rules_of_a_field_are_held_in_nested_records() -> None:
    @dataclass
    class Order:
        amount: Annotated[int, at.Gt(0)]

    def handler(orders: list[Order]) -> list[Order]:
        return [Order(-1)]

    made = tool.define("t", "d", handler)
    with pytest.raises(InvalidInputError, match="/orders/0/amount: must be above 0"):
        made.invoke({"orders": [{"amount": 0}]})
    with pytest.raises(InvalidOutputError, match="/0/amount must be above 0"):
        made.invoke({"orders": []})


class Marker:
    """Another library's, or the host's own."""


def test_what_means_nothing_to_a_tool_is_passed_over_and_what_looks_like_a_rule_refused() -> None:
    assert schema_of(Annotated[int, Marker(), at.Ge(3)]) == schema_of(Annotated[int, at.Ge(3)])
    assert loaded(Annotated[dt.date, Marker()], "2026-01-01") == DAY
    with pytest.raises(DefinitionError, match="Predicate in Annotated is no rule"):
        taking(Annotated[int, at.Predicate(bool)])


def test_an_example_is_shown_in_its_own_letters() -> None:
    schema = schema_of(Annotated[str, tool.Examples("größer")])
    assert schema["description"] == 'Examples: "größer".'
