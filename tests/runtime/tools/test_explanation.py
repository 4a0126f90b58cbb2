"""What a model reads of a refusal: path and rule, in our words, in no time."""

from __future__ import annotations

import time
from typing import Any

import pytest

from toolcrib.runtime.tools.validation import Validator

CIRCLE = {
    "type": "object",
    "properties": {"kind": {"const": "circle"}, "radius": {"type": "number"}},
    "required": ["kind", "radius"],
    "additionalProperties": False,
}
SQUARE = {
    "type": "object",
    "properties": {"kind": {"type": "string", "enum": ["square"]}, "side": {"type": "number"}},
    "required": ["kind", "side"],
    "additionalProperties": False,
}


def part(name: str, kind: str) -> dict[str, Any]:
    return {
        "type": "object",
        "properties": {name: {"type": kind}},
        "required": [name],
        "additionalProperties": False,
    }


def around(inner: dict[str, Any], name: str = "in") -> dict[str, Any]:
    return {"type": "object", "properties": {name: inner}, "required": [name]}


PROPERTIES: dict[str, Any] = {
    "low": {"type": "integer", "minimum": 3, "maximum": 9},
    "open": {"type": "number", "exclusiveMinimum": 0, "exclusiveMaximum": 1},
    "even": {"type": "integer", "multipleOf": 2},
    "cents": {"type": "number", "multipleOf": 0.01},
    "text": {"type": "string", "minLength": 2, "maxLength": 4, "pattern": "^[a-z]*$"},
    "tags": {"type": "array", "items": {"type": "string"}, "minItems": 1, "uniqueItems": True},
    "few": {"type": "array", "items": {"type": "integer"}, "maxItems": 1},
    "when": {"type": "string", "format": "date-time"},
    "shade": {"type": "string", "enum": ["dark", "light"]},
    "fixed": {"const": 1},
    "maybe": {"anyOf": [{"type": "integer", "minimum": 0}, {"type": "null"}], "default": None},
    "either": {"anyOf": [{"type": "integer"}, {"type": "string"}, {"type": "null"}]},
    "many": {"type": ["integer", "string"]},
    "shape": {"anyOf": [CIRCLE, SQUARE]},
    "figure": {"anyOf": [CIRCLE, SQUARE, {"type": "null"}]},
    "plain": {"anyOf": [part("x", "integer"), part("y", "string")]},
    "deep": {"anyOf": [around(part("x", "integer")), around(part("x", "string"))]},
    "parts": {"anyOf": [CIRCLE, around({"type": "array", "items": {"const": 1}}, "x")]},
    "one": {"oneOf": [{"type": "integer"}, {"type": "number"}]},
    "nothing": False,
}
JUDGE = Validator({"type": "object", "properties": PROPERTIES})


