"""Many alike values: converted and written by column, with the same outcome as one by one."""

from __future__ import annotations

import enum
import json
import math
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Annotated, Any, NamedTuple, NotRequired, TypedDict

import annotated_types
import attrs
import pytest
from hypothesis import given
from hypothesis import strategies as st

from toolcrib import tool
from toolcrib.errors import InvalidInputError, InvalidOutputError
from toolcrib.runtime.tools.canonical import canonical, canonical_in_pieces
from toolcrib.runtime.tools.extent import extent
from toolcrib.runtime.tools.shape import Misfit
from toolcrib.runtime.tools.tool import plan_of


class Color(enum.Enum):
    RED = "red"
    BLUE = "blue"


@dataclass
class Inner:
    x: int
    label: str = "none"


@dataclass
class Row:
    id: int
    name: str
    score: float = 0.5
    color: Color = Color.RED
    inner: Inner | None = None
    tags: list[str] = field(default_factory=list)
    place: Inner = field(default_factory=lambda: Inner(7), kw_only=True)


class Pair(NamedTuple):
    left: int
    right: float = 1.5


class Loose(TypedDict):
    id: int
    note: NotRequired[str]


@attrs.define
class Made:
    a: int
    _b: str = "b"


@tool.define
def rows_of(rows: list[Row]) -> list[Row]:
    """Give rows back."""
    return rows


INNER = st.fixed_dictionaries({"x": st.integers()}, optional={"label": st.text(max_size=4)})
SOME: st.SearchStrategy[Any] = st.sampled_from([True, "1", 1.5, 2.0, None, "\ud800", [], math.inf])
ROW = st.fixed_dictionaries(
    {"id": st.integers() | SOME, "name": st.text(max_size=4) | SOME},
    optional={
        "score": st.floats() | st.integers() | SOME,
        "color": st.sampled_from(["red", "blue", "green"]) | SOME,
        "inner": st.none() | INNER,
        "tags": st.lists(st.text(max_size=2), max_size=3),
        "place": INNER | SOME,
        "odd": st.none(),
    },
)


def outcome(convert: Callable[[Any], Any], value: Any) -> Any:
    try:
        return repr(convert(value))
    except Misfit:
        return Misfit


@given(st.lists(ROW, max_size=3), st.integers(1, 8))
def test_a_list_is_taken_as_its_items_are(few: list[dict[str, Any]], times: int) -> None:
    load = plan_of(rows_of).input.load
    rows = few * times
    singles = [outcome(load, {"rows": [row]}) for row in rows]
    together = outcome(load, {"rows": rows})
    if Misfit in singles:
        assert together is Misfit
    else:
        inside = [single.removeprefix("{'rows': [").removesuffix("]}") for single in singles]
        assert together == f"{{'rows': [{', '.join(inside)}]}}"


def test_each_wrong_value_in_many_alike_is_found_where_it_is() -> None:
    load = plan_of(rows_of).input.load
    good = {"id": 1, "name": "n", "place": {"x": 1}}
    faults: list[tuple[dict[str, Any], tuple[str, ...]]] = [
        ({"id": True}, ("id",)),
        ({"id": "1"}, ("id",)),
        ({"name": "\ud800"}, ("name",)),
        ({"name": 5}, ("name",)),
        ({"place": {"x": 1.5}}, ("place", "x")),
        ({"place": {"x": 1, "y": 2}}, ("place",)),
        ({"place": {}}, ("place", "x")),
        ({"odd": 1}, ()),
    ]
    for change, path in faults:
        for where in (0, 3, 511, 512, 700):
            rows = [good] * where + [{**good, **change}] + [good] * 5
            with pytest.raises(Misfit) as caught:
                load({"rows": rows})
            assert caught.value.path == ("rows", where, *path)


