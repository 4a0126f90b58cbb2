"""Generated types and values: what comes in as JSON is what the schema says, both ways."""

from __future__ import annotations

import dataclasses
import datetime as dt
import enum
import importlib
import importlib.util
import json
import math
import uuid
from collections.abc import Callable
from decimal import Decimal
from pathlib import Path
from typing import Any, Literal, NamedTuple, TypedDict

import pydantic
import pytest
from hypothesis import given
from hypothesis import strategies as st

from toolcrib import tool
from toolcrib.errors import InvalidInputError
from toolcrib.runtime.tools.catalog import Catalog
from toolcrib.runtime.tools.shape import Misfit
from toolcrib.runtime.tools.tool import plan_of


class Color(enum.Enum):
    RED = "red"
    BLUE = "blue"


class Level(enum.IntEnum):
    LOW = 1
    HIGH = 2


class Pair(NamedTuple):
    first: int
    second: str = "b"


class Options(TypedDict, total=False):
    depth: int
    name: str


@dataclasses.dataclass
class Kind:
    """A type, and the strategy for its values."""

    annotation: Any
    values: st.SearchStrategy[Any]
    hashable: bool = False


OFFSETS = st.integers(-12 * 60, 14 * 60).map(
    lambda minutes: dt.timezone(dt.timedelta(minutes=minutes))
)
FINITE = st.floats(allow_nan=False, allow_infinity=False)
LEAVES = [
    Kind(str, st.text(max_size=6), hashable=True),
    Kind(int, st.integers(), hashable=True),
    Kind(float, FINITE),
    Kind(bool, st.booleans()),
    Kind(None, st.none()),
    Kind(bytes, st.binary(max_size=6)),
    Kind(Color, st.sampled_from(Color), hashable=True),
    Kind(Level, st.sampled_from(Level)),
    Kind(Literal["a", "b"], st.sampled_from(["a", "b"])),
    Kind(Literal[1, 2], st.sampled_from([1, 2])),
    Kind(uuid.UUID, st.uuids(), hashable=True),
    Kind(Decimal, st.decimals(allow_nan=False, allow_infinity=False)),
    Kind(dt.date, st.dates()),
    Kind(dt.datetime, st.datetimes(timezones=OFFSETS).map(lambda one: one.replace(fold=0))),
    Kind(dt.timedelta, st.timedeltas()),
    Kind(Path, st.sampled_from([Path("a"), Path("/a/b"), Path("a b/é")])),
    Kind(Pair, st.builds(Pair, st.integers(), st.text(max_size=3))),
    Kind(
        Options,
        st.fixed_dictionaries({}, optional={"depth": st.integers(), "name": st.text(max_size=3)}),
    ),
    Kind(int | str, st.integers() | st.text(max_size=3)),
]


def _list(item: Kind) -> Kind:
    return Kind(list[item.annotation], st.lists(item.values, max_size=3))  # type: ignore[name-defined]


def _dict(item: Kind) -> Kind:
    values = st.dictionaries(st.text(max_size=3), item.values, max_size=3)
    return Kind(dict[str, item.annotation], values)  # type: ignore[name-defined]


def _optional(item: Kind) -> Kind:
    if item.annotation is None:
        return item
    return Kind(item.annotation | None, st.none() | item.values)


def _tuple(item: Kind) -> Kind:
    return Kind(
        tuple[item.annotation, ...],  # type: ignore[name-defined]
        st.lists(item.values, max_size=3).map(tuple),
    )


def _set(item: Kind) -> Kind:
    if not item.hashable:
        return _list(item)
    return Kind(set[item.annotation], st.sets(item.values, max_size=3))  # type: ignore[name-defined]


def _record(item: Kind) -> Kind:
    made = dataclasses.make_dataclass("Record", [("id", int), ("item", item.annotation)])
    return Kind(made, st.builds(made, st.integers(), item.values))


WRAPPERS: list[Callable[[Kind], Kind]] = [_list, _dict, _optional, _tuple, _set, _record]


@st.composite
def kinds(draw: st.DrawFn) -> Kind:
    kind = draw(st.sampled_from(LEAVES))
    for wrap in draw(st.lists(st.sampled_from(WRAPPERS), max_size=3)):
        kind = wrap(kind)
    return kind


def passing(kind: Kind, seen: list[Any]) -> tool.Tool:
    """Make a tool that returns what it takes."""

    def handler(value: Any, other: int = 1) -> Any:
        seen.append(value)
        return value

    handler.__annotations__ |= {"value": kind.annotation, "return": kind.annotation}
    return tool.define("passing", "Pass.", handler)