@pytest.mark.parametrize(
    ("arguments", "text"),
    [
        ({"low": 2}, "/low: must be at least 3"),
        ({"low": 10}, "/low: must be at most 9"),
        ({"open": 0}, "/open: must be above 0"),
        ({"open": 1}, "/open: must be below 1"),
        ({"even": 3}, "/even: must be a multiple of 2"),
        ({"cents": 0.015}, "/cents: must be a multiple of 0.01"),
        ({"text": "a"}, "/text: must have at least 2 characters"),
        ({"text": "abcde"}, "/text: must have at most 4 characters"),
        ({"text": "ABC"}, "/text: does not match the schema's pattern"),
        ({"text": "a\ud800"}, "/text: does not match the schema's pattern"),
        ({"tags": []}, "/tags: must have at least 1 items"),
        ({"tags": ["a", "a"]}, "/tags: must not hold a value twice"),
        ({"tags": '["a"]'}, "/tags: must be an array"),
        ({"few": [1, 2]}, "/few: must have at most 1 items"),
        ({"when": "yesterday"}, "/when: is not in the format date-time"),
        ({"shade": "red"}, "/shade: must be one of the values that the schema lists"),
        ({"fixed": 2}, "/fixed: must be the value that the schema names"),
        (
            {"maybe": "1"},
            "/maybe: must be an integer or null; leave the field out to use its default",
        ),
        ({"maybe": -1}, "/maybe: must be at least 0; leave the field out to use its default"),
        ({"either": []}, "/either: must be an integer, a string or null"),
        ({"many": []}, "/many: must be an integer or a string"),
        ({"shape": 1}, "/shape: must be an object"),
        ({"shape": {"radius": 1}}, '/shape: the field "kind" is required'),
        ({"figure": 1}, "/figure: must be an object or null"),
        ({"plain": {"x": "1"}}, "/plain/x: must be an integer"),
        ({"plain": {"x": 1, "y": "s"}}, "/plain: fits none of the kinds that the schema lists"),
        ({"plain": {}}, "/plain: fits none of the kinds that the schema lists"),
        ({"shape": {}}, '/shape: the field "kind" is required'),
        ({"deep": {}}, '/deep: the field "in" is required'),
        ({"deep": {"in": {}}}, "/deep: fits none of the kinds that the schema lists"),
        ({"deep": {"in": {"x": None}}}, "/deep: fits none of the kinds that the schema lists"),
        ({"parts": {"x": [2]}}, "/parts/x/0: must be the value that the schema names"),
        ({"shape": {"kind": "circle", "radius": "1"}}, "/shape/radius: must be a number"),
        ({"shape": {"kind": "square"}}, '/shape: the field "side" is required'),
        ({"shape": {"kind": "square", "side": 1, "x": 1}}, '/shape: unknown field "x"'),
        ({"shape": {"kind": "star"}}, "/shape/kind: must be the value that the schema names"),
        ({"one": 5}, "/one: fits several kinds that the schema lists; make it fit one"),
        ({"nothing": 5}, "/nothing: does not fit the input schema; send JSON that does"),
    ],
)
def test_each_rule_is_told_in_words(arguments: dict[str, Any], text: str) -> None:
    assert not JUDGE.accepts(arguments)
    assert JUDGE.explain(arguments).startswith(text)


def test_a_rule_of_any_length_is_cut() -> None:
    judge = Validator({"type": "integer", "minimum": 10**4000})
    assert len(judge.explain(5).encode()) <= 512


def test_a_pattern_that_takes_python_for_ever_is_explained_at_once() -> None:
    judge = Validator({"type": "string", "pattern": "^(a+)+$"})
    began = time.monotonic()
    text = judge.explain("a" * 5_000 + "b")
    assert time.monotonic() - began < 5
    assert text == "arguments: does not match the schema's pattern"


def test_a_tag_picks_the_branch_of_a_union_that_wants_exactly_one() -> None:
    first = {"properties": {"kind": {"const": "a"}, "n": {"type": "integer"}}, "type": "object"}
    second = {"properties": {"kind": {"const": "b"}, "n": {"type": "string"}}, "type": "object"}
    judge = Validator({"oneOf": [first, second]})
    assert judge.explain({"kind": "b", "n": 1}) == "/n: must be a string"


def test_of_several_faults_the_first_by_name_is_told_whatever_the_order_of_the_schema() -> None:
    names = ["z", "a", "m"]
    judge = Validator({"properties": {name: {"type": "integer"} for name in names}})
    assert judge.explain(dict.fromkeys(names, "x")) == "/a: must be an integer"


def test_an_unknown_field_is_told_before_a_missing_one_and_that_before_a_wrong_one() -> None:
    judge = Validator(
        {
            "properties": {"a": {"type": "integer"}, "m": {}},
            "required": ["m"],
            "additionalProperties": False,
        }
    )
    assert judge.explain({"a": "x"}) == 'arguments: the field "m" is required'
    assert judge.explain({"a": "x", "z": 1}) == 'arguments: unknown field "z"; leave it out'


def test_names_are_escaped_so_that_they_stay_one_line() -> None:
    judge = Validator({"type": "object", "additionalProperties": False})
    assert judge.explain({'a\n"b\x7f\u202e c': 1}) == (
        'arguments: unknown field "a\\n\\"b\\u007f\\u202e c"; leave it out'
    )
