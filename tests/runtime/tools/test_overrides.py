"""Schemas that a host gives: copied, local, portable, and never wider than the types."""

from __future__ import annotations

import json
import socket
import subprocess
import sys
from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any

import pytest

from toolcrib import tool
from toolcrib.errors import DefinitionError, InvalidInputError, InvalidOutputError

ANY = ["string", "number", "boolean", "object", "array", "null"]
DIALECT = "https://json-schema.org/draft/2020-12/schema"


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


REMOTE = [
    {"$ref": "{server}/schema.json"},
    {"$ref": "{file}"},
    {"$ref": "schema.json"},
    {"$ref": "../schema.json#/$defs/a"},
    {"$ref": "schema.json#a"},
    {"$ref": "urn:example:a"},
    {"$ref": "//127.0.0.1/a"},
    {"$ref": 5},
    {"$dynamicRef": "#a"},
    {"$dynamicRef": "{server}/schema.json"},
    {"$recursiveRef": "#"},
    {"$dynamicAnchor": "a"},
    {"$id": "{server}/schema.json"},
    {"$id": "schema.json"},
    {"$schema": "{server}/schema.json"},
    {"$schema": "http://json-schema.org/draft-07/schema#"},
    {"$schema": 5},
    {"$vocabulary": {"{server}/": True}},
]
WHERE = {
    "property": lambda part: record(a=part),
    "root": lambda part: {"type": "object", **part},
    "unused": lambda part: record() | {"$defs": {"a": part}},
    "deep": lambda part: record(a={"anyOf": [{"type": "array", "items": part}]}),
}


@pytest.mark.parametrize("where", WHERE)
@pytest.mark.parametrize("part", REMOTE, ids=json.dumps)
def test_what_leads_out_of_the_schema_is_refused_without_asking(
    part: Any, where: str, tmp_path: Any
) -> None:
    file = tmp_path / "schema.json"
    file.write_text('{"type": "object", "$defs": {"a": {"$anchor": "a"}}}')
    with socket.create_server(("127.0.0.1", 0)) as server:
        server.setblocking(False)
        address = f"http://127.0.0.1:{server.getsockname()[1]}"
        text = json.dumps(WHERE[where](part))
        text = text.replace("{server}", address).replace("{file}", file.as_uri())
        error = refusal(text)
        assert next(iter(part)) in str(error.parameter)
        with pytest.raises(BlockingIOError):
            server.accept()


def test_no_socket_is_made_and_no_file_opened() -> None:
    script = """
import sys
from typing import Any
from toolcrib import tool
from toolcrib.errors import DefinitionError

def take(arguments: dict[str, Any]) -> Any: ...

def define(**properties):
    schema = {"type": "object", "properties": properties}
    tool.define("t", "d", take, input_schema=schema, output_schema=True)

define()  # loads the libraries
seen = []
sys.addaudithook(lambda name, args: seen.append(name))
for reference in ("http://127.0.0.1:1/x", "https://example.com/x", "file:///etc/passwd", "x.json"):
    for keyword in ("$ref", "$id", "$schema", "$dynamicRef"):
        try:
            define(a={keyword: reference})
        except DefinitionError:
            continue
        raise SystemExit(f"{keyword} {reference} was taken")
print(sorted({name for name in seen if name.startswith(("socket", "urllib", "open"))}))
"""
    done = subprocess.run(
        [sys.executable, "-c", script], capture_output=True, text=True, timeout=30, check=False
    )
    assert done.stdout.strip() == "[]", done.stderr


@pytest.mark.parametrize(
    "reference", ["#/$defs/nope", "#nope", "#/properties/a/title", "#/required/5", "#/x/~1y"]
)
def test_a_reference_that_leads_nowhere_is_refused_by_name(reference: str) -> None:
    schema = record(a={"title": "x"}, b={"$ref": reference}) | {"required": ["a"]}
    error = refusal(schema)
    assert reference in str(error)
    assert error.parameter == "input_schema/properties/b/$ref"
    unused = record() | {"$defs": {"b": {"items": {"$ref": reference}}}}
    assert reference in str(refusal(unused))


