"""Properties of all types, over values that nobody thought of."""

from __future__ import annotations

import enum
from dataclasses import dataclass, field
from typing import Annotated, Any, Literal

import jsonschema
from hypothesis import given
from hypothesis import strategies as st
from jsonschema_rs import Draft202012Validator

from toolcrib import tool
from toolcrib.errors import InvalidInputError


class Color(enum.Enum):
    RED = "red"
    BLUE = "blue"


class Level(enum.IntEnum):
    LOW = 1
    HIGH = 2


@dataclass
class Point:
    x: int
    y: float = 0.5


@dataclass
class Node:
    name: str
    kids: list[Node] = field(default_factory=list)


KINDS: list[Any] = [
    str,
    int,
    float,
    bool,
    None,
    int | None,
    list[int],
    dict[str, bool],
    Color,
    Level,
    Literal["a", "b"],
    Literal[1, 2],
    Annotated[int, "Text."],
    Point,
    Node,
]
JSON = st.recursive(
    st.none()
    | st.booleans()
    | st.integers()
    | st.sampled_from([0, 1, 2, 1.0, 5.9, "a", "b", "red", "1", "", 2**70])
    | st.floats(allow_nan=False, allow_infinity=False)
    | st.text(alphabet=st.characters(exclude_categories=["Cs"])),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(st.sampled_from(["x", "y", "name", "kids", "z"]), inner, max_size=3)
    ),
    max_leaves=8,
)


def _passing(kind: Any) -> tool.Tool:
    def handler(value: Any, other: int = 1) -> Any:
        return value

    handler.__annotations__ |= {"value": kind, "return": kind}
    return tool.define("t", "d", handler)


PASSING = [_passing(kind) for kind in KINDS]
BOTH = [
    (Draft202012Validator(made.input_schema), jsonschema.Draft202012Validator(made.input_schema))
    for made in PASSING
]


@given(JSON)
def test_the_validator_that_decides_agrees_with_the_one_that_explains(value: Any) -> None:
    for fast, exact in BOTH:
        arguments = {"value": value, "other": 1}
        assert fast.is_valid(arguments) == exact.is_valid(arguments)


@given(JSON)
def test_what_passes_once_passes_again_unchanged(value: Any) -> None:
    for made in PASSING:
        try:
            result = made.invoke({"value": value})
        except InvalidInputError:
            continue
        assert repr(made.invoke({"value": result})) == repr(result)
