"""jsonschema-rs decides and jsonschema explains: where they may differ, and nowhere else."""

from __future__ import annotations

import math
from typing import Any

import jsonschema
import pytest
from hypothesis import given
from hypothesis import strategies as st

from toolcrib.runtime.tools.explanation import TEXT_LIMIT
from toolcrib.runtime.tools.validation import Validator

NAMES = st.sampled_from(["a", "b", "kind", "größe", "$ref"])
WORDS = st.sampled_from(["", "a", "b", "ab", "é", "💡", "A b", "kind", "0"]) | st.text(max_size=5)
NUMBERS = (
    st.integers(-3, 12)
    | st.sampled_from([0.0, -0.0, 1.0, 1.5, 5.0, 1e15, 2**53, 2**53 + 1, 2**63, 2**64, 10**30])
    | st.integers()
    | st.floats(allow_nan=False, allow_infinity=False)
)
VALUES = st.recursive(
    st.none() | st.booleans() | NUMBERS | WORDS,
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(NAMES | WORDS, inner, max_size=4),
    max_leaves=8,
)
BOUNDS = st.integers(-2, 10) | st.sampled_from([0.5, 2**53, 10**30])
PATTERNS = st.sampled_from(["^a", "b$", "^[a-z]+$", "^(a|b)*$", "é", "^.{0,3}$", "^[^A-Z]*$"])


def rules(kind: str, **optional: st.SearchStrategy[Any]) -> st.SearchStrategy[dict[str, Any]]:
    """Make schemas of one type with any of its keywords."""
    return st.fixed_dictionaries({"type": st.just(kind)}, optional=optional)


def numeric(kind: str) -> st.SearchStrategy[dict[str, Any]]:
    names = ("minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum")
    return rules(kind, **dict.fromkeys(names, BOUNDS), multipleOf=st.integers(1, 7))


SMALL = st.integers(0, 3)
LEAVES = (
    numeric("integer")
    | numeric("number")
    | rules("string", minLength=SMALL, maxLength=SMALL, pattern=PATTERNS)
    | st.sampled_from([{"type": "boolean"}, {"type": "null"}])
    | st.lists(WORDS, min_size=1, max_size=3).map(lambda words: {"type": "string", "enum": words})
    | st.lists(st.integers(-1, 5), min_size=1, max_size=3).map(
        lambda numbers: {"type": "integer", "enum": numbers}
    )
    | VALUES.map(lambda value: {"const": value})
)


@st.composite
def objects(draw: st.DrawFn, inner: st.SearchStrategy[Any]) -> dict[str, Any]:
    properties = draw(st.dictionaries(NAMES, inner, max_size=4))
    required = (
        draw(st.lists(st.sampled_from(sorted(properties)), unique=True)) if properties else []
    )
    closed = draw(st.just(False) | inner)
    schema = {"type": "object", "properties": properties, "additionalProperties": closed}
    return schema | ({"required": required} if required else {})


def _larger(inner: st.SearchStrategy[Any]) -> st.SearchStrategy[Any]:
    arrays = rules("array", items=inner, minItems=SMALL, maxItems=SMALL, uniqueItems=st.booleans())
    unions = st.tuples(
        st.sampled_from(["anyOf", "oneOf"]), st.lists(inner, min_size=1, max_size=3)
    )
    return arrays | objects(inner) | unions.map(lambda pair: {pair[0]: pair[1]})


SCHEMAS = st.recursive(LEAVES, _larger, max_leaves=6)


def fitting(schema: dict[str, Any]) -> st.SearchStrategy[Any]:
    """Draw values that fit often, and come close otherwise."""
    if "anyOf" in schema or "oneOf" in schema:
        return st.one_of([fitting(branch) for branch in schema.get("anyOf") or schema["oneOf"]])
    if "const" in schema or "enum" in schema:
        return st.sampled_from(schema.get("enum") or [schema["const"]])
    kind = schema["type"]
    if kind == "array":
        return st.lists(fitting(schema["items"]) if "items" in schema else VALUES, max_size=3)
    if kind == "object":
        members = {name: fitting(part) for name, part in schema["properties"].items()}
        return st.fixed_dictionaries(members)
    kinds = {"string": WORDS, "boolean": st.booleans(), "null": st.none()}
    return kinds.get(kind, NUMBERS)


@st.composite
def cases(draw: st.DrawFn) -> tuple[dict[str, Any], Any]:
    schema = draw(SCHEMAS)
    return schema, draw(fitting(schema) | VALUES)


@given(cases())
def test_both_give_the_same_verdict_and_the_refusal_names_a_rule(
    case: tuple[dict[str, Any], Any],
) -> None:
    schema, value = case
    judge = Validator(schema)
    exact = jsonschema.Draft202012Validator(schema).is_valid(value)
    assert judge.accepts(value) == exact
    if not exact:
        text = judge.explain(value)
        assert "does not fit the input schema" not in text
        assert len(text.encode()) <= TEXT_LIMIT


# Every difference there may be. The first verdict counts: it is that of jsonschema-rs.
DIFFERENCES = [
    ("NaN is no number", {"type": "number"}, math.nan, False, True),
    ("infinity is no number", {"type": "number"}, math.inf, False, True),
    ("decimal multiples are decimal", {"multipleOf": 0.1}, 0.3, True, False),
    ("decimal multiples are decimal", {"multipleOf": 0.01}, 19.99, True, False),
    ("formats are checked", {"format": "date-time"}, "yesterday", False, True),
    ("formats are checked", {"format": "uuid"}, "1-2", False, True),
    ("a digit is an ASCII digit", {"pattern": r"^\d$"}, "٣", False, True),
    ("half a surrogate pair is no text to match", {"pattern": "."}, "\ud800", False, True),
    ("names of fields are text", {"type": "object"}, {1: 2}, False, True),
]


@pytest.mark.parametrize(("what", "schema", "value", "decided", "explained"), DIFFERENCES)
def test_where_they_differ_the_faster_one_is_right_and_the_refusal_still_says_so(
    what: str, schema: dict[str, Any], value: Any, decided: bool, explained: bool
) -> None:
    judge = Validator(schema)
    assert judge.accepts(value) is decided, what
    assert jsonschema.Draft202012Validator(schema).is_valid(value) is explained, what
    if not decided:
        assert judge.explain(value).startswith("arguments: ")
