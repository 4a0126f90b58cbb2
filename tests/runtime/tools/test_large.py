"""Large values: judged and written in pieces, with the same outcome, and bounded."""

from __future__ import annotations

import json
import math
import tracemalloc
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from toolcrib import tool
from toolcrib.errors import InvalidInputError
from toolcrib.runtime.tools.call import call
from toolcrib.runtime.tools.canonical import _LEVELS, _pieces, canonical, canonical_in_pieces
from toolcrib.runtime.tools.extent import extent
from toolcrib.runtime.tools.tool import plan_of
from toolcrib.runtime.tools.validation import Validator
from toolcrib.tool import Context

TEXT = st.text(max_size=8)
LONG = [[*range(count)] for count in (65, 512, 513, 1030)]
JSON = st.recursive(
    st.none()
    | st.booleans()
    | st.integers()
    | st.floats(allow_nan=False, allow_infinity=False)
    # Long enough to be cut into slices.
    | st.sampled_from(LONG)
    | TEXT,
    lambda inner: st.lists(inner, max_size=5) | st.dictionaries(TEXT, inner, max_size=5),
    max_leaves=6,
)


def depth_of(value: Any) -> int:
    inside = value.values() if isinstance(value, dict) else value
    return 1 + max(map(depth_of, inside), default=0) if isinstance(value, dict | list) else 0


@given(JSON)
def test_text_made_in_pieces_is_the_same_text(value: Any) -> None:
    text = canonical(value)
    assert canonical_in_pieces(value) == text
    assert json.loads(text) == value


@given(JSON)
def test_the_extent_is_the_depth_and_never_more_than_the_text(value: Any) -> None:
    depth, size = extent(value, math.inf)
    assert depth == depth_of(value)
    assert size <= len(canonical(value))


def test_the_extent_of_short_values_is_that_of_their_text() -> None:
    values: list[list[Any]] = [[1] * 999, ["ab"] * 999, [{"": 1}] * 999, [{"": "a"}] * 999]
    for value in values:
        assert extent(value, math.inf)[1] == len(canonical(value))
    assert extent("ab", math.inf) == (0, 4)


def test_the_extent_of_what_contains_itself_or_repeats_is_found_at_once() -> None:
    cycle: list[Any] = []
    cycle.append(cycle)
    assert extent(cycle, math.inf)[0] == 65
    doubled: list[Any] = []
    for _ in range(60):
        doubled = [doubled, doubled]
    assert extent(doubled, 1_000_000)[1] > 1_000_000


@dataclass
class Row:
    id: int
    name: str = "n"
    kids: list[Row] | None = None


@dataclass
class Batch:
    rows: list[Row]


@tool.define
def keep(batch: Batch, numbers: list[int]) -> list[Row]:
    """Keep."""
    return [*batch.rows, *map(Row, numbers)]


def rows(count: int) -> list[dict[str, Any]]:
    return [{"id": each} for each in range(count)]


@pytest.mark.parametrize("count", [1, 511, 512, 513, 1024, 1025, 3000])
def test_every_item_of_a_long_array_is_judged_converted_and_returned(count: int) -> None:
    given = {"batch": {"rows": rows(count)}, "numbers": [*range(count)]}
    assert [row["id"] for row in keep.invoke(given)] == [*range(count)] * 2


@pytest.mark.parametrize("wrong", [0, 511, 512, 1023, 1024, 1999])
def test_one_wrong_item_anywhere_in_a_long_array_is_refused(wrong: int) -> None:
    batch = {"rows": rows(2000)}
    fine: list[Any] = [*range(2000)]
    bad = [*fine]
    bad[wrong] = "7"
    for arguments, place in (
        ({"batch": batch, "numbers": bad}, f"/numbers/{wrong}: must be an integer"),
        (
            {"batch": {"rows": [*rows(wrong), {"id": 1.5}, *rows(5)]}, "numbers": fine},
            f"/batch/rows/{wrong}/id: must be an integer",
        ),
        (
            {"batch": {"rows": [*rows(wrong), {"id": 1, "x": 2}, *rows(5)]}, "numbers": []},
            f'/batch/rows/{wrong}: unknown field "x"',
        ),
    ):
        with pytest.raises(InvalidInputError, match=place):
            keep.invoke(arguments)


