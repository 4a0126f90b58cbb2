"""Schemas that a host gives: copied, local, portable, and never wider than the types."""

from __future__ import annotations

import json
from collections.abc import Mapping, MutableMapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any

import pytest

from toolcrib import tool
from toolcrib.errors import DefinitionError, InvalidInputError, InvalidOutputError

ANY = ["string", "number", "boolean", "object", "array", "null"]


def find(key: str, limit: int = 10) -> list[str]:
    return [key] * limit


def take(arguments: dict[str, Any]) -> Any:
    return arguments


def taking(schema: Any, handler: Any = take, **options: Any) -> tool.Tool:
    return tool.define("t", "d", handler, input_schema=schema, output_schema=True, **options)


def giving(schema: Any, handler: Any) -> tool.Tool:
    return tool.define("t", "d", handler, output_schema=schema)


def refusal(schema: Any, handler: Any = take) -> DefinitionError:
    with pytest.raises(DefinitionError) as caught:
        taking(schema, handler)
    return caught.value


def record(**properties: Any) -> dict[str, Any]:
    return {"type": "object", "properties": properties}


def test_a_given_schema_is_what_the_model_sees() -> None:
    schema = record(
        key={"type": "string", "pattern": "^[A-Z]+-[0-9]+$"}, limit={"type": "integer"}
    )
    made = tool.define("t", "d", find, input_schema=schema)
    assert made.input_schema == schema
    assert made.invoke({"key": "A-1", "limit": 1}) == ["A-1"]
    with pytest.raises(InvalidInputError, match="/key"):
        made.invoke({"key": "a"})


def test_json_text_is_taken_as_well_as_a_mapping() -> None:
    schema = record(key={"type": "string", "enum": ["a"]})
    assert taking(json.dumps(schema), find).input_schema == schema
    assert taking(MappingProxyType(schema), find).input_schema == schema


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        ({"key": 5}, "/key: must be a string"),
        ({"limit": 1}, 'the field "key" is required'),
        ({"key": "a", "other": 1}, 'unknown field "other"'),
        ({"key": "a", "limit": "1"}, "/limit: must be an integer"),
    ],
)
def test_a_given_schema_does_not_let_in_what_the_types_refuse(arguments: Any, words: str) -> None:
    called: list[str] = []

    def handler(key: str, limit: int = 10) -> None:
        called.append(f"{key}{limit}")

    made = tool.define("t", "d", handler, input_schema=record(key={}, limit={}))
    with pytest.raises(InvalidInputError, match=words):
        made.invoke(arguments)
    assert called == []
    made.invoke({"key": "a"})
    assert called == ["a10"]


def test_types_convert_under_a_given_schema() -> None:
    @dataclass
    class Request:
        key: str
        size: float = 2

    def handler(request: Request) -> str:
        return f"{type(request).__name__} {request.key} {request.size}"

    made = tool.define("t", "d", handler, input_schema=record(key={"type": "string"}))
    assert made.invoke({"key": "a"}) == "Request a 2"


def test_arguments_of_any_kind_need_a_given_schema() -> None:
    with pytest.raises(DefinitionError):
        tool.define("t", "d", take, output_schema=True)

    def mapping(arguments: Mapping[str, Any]) -> dict[str, Any]:
        return dict(arguments)

    for handler in (take, mapping):
        made = taking(record(n={"type": "integer"}), handler)
        assert made.invoke({"n": 2**70}) == {"n": 2**70}


def test_a_part_of_any_kind_is_a_copy_of_the_callers_value() -> None:
    given: dict[str, Any] = {"labels": {"a": [1]}}

    def handler(labels: dict[str, Any], more: Any = None) -> list[Any]:
        labels["a"].append(2)
        return [labels, more]

    made = taking(record(labels={"type": "object"}, more={}), handler)
    assert made.invoke(given) == [{"a": [1, 2]}, None]
    assert given == {"labels": {"a": [1]}}


def test_the_handler_of_an_open_object_has_no_default_for_it() -> None:
    def handler(arguments: dict[str, Any] = {}) -> None: ...  # noqa: B006

    assert "default" in str(refusal(record(), handler))