@given(st.data())
def test_values_of_every_type_survive_both_ways_exactly(data: st.DataObject) -> None:
    kind = data.draw(kinds())
    value = data.draw(kind.values)
    seen: list[Any] = []
    made = passing(kind, seen)
    plan = plan_of(made)
    answer = plan.answer(value)
    assert json.loads(answer.text) == answer.value
    assert plan.returns.accepts(answer.structured)

    again = made.invoke({"value": json.loads(answer.text)})

    assert again == answer.value
    assert seen == [value]
    assert type(seen[0]) is type(value)
    # Tells -0.0 from 0.0 and 5.0 from 5, whatever the order of fields and members.
    assert sorted(repr(seen[0])) == sorted(repr(value))


JSON = st.recursive(
    st.none()
    | st.booleans()
    | st.integers()
    | FINITE
    | st.sampled_from(
        [5.0, 5.9, "5", "yes", "red", "a", "2020-01-01", "2020-01-01T00:00:00Z", "P1D"]
    )
    | st.text(max_size=5),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(
            st.sampled_from(["id", "item", "first", "second", "depth", "name", "x"]),
            inner,
            max_size=3,
        )
    ),
    max_leaves=8,
)


def loads(made: tool.Tool, value: Any) -> bool:
    """Whether the typed path alone takes a value."""
    try:
        plan_of(made).input.load({"value": value})
    except Misfit:
        return False
    return True


@given(kinds(), JSON)
def test_the_schema_takes_whatever_the_typed_path_takes(kind: Kind, value: Any) -> None:
    made = passing(kind, [])
    if loads(made, value):
        assert plan_of(made).accepts.accepts({"value": value})
    elif plan_of(made).accepts.accepts({"value": value}):
        # What no schema of the portable subset can say is refused all the same.
        with pytest.raises(InvalidInputError):
            made.invoke({"value": value})


@given(kinds())
def test_the_same_definition_has_the_same_fingerprint(kind: Kind) -> None:
    first, second = (Catalog([passing(kind, [])]).fingerprint for _ in range(2))
    assert first == second


# Other libraries that read the same annotations, as oracles for what is JSON alone.
SHARED = [kind for kind in LEAVES if kind.annotation in {str, int, bool, None, Color}] + [
    Kind(Literal["a", "b"], st.nothing()),
    Kind(Literal[1, 2], st.nothing()),
]
SHARED_WRAPPERS = [_list, _dict, _optional, _record]


@st.composite
def shared_kinds(draw: st.DrawFn) -> Kind:
    kind = draw(st.sampled_from(SHARED))
    for wrap in draw(st.lists(st.sampled_from(SHARED_WRAPPERS), max_size=3)):
        kind = wrap(kind)
    return kind


def _whole(value: Any) -> Any:
    """Return the value with 5 for 5.0: to us they are the same, to the others not."""
    if isinstance(value, dict):
        return {key: _whole(one) for key, one in value.items()}
    if isinstance(value, list):
        return [*map(_whole, value)]
    if isinstance(value, float) and math.isfinite(value) and value.is_integer():
        return int(value)
    return value


def _names_more(value: Any, known: set[str]) -> bool:
    """Whether an object has a field that these oracles pass over and we refuse."""
    if isinstance(value, dict):
        return not value.keys() <= known or any(_names_more(one, known) for one in value.values())
    return isinstance(value, list) and any(_names_more(one, known) for one in value)


@given(shared_kinds(), JSON.map(_whole))
def test_pydantic_in_strict_mode_gives_the_same_verdict(kind: Kind, value: Any) -> None:
    try:
        pydantic.TypeAdapter(kind.annotation).validate_json(json.dumps(value), strict=True)
        theirs = True
    except pydantic.ValidationError:
        theirs = False
    _compare(kind, value, theirs=theirs)


@given(shared_kinds(), JSON.map(_whole))
def _agrees_with_msgspec(kind: Kind, value: Any) -> None:
    msgspec = importlib.import_module("msgspec")
    try:
        msgspec.convert(value, kind.annotation)
        theirs = True
    except msgspec.ValidationError:
        theirs = False
    _compare(kind, value, theirs=theirs)


def test_msgspec_gives_the_same_verdict(needs: Callable[[object, str], None]) -> None:
    needs(importlib.util.find_spec("msgspec"), "msgspec")
    _agrees_with_msgspec()


def _compare(kind: Kind, value: Any, *, theirs: bool) -> None:
    made = passing(kind, [])
    try:
        made.invoke({"value": value})
        ours = True
    except InvalidInputError:
        ours = False
    if ours != theirs:
        assert theirs
        assert _names_more(value, {"id", "item", "depth", "name"})