def test_each_wrong_result_in_many_alike_is_found_where_it_is() -> None:
    dump = plan_of(rows_of).output.dump
    lame = Row(1, "n")
    del lame.__dict__["name"]
    wrong: Any = [
        (Row(True, "n"), ("id",)),
        (Row(1.0, "n"), ("id",)),  # type: ignore[arg-type]
        (Row(1, "\udfff"), ("name",)),
        (Row(1, "n", math.nan), ("score",)),
        (Row(1, "n", color="red"), ("color",)),  # type: ignore[arg-type]
        (Row(1, "n", tags=["x", 5]), ("tags", 1)),  # type: ignore[list-item]
        (Row(1, "n", place=Inner("x")), ("place", "x")),  # type: ignore[arg-type]
        (lame, ("name",)),
        ({"id": 1, "name": "n"}, ()),
        (None, ()),
    ]
    for bad, path in wrong:
        for where in (0, 3, 511, 512, 700):
            rows: list[Any] = [Row(1, "n")] * where + [bad] + [Row(1, "n")] * 5
            with pytest.raises(Misfit) as caught:
                dump(rows)
            assert caught.value.path == (where, *path)


def test_every_kind_of_class_goes_in_and_out_in_long_lists() -> None:
    class Sub(Inner):
        pass

    def echo(kind: Any) -> Callable[[list[Any]], Any]:
        def handler(items: Any) -> Any:
            seen.extend(items)
            return items

        handler.__annotations__ = {"items": list[kind], "return": list[kind]}
        made = tool.define("echo", "Echo.", handler)
        return lambda items: made.invoke({"items": items})

    cases: list[tuple[Any, list[Any], Any]] = [
        (Pair, [{"left": 1}, {"left": 2, "right": 3}], Pair(2, 3.0)),
        (Loose, [{"id": 1}, {"id": 2, "note": "x"}], {"id": 2, "note": "x"}),
        (Loose, [{"id": 2}, {"id": 2}], {"id": 2}),
        (Made, [{"a": 1, "b": "x"}, {"a": 2, "b": "y"}], Made(2, "y")),
        (Inner, [{"x": 1.0}, {"x": 2.0}], Inner(2)),
        (float, [1, 2.5], 2.5),
        (tuple[int, ...], [[1], [2, 3]], (2, 3)),
    ]
    for kind, two, last in cases:
        seen: list[Any] = []
        given = two * 400
        results = echo(kind)(given)
        assert len(results) == len(seen) == 800
        assert seen[799] == last
        assert type(seen[799]) is type(last)
        assert results[:2] == echo(kind)(two)
        assert results[798:] == results[:2]
    dump = plan_of(tool.define("subs", "Subs.", give_inner)).output.dump
    assert dump([Sub(1)] * 9) == [{"x": 1, "label": "none"}] * 9
    assert dump([Inner(1)] * 9 + [Sub(2)])[-1] == {"x": 2, "label": "none"}


def give_inner() -> list[Inner]:
    """Give."""
    return []


def test_defaults_are_fresh_in_each_of_many_rows() -> None:
    rows = plan_of(rows_of).input.load({"rows": [{"id": 1, "name": "n"}] * 20})["rows"]
    assert len({id(row.tags) for row in rows}) == 20
    assert len({id(row.place) for row in rows}) == 20


def test_a_handler_never_gets_or_gives_away_a_list_itself() -> None:
    kept = [1] * 600

    @tool.define
    def change(numbers: list[int]) -> list[int]:
        """Change what was given, and give what is kept."""
        numbers.clear()
        return kept

    given = [5] * 600
    change.invoke({"numbers": given}).clear()
    assert given == [5] * 600
    assert kept == [1] * 600


def test_a_constructor_runs_once_a_row_and_what_it_refuses_is_named() -> None:
    made: list[int] = []

    @dataclass
    class Checked:
        number: int

        def __post_init__(self) -> None:
            made.append(self.number)
            if self.number == 600:
                msg = "secret"
                raise ValueError(msg)

    def count(rows: list[Checked]) -> int:
        return len(rows)

    count.__annotations__ = {"rows": list[Checked], "return": int}
    counted = tool.define("count", "Count.", count)
    assert counted.invoke({"rows": [{"number": n} for n in range(600)]}) == 600
    made.clear()
    with pytest.raises(InvalidInputError) as caught:
        counted.invoke({"rows": [{"number": n} for n in range(700)]})
    assert "/rows/600: holds values that can't be used together" in str(caught.value)
    assert "secret" not in str(caught.value)
    assert made == [*range(601)]