def longest(value: Any) -> int:
    inside = value.values() if isinstance(value, dict) else value
    if not isinstance(value, dict | list):
        return 0
    return max([len(value), *map(longest, inside)])


def test_no_long_array_is_judged_in_one_go() -> None:
    judge = plan_of(keep).accepts
    long = rows(1300)
    given = {"batch": {"rows": long}, "numbers": [*range(1025)]}
    parts = [part for _, part in judge._parts(given)]
    assert sorted(map(longest, parts)) == [1, 276, 512, 512, 512]
    assert len(long) == 1300, "what was given stays as it was"


@pytest.mark.parametrize(
    ("schema", "fits", "fails"),
    [
        (
            {"type": "array", "items": {"type": "integer"}, "uniqueItems": True},
            [*range(600)],
            [*range(599), 0],
        ),
        ({"type": "array", "items": {"$ref": "#/properties/one"}}, [5] * 600, [5] * 599 + ["5"]),
        (
            {"type": "array", "items": {"properties": {"$ref": {"type": "string"}}}},
            [{"$ref": "x"}] * 600,
            [{"$ref": "x"}] * 599 + [{"$ref": 5}],
        ),
        (
            {"anyOf": [{"type": "array", "items": {"type": "integer"}}]},
            [5] * 600,
            [5] * 599 + ["5"],
        ),
    ],
)
def test_an_array_that_may_mean_something_as_a_whole_is_judged_as_one(
    schema: dict[str, Any], fits: list[Any], fails: list[Any]
) -> None:
    judge = Validator(
        {"properties": {"one": {"type": "integer"}, "many": schema}, "type": "object"}
    )
    assert judge.accepts({"many": fits})
    assert not judge.accepts({"many": fails})
    assert [longest(part) for _, part in judge._parts({"many": fits})] == [600]


def test_no_long_text_is_made_in_one_go() -> None:
    value = {"a": [[*range(1000)], {"b": [*range(2000)], "c": ["x"] * 700}], "d": {"e": {}}}
    pieces = [*_pieces(value, _LEVELS)]
    assert "".join(pieces) == canonical(value)
    assert max(map(len, pieces)) < 512 * 5
    assert len(pieces) < 60


def test_what_stands_beside_a_long_array_is_judged_too() -> None:
    for arguments in (
        {"batch": {"rows": rows(2000), "more": 1}, "numbers": []},
        {"batch": {"rows": rows(2000)}, "numbers": 5},
        {"batch": {"rows": rows(2000)}},
        {"batch": [{"rows": rows(2000)}], "numbers": []},
        {"batch": "rows", "numbers": [*range(2000)]},
    ):
        with pytest.raises(InvalidInputError):
            keep.invoke(arguments)


MEGABYTE = "x" * 1_000_000


@pytest.mark.parametrize(
    ("kind", "give"),
    [
        (str, lambda: MEGABYTE * 100),
        (bytes, lambda: b"x" * 100_000_000),
        (list[str], lambda: [MEGABYTE] * 100),
        (list[bytes], lambda: [MEGABYTE.encode()] * 100),
        (list[dict[str, str]], lambda: [{"text": MEGABYTE}] * 100),
        (dict[str, list[str]], lambda: {"a": [MEGABYTE] * 50, "b": [MEGABYTE] * 50}),
    ],
)
def test_a_huge_result_is_refused_before_it_is_written_out(
    kind: Any, give: Callable[[], Any]
) -> None:
    result = give()

    def handler() -> Any:
        return result

    handler.__annotations__["return"] = kind
    made = tool.define("huge", "Return too much.", handler)
    call(made, {}, Context("huge"))  # what is loaded on first use
    tracemalloc.start()
    try:
        outcome = call(made, {}, Context("huge"))
        _, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert "larger than 4194304 bytes" in outcome.text
    assert peak < 1_000_000


def test_a_result_just_within_the_limit_is_sent_and_one_byte_more_is_not() -> None:
    @tool.define
    def give(texts: list[str]) -> list[str]:
        """Give."""
        return texts

    for texts in (["é" * 7, "\n"], ["a" * 3] * 2000):
        size = len(canonical(texts).encode())
        arguments = {"texts": texts}
        assert call(give, arguments, Context("t"), output_limit=size).ok
        assert not call(give, arguments, Context("t"), output_limit=size - 1).ok
