"""References of a given schema: local ones are written out, others never followed."""

from __future__ import annotations

import json
import socket
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from toolcrib import tool
from toolcrib.errors import DefinitionError, InvalidInputError

ANY = ["string", "number", "boolean", "object", "array", "null"]
DIALECT = "https://json-schema.org/draft/2020-12/schema"


def take(arguments: dict[str, Any]) -> Any:
    return arguments


def taking(schema: Any) -> tool.Tool:
    return tool.define("t", "d", take, input_schema=schema, output_schema=True)


def refusal(schema: Any) -> DefinitionError:
    with pytest.raises(DefinitionError) as caught:
        taking(schema)
    return caught.value


def record(**properties: Any) -> dict[str, Any]:
    return {"type": "object", "properties": properties}


REMOTE = [
    {"$ref": "{server}/schema.json"},
    {"$ref": "{file}"},
    {"$ref": "schema.json"},
    {"$ref": "../schema.json#/$defs/a"},
    {"$ref": "schema.json#a"},
    {"$ref": "urn:example:a"},
    {"$ref": "//127.0.0.1/a"},
    {"$ref": "x/type"},
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


def placed(part: dict[str, Any], where: str) -> dict[str, Any]:
    match where:
        case "property":
            return record(a=part)
        case "root":
            return {"type": "object", **part}
        case "unused":
            return record() | {"$defs": {"a": part}}
    return record(a={"anyOf": [{"type": "array", "items": part}]})


@pytest.mark.parametrize("where", ["property", "root", "unused", "deep"])
@pytest.mark.parametrize("part", REMOTE, ids=json.dumps)
def test_what_leads_out_of_the_schema_is_refused_without_asking(
    part: Any, where: str, tmp_path: Path
) -> None:
    file = tmp_path / "schema.json"
    file.write_text('{"type": "object", "$defs": {"a": {"$anchor": "a"}}}')
    with socket.create_server(("127.0.0.1", 0)) as server:
        server.setblocking(False)
        address = f"http://127.0.0.1:{server.getsockname()[1]}"
        text = json.dumps(placed(part, where))
        text = text.replace("{server}", address).replace("{file}", file.as_uri())
        error = refusal(text)
        assert next(iter(part)) in str(error.parameter)
        if "$ref" in part:
            assert "leads out of the schema; nothing is fetched" in str(error)
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


def test_all_references_to_a_recursive_schema_stay_references() -> None:
    node = record(next={"$ref": "#/$defs/node"})
    made = taking(
        record(a={"$ref": "#/$defs/node"}, b={"$ref": "#/$defs/node"}) | {"$defs": {"node": node}}
    )
    reference = {"$ref": "#/$defs/node"}
    assert made.input_schema["properties"] == {"a": reference, "b": reference}
    assert made.input_schema["$defs"] == {"node": node}


def test_a_reference_may_lead_into_a_list_of_schemas() -> None:
    both = {"anyOf": [{"type": "string"}, {"type": "integer"}]}
    made = taking(record(a=both, b={"$ref": "#/properties/a/anyOf/1"}))
    assert made.input_schema["properties"]["b"] == {"type": "integer"}
    for step in ("2", "-1", "x"):
        error = refusal(record(a=both, b={"$ref": f"#/properties/a/anyOf/{step}"}))
        assert "leads to no schema" in str(error)


def test_definitions_of_older_drafts_are_looked_into() -> None:
    made = taking(record(a={"$ref": "#/definitions/x"}) | {"definitions": {"x": {"type": "null"}}})
    assert made.input_schema == record(a={"type": "null"})
    error = refusal(record() | {"definitions": {"x": {"$ref": "other.json"}}})
    assert error.parameter == "input_schema/definitions/x/$ref"