def test_a_rule_around_a_type_holds_in_long_lists_too() -> None:
    positive = Annotated[int, annotated_types.Gt(0)]

    @dataclass
    class Ruled:
        number: Annotated[int, annotated_types.Gt(0)]

    for kind, give in ((positive, lambda n: n), (Ruled, Ruled)):

        def handler(give: Any = give) -> Any:
            return [give(1)] * 600 + [give(0)]

        def plain() -> Any:
            return handler()

        plain.__annotations__ = {"return": list[kind]}  # type: ignore[valid-type]
        with pytest.raises(InvalidOutputError):
            tool.define("ruled", "Ruled.", plain).invoke({})
        with pytest.raises(Misfit) as caught:
            plan_of(tool.define("ruled", "Ruled.", plain)).output.dump(handler())
        assert caught.value.path[0] == 600


def test_names_are_kept_whatever_they_hold() -> None:
    names = ["'", '"', "\\", "{x}", "%s", "]:1}", "é", "class", " "]
    fields = [
        (f"f{number}", Annotated[int, tool.Alias(name)]) for number, name in enumerate(names)
    ]
    made: Any = TypedDict("Odd", {"plain": int, **dict(fields)})  # type: ignore[misc]

    def handler() -> Any:
        return [{"plain": 0} | {name: n for n, (name, _) in enumerate(fields)}] * 600

    handler.__annotations__ = {"return": list[made]}
    result = tool.define("odd", "Odd.", handler).invoke({})
    expected = {"plain": 0} | {name: n for n, name in enumerate(names)}
    assert result == [expected] * 600
    assert canonical_in_pieces(result) == canonical(result)


class Text(str):
    __slots__ = ()


class Number(int):
    def __repr__(self) -> str:
        return "not a number"


LEAF = st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(max_size=3)
CELL: st.SearchStrategy[Any] = LEAF | st.sampled_from(
    [Text("t"), Number(3), 10**40, {"a": 1}, {"%s": [{}]}, [1, "x"], [], {}, (1, 2)]
)


@given(
    st.lists(st.dictionaries(st.sampled_from(["a", "b", "%s", 'q"']), CELL), max_size=3),
    st.integers(20, 400),
    st.booleans(),
)
def test_rows_are_written_as_each_of_them_would_be(few: Any, times: int, inside: bool) -> None:
    rows = few * times
    value = [{"in": row, "n": 1} for row in rows] if inside else rows
    if any(isinstance(cell, float) and math.isinf(cell) for row in few for cell in row.values()):
        with pytest.raises(ValueError, match="JSON compliant"):
            canonical(value)
        if len(rows) > 64:
            with pytest.raises(ValueError, match="JSON compliant"):
                canonical_in_pieces(value)
        return
    assert canonical_in_pieces(value) == canonical(value)
    depth, size = extent(value, math.inf)
    assert size <= len(canonical(value))
    assert depth == max([extent(row, 9e9)[0] for row in value], default=0) + 1


@pytest.mark.parametrize(
    "bad", [math.nan, math.inf, -math.inf, 10**5000], ids=["nan", "inf", "-inf", "long"]
)
def test_what_has_no_text_has_none_in_a_column(bad: Any) -> None:
    for rows in ([{"a": 1.0}] * 99 + [{"a": bad}], [1.0] * 99 + [bad], [bad] * 100):
        with pytest.raises(ValueError, match="JSON compliant|Exceeds the limit"):
            canonical_in_pieces(rows)


def test_keys_in_another_order_or_of_another_kind_are_written_the_same() -> None:
    ways: list[list[Any]] = [
        [{"a": 1, "b": 2}, {"b": 3, "a": 4}] * 50,
        [{"a": 1, "b": 2}, {"a": 1, "c": 2}] * 50,
        [{"a": 1}, {}] * 50,
        [{}] * 100,
        [{Text("a"): 1}] * 100,
        [{"a": 1}, {Text("a"): 2}] * 50,
    ]
    for rows in ways:
        text = canonical_in_pieces(rows)
        assert text == canonical(rows)
        assert json.loads(text) == rows