def test_local_references_are_written_out() -> None:
    schema = {
        "$schema": DIALECT,
        "$comment": "for authors",
        **record(
            a={"$ref": "#/$defs/a~1b", "description": "Beside."},
            b={"$ref": "#/definitions/c%20d"},
            c={"$ref": "#here"},
            d={"type": "array", "items": {"$ref": "#/properties/c"}},
            e={"$ref": "#/$defs/yes"},
        ),
        "$defs": {
            "a/b": {"type": "string", "description": "Within."},
            "h": {"$anchor": "here", "type": "integer"},
            "yes": True,
        },
        "definitions": {"c d": {"$ref": "#/$defs/a~1b"}},
    }
    assert taking(schema).input_schema == record(
        a={"type": "string", "description": "Beside."},
        b={"type": "string", "description": "Within."},
        c={"type": "integer"},
        d={"type": "array", "items": {"type": "integer"}},
        e={"type": ANY},
    )


def test_rules_beside_a_reference_hold_with_those_behind_it() -> None:
    closed = {"type": "object", "properties": {"x": {"type": "integer"}}}
    schema = record(a={"$ref": "#/$defs/a", "required": ["x"]}) | {
        "$defs": {"a": closed | {"additionalProperties": False}}
    }
    made = taking(schema)
    assert made.invoke({"a": {"x": 1}}) == {"a": {"x": 1}}
    for bad in ({}, {"x": "1"}, {"x": 1, "y": 2}):
        with pytest.raises(InvalidInputError):
            made.invoke({"a": bad})


@pytest.mark.parametrize(
    "schema",
    [
        record(kids={"type": "array", "items": {"$ref": "#"}}),
        {"$ref": "#/$defs/Node", "title": "Tree"}
        | {"$defs": {"Node": record(kids={"type": "array", "items": {"$ref": "#/$defs/Node"}})}},
        record(kids={"$ref": "#/$defs/Kids"})
        | {
            "$defs": {
                "Kids": {"type": "array", "items": {"$ref": "#/$defs/Kid"}},
                "Kid": record(kids={"$ref": "#/$defs/Kids"}),
            }
        },
    ],
    ids=["root", "definition", "mutual"],
)
def test_only_recursive_references_stay(schema: Any) -> None:
    made = taking(schema)
    shown = made.input_schema
    assert shown["type"] == "object"
    assert "$ref" not in shown
    references = {part["$ref"] for part in parts(shown) if "$ref" in part}
    assert references == {f"#/$defs/{name}" for name in shown["$defs"]}
    made.invoke({"kids": [{"kids": [{"kids": []}]}]})
    with pytest.raises(InvalidInputError, match="/kids/0/kids/0"):
        made.invoke({"kids": [{"kids": [5]}]})


def parts(schema: Any) -> list[dict[str, Any]]:
    if isinstance(schema, dict):
        return [schema, *(part for value in schema.values() for part in parts(value))]
    return [part for value in schema for part in parts(value)] if isinstance(schema, list) else []


@pytest.mark.parametrize(
    "schema",
    [
        {"$ref": "#"},
        record(a={"$ref": "#/properties/a"}),
        record(a={"$ref": "#/$defs/a"})
        | {
            "$defs": {"a": {"allOf": [{"$ref": "#/$defs/b"}]}, "b": {"not": {"$ref": "#/$defs/a"}}}
        },
        record(a={"type": "array", "items": {"$ref": "#/$defs/a"}})
        | {"$defs": {"a": {"anyOf": [{"$ref": "#/$defs/a"}, {"type": "null"}]}}},
    ],
)
def test_a_circle_of_references_is_refused(schema: Any) -> None:
    assert "without end" in str(refusal(schema))


def test_references_that_would_grow_without_bound_are_refused() -> None:
    definitions: dict[str, Any] = {"a0": {"type": "string"}}
    for level in range(1, 20):
        reference = {"$ref": f"#/$defs/a{level - 1}"}
        definitions[f"a{level}"] = record(x=reference, y=reference)
    error = refusal(record(a={"$ref": "#/$defs/a19"}) | {"$defs": definitions})
    assert "parts with references written out" in str(error)


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
    def handler() -> list[int]: ...

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