@pytest.mark.parametrize(
    ("schema", "parameter", "words"),
    [
        (record(key={}, other={}), "input_schema", "'other', which the handler does not take"),
        (record(limit={}), "input_schema", "'key', which the handler requires"),
    ],
)
def test_names_that_only_one_side_has_are_refused(schema: Any, parameter: str, words: str) -> None:
    error = refusal(schema, find)
    assert (error.tool, error.parameter) == ("t", parameter)
    assert words in str(error)


@pytest.mark.parametrize("schema", [{"type": "array"}, {}, {"type": ["object"]}, True, "true"])
def test_the_arguments_are_an_object(schema: Any) -> None:
    assert '"type": "object"' in str(refusal(schema))


@pytest.mark.parametrize(
    ("keyword", "value"),
    [
        ("anyOf", [{"required": ["a"]}]),
        ("oneOf", [{"required": ["a"]}]),
        ("allOf", [{"required": ["a"]}]),
        ("not", {"required": ["a"]}),
        ("if", {"required": ["a"]}),
        ("then", {"required": ["a"]}),
        ("else", {"required": ["a"]}),
        ("enum", [{}]),
        ("const", {}),
    ],
)
def test_combinators_at_the_root_are_refused_by_name(keyword: str, value: Any) -> None:
    error = refusal(record(a={"type": "string"}) | {keyword: value})
    assert f"has {keyword} at its root" in str(error)


@pytest.mark.parametrize(
    ("schema", "place", "words"),
    [
        (record(a={"type": "strng"}), "/properties/a/type", "2020-12"),
        (record(a={"type": "string", "pattern": "("}), "/properties/a/pattern", "regex"),
        (record(a={"minimum": "1"}), "/properties/a/minimum", "2020-12"),
        (record() | {"required": True}, "/required", "2020-12"),
        (record() | {"properties": []}, "/properties", "2020-12"),
        (record(a=False), "/properties/a", "allows nothing"),
        (record(a={"type": "array", "items": False}), "/properties/a/items", "allows nothing"),
    ],
)
def test_what_is_no_portable_schema_is_refused_with_its_place(
    schema: Any, place: str, words: str
) -> None:
    error = refusal(schema)
    assert error.parameter == f"input_schema{place}"
    assert words in str(error)


def deep() -> Any:
    value: Any = {}
    for _ in range(100):
        value = {"properties": {"a": value}}
    return value


def cyclic() -> Any:
    value: dict[str, Any] = {}
    value["properties"] = {"a": value}
    return value


def shared() -> Any:
    value: Any = {}
    for _ in range(60):
        value = MappingProxyType({"a": value, "b": value})
    return value


@pytest.mark.parametrize(
    ("schema", "words"),
    [
        ("", "is not JSON"),
        ("{} {}", "is not JSON"),
        ("[" * 100_000, "is not JSON"),
        ('{"title": NaN}', "NaN"),
        ('{"a": 1, "a": 2}', "'a' twice"),
        ('{"maximum": 1e400}', "1e400"),
        ('{"maximum": 1e-99999999999999999999}', "is not JSON|fewer digits"),
        ('{"maximum": 0.12345678901234567890}', "fewer digits"),
        ({"title": float("inf")}, "not JSON"),
        ({"title": object()}, "not JSON"),
        ({"enum": {1, 2}}, "not JSON"),
        ({1: "a"}, "keys of text"),
        ({"title": "\ud800"}, "surrogate"),
        ({"title": "x" * 300_000}, "larger than"),
        ("x" * 300_000, "larger than"),
        (b"{}", "not JSON"),
        (deep(), "deeper than"),
        (cyclic(), "deeper than"),
        (shared(), "larger than"),
    ],
)
def test_what_is_no_json_document_is_refused(schema: Any, words: str) -> None:
    with pytest.raises(DefinitionError, match=words) as caught:
        taking(schema)
    assert (caught.value.tool, caught.value.parameter) == ("t", "input_schema")


def test_numbers_stay_exact() -> None:
    text = '{"type":"object","properties":{"n":{"type":"number","maximum":%s,"multipleOf":0.1}}}'
    made = taking(text % "123456789012345678901234567890")
    assert made.input_schema["properties"]["n"]["maximum"] == 123456789012345678901234567890
    assert made.input_schema["properties"]["n"]["multipleOf"] == 0.1
    with pytest.raises(InvalidInputError):
        made.invoke({"n": 123456789012345678901234567891})


def test_booleans_and_empty_schemas_become_schemas_that_say_the_same() -> None:
    schema = record(
        a=True,
        b={},
        c={"description": "Anything."},
        d={"type": "array", "items": True},
        e={"type": "object", "additionalProperties": {}},
        f={"enum": ["a", 1, None]},
        g={"const": True},
        h={"minLength": 3},
        i={"type": "object", "anyOf": [{"required": ["x"]}, True]},
        j={"type": "object", "additionalProperties": False},
        k={"enum": [1, 2.5]},
    )
    assert taking(schema).input_schema["properties"] == {
        "a": {"type": ANY},
        "b": {"type": ANY},
        "c": {"type": ANY, "description": "Anything."},
        "d": {"type": "array"},
        "e": {"type": "object"},
        "f": {"type": ["string", "integer", "null"], "enum": ["a", 1, None]},
        "g": {"type": "boolean", "const": True},
        "h": {"type": ANY, "minLength": 3},
        "i": {
            "type": "object",
            "anyOf": [{"type": "object", "required": ["x"]}, {"type": "object"}],
        },
        "j": {"type": "object", "additionalProperties": False},
        "k": {"type": "number", "enum": [1, 2.5]},
    }


def test_data_that_look_like_schemas_are_left_alone() -> None:
    data = {"$ref": "http://127.0.0.1:1/x", "$id": "x", "properties": {"a": True}}
    schema = record(a={"type": "object", "default": data, "examples": [data]}, b={"enum": [data]})
    shown = taking(schema).input_schema["properties"]
    assert shown["a"]["default"] == data
    assert shown["b"]["enum"] == [data]


@pytest.mark.parametrize(
    "name", ["größe", "a b", "$x", "a/b", "", "x" * 65, "__proto__"], ids=repr
)
def test_names_that_some_provider_drops_are_refused(name: str) -> None:
    error = refusal(record(**{name: {"type": "string"}}))
    assert (error.tool, error.parameter) == ("t", name)


def test_names_deeper_down_are_free_but_for_the_one_that_is_lost() -> None:
    taking(record(a=record(**{"größe": {"type": "string"}, "a b": {"type": "string"}})))
    lost = record(a=record(b={"type": "array", "items": record(__proto__=True)}))
    assert "__proto__" in str(refusal(lost))


def test_a_parameter_with_such_a_name_is_refused_too() -> None:
    def handler(größe: int) -> None: ...  # noqa: PLC2401

    with pytest.raises(DefinitionError, match="A-Z"):
        tool.define("t", "d", handler)


def test_formats_of_a_given_schema_are_enforced() -> None:
    made = taking(record(at={"type": "string", "format": "date-time"}))
    made.invoke({"at": "2026-01-01T00:00:00Z"})
    with pytest.raises(InvalidInputError, match="/at"):
        made.invoke({"at": "not a date"})


def test_an_object_as_the_result_is_shown_as_it_is() -> None:
    def handler(n: int) -> dict[str, int]:
        return {"n": n}

    made = giving(record(n={"type": "integer", "maximum": 5}), handler)
    assert made.output_schema == record(n={"type": "integer", "maximum": 5})
    assert made.invoke({"n": 5}) == {"n": 5}
    with pytest.raises(InvalidOutputError):
        made.invoke({"n": 6})


@pytest.mark.parametrize(
    ("schema", "inner"),
    [
        ({"type": "array", "items": {"type": "integer"}}, None),
        ({"type": ["array", "null"]}, None),
        ({"anyOf": [{"type": "array"}, {"type": "null"}]}, None),
        (True, {"type": ANY}),
        ("true", {"type": ANY}),
        ({}, {"type": ANY}),
    ],
)
def test_any_other_result_is_wrapped(schema: Any, inner: Any) -> None:
    def handler(n: int) -> list[int]:
        return [n]

    made = giving(schema, handler)
    assert made.output_schema == {
        "type": "object",
        "properties": {"result": inner or schema},
        "required": ["result"],
        "additionalProperties": False,
    }
    assert made.invoke({"n": 1}) == [1]


def test_a_recursive_result_that_is_wrapped_keeps_its_definitions_at_the_root() -> None:
    def handler(value: int) -> Any:
        return [[], [value]] if value else [["a"]]

    made = giving(
        {"type": "array", "items": {"anyOf": [{"$ref": "#"}, {"type": "integer"}]}}, handler
    )
    (name,) = made.output_schema["$defs"]
    assert made.output_schema["properties"]["result"]["items"]["anyOf"][0] == {
        "$ref": f"#/$defs/{name}"
    }
    assert made.invoke({"value": 1}) == [[], [1]]
    with pytest.raises(InvalidOutputError):
        made.invoke({"value": 0})


def test_a_result_is_what_the_type_says_and_what_the_schema_says() -> None:
    def handler(n: int) -> list[int]:
        return [n, "x"] if n < 0 else [n]  # type: ignore[list-item]

    made = giving({"type": "array", "items": {"minimum": 0, "maximum": 9}}, handler)
    assert made.invoke({"n": 9}) == [9]
    for bad in (-1, 10):
        with pytest.raises(InvalidOutputError):
            made.invoke({"n": bad})


def test_an_object_schema_for_what_is_never_an_object_is_refused() -> None:
    def handler() -> list[int]:
        return []

    with pytest.raises(DefinitionError, match="array"):
        giving(record(), handler)


@pytest.mark.parametrize(
    "result",
    [{1: "a"}, {"a": {1, 2}}, float("nan"), [float("inf")], object(), "\ud800", {"a": b""}],
)
def test_a_result_of_any_kind_is_json(result: Any) -> None:
    def handler() -> Any:
        return result

    with pytest.raises(InvalidOutputError):
        giving(True, handler).invoke({})


def test_a_false_result_is_refused() -> None:
    with pytest.raises(DefinitionError, match="allows nothing"):
        giving(False, find)


def test_a_part_that_nothing_refers_to_has_to_be_a_schema_too() -> None:
    error = refusal(record() | {"$defs": {"unused": {"type": 5}}})
    assert error.parameter == "input_schema/$defs/unused/type"


@pytest.mark.parametrize(
    ("part", "advice"),
    [
        ({"items": False}, "write maxItems"),
        ({"allOf": [False]}, "leave it out"),
        ({"not": False}, "leave it out"),
    ],
)
def test_what_allows_nothing_comes_with_advice(part: dict[str, Any], advice: str) -> None:
    assert str(refusal(record(a=part))).endswith(f"false allows nothing; {advice}")


@pytest.mark.parametrize(
    "kind", [dict, Mapping, MutableMapping, dict[str, object], Mapping[str, Any], Any, object]
)
def test_a_parameter_of_any_kind_is_described_by_the_given_schema(kind: Any) -> None:
    def handler(value: Any, other: int = 0) -> Any:
        return value

    handler.__annotations__["value"] = kind
    made = taking(record(value={"type": "object"}, other={"type": "integer"}), handler)
    assert made.invoke({"value": {"a": [1, None]}}) == {"a": [1, None]}


def test_a_result_of_any_kind_is_refused_with_its_place() -> None:
    def handler() -> dict[str, Any]:
        return {"a": [float("nan")]}

    with pytest.raises(InvalidOutputError, match="/a/0 is not a finite number"):
        giving(True, handler).invoke({})


def test_a_mapping_that_is_declared_is_a_mapping() -> None:
    def handler() -> dict[str, Any]:
        return [1]  # type: ignore[return-value]

    with pytest.raises(InvalidOutputError, match="is not a mapping but of type list"):
        giving(True, handler).invoke({})
