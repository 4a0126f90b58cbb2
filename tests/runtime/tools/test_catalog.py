"""Catalogs: frozen sets of tools with a fingerprint."""

from __future__ import annotations

import enum
import json
import os
import subprocess
import sys
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import jsonschema
import pytest

from toolcrib import tool
from toolcrib.errors import DefinitionError
from toolcrib.runtime.tools.catalog import Catalog


def nothing() -> None: ...
def number() -> int:
    return 1


def named(name: str = "tool", handler: Callable[..., Any] = nothing, **options: Any) -> tool.Tool:
    return tool.define(name, options.pop("description", "d"), handler, **options)


def test_tools_are_sorted_by_name_and_later_changes_have_no_effect() -> None:
    given = [named("b"), named("a")]
    catalog = Catalog(given)
    given.clear()
    assert catalog.names == ("a", "b")
    assert list(catalog.tools) == ["a", "b"]
    with pytest.raises(TypeError):
        catalog.tools["c"] = named("c")  # type: ignore[index]
    catalog.listing()[0]["inputSchema"].clear()
    assert catalog.listing()[0]["inputSchema"]["type"] == "object"


def test_a_catalog_may_be_empty_and_may_come_from_any_iterable() -> None:
    assert Catalog(()).names == ()
    assert Catalog(named(name) for name in "ba").names == ("a", "b")


@pytest.mark.parametrize(
    ("names", "words"),
    [
        (("dup", "dup"), "taken"),
        (("a-b", "a_b"), "a-b is the same name"),
        (("a_b-c", "a-b_c"), "is the same name"),
    ],
)
def test_names_that_are_one_for_a_provider_are_refused(names: tuple[str, ...], words: str) -> None:
    with pytest.raises(DefinitionError, match=words) as caught:
        Catalog([named(name) for name in names])
    assert caught.value.tool == names[1]


@pytest.mark.parametrize("items", [[nothing], [None], ["lookup"], [{"name": "x"}]])
def test_what_is_no_tool_is_refused_with_its_place(items: Any) -> None:
    with pytest.raises(DefinitionError, match=r"tools\[1\]: .* tool\.define"):
        Catalog([named(), *items])


@pytest.mark.parametrize("tools", [None, 5, "tools", {"a": 1}, nothing])
def test_what_is_no_set_of_tools_is_refused(tools: Any) -> None:
    with pytest.raises(DefinitionError, match="list or tuple"):
        Catalog(tools)


def test_one_tool_alone_is_no_set() -> None:
    with pytest.raises(DefinitionError, match="list or tuple"):
        Catalog(named())  # type: ignore[arg-type]


def test_a_listing_has_the_shape_of_the_protocol() -> None:
    @tool.define(title="Issue", read_only=True, destructive=False, open_world=False)
    def lookup(key: str) -> list[str]:
        """Look up."""
        return [key]

    assert Catalog([lookup, named("bare", number)]).listing() == (
        {
            "name": "bare",
            "description": "d",
            "inputSchema": {"type": "object", "properties": {}, "additionalProperties": False},
            "outputSchema": {
                "type": "object",
                "properties": {"result": {"type": "integer"}},
                "required": ["result"],
                "additionalProperties": False,
            },
        },
        {
            "name": "lookup",
            "title": "Issue",
            "description": "Look up.",
            "inputSchema": lookup.input_schema,
            "outputSchema": lookup.output_schema,
            "annotations": {
                "title": "Issue",
                "readOnlyHint": True,
                "destructiveHint": False,
                "openWorldHint": False,
            },
        },
    )


@pytest.mark.parametrize(
    ("limit", "asked"),
    [(49_990, 50_001), (120_000, 120_011), (499_989, 500_000), (4_000_000, 500_000)],
)
def test_a_limit_above_what_claude_code_shows_whole_is_asked_for(limit: int, asked: int) -> None:
    # 11 more, for the object that a result is under; 500,000 is that client's ceiling.
    (listed,) = Catalog([named(output_limit=limit)]).listing()
    assert listed["_meta"] == {"anthropic/maxResultSizeChars": asked}


@pytest.mark.parametrize("limit", [None, 1, 20_000, 49_989])
def test_no_size_is_asked_for_where_it_would_only_lower_what_is_shown(limit: int | None) -> None:
    (listed,) = Catalog([named(output_limit=limit)]).listing()
    assert "_meta" not in listed


def test_the_fingerprint_follows_all_that_a_model_sees_and_nothing_else() -> None:
    def print_of(**options: Any) -> str:
        return Catalog([named(**options)]).fingerprint

    base = print_of()
    assert base.startswith("sha256:")
    assert len(base) == len("sha256:") + 64
    different = [
        print_of(name="other"),
        print_of(description="other"),
        print_of(title="other"),
        print_of(revision="v1"),
        print_of(handler=number),
        *(
            print_of(**{claim: value})
            for claim in ("read_only", "destructive", "idempotent", "open_world")
            for value in (True, False)
        ),
        Catalog([]).fingerprint,
        Catalog([named(), named("second")]).fingerprint,
    ]
    assert len({base, *different}) == 1 + len(different)
    assert print_of(handler=lambda_free_nothing) == base
    assert print_of(deadline=5) == base
    order = [named("a"), named("b")]
    assert Catalog(order).fingerprint == Catalog(order[::-1]).fingerprint


def lambda_free_nothing() -> None: ...


SCRIPT = """
import enum
from dataclasses import dataclass
from typing import Literal
from toolcrib import tool
from toolcrib.runtime.tools.catalog import Catalog

class Color(enum.Enum):
    RED = "red"
    BLUE = "blue"

@dataclass
class Node:
    kids: "list[Node]"
    color: Color | None = None

@tool.define
def one(node: Node, mode: Literal["a", "b", "c"] = "a") -> dict[str, Node]:
    "One."
    return {}

@tool.define(revision="v1")
def two() -> None:
    "Two."

print(Catalog([one, two]).fingerprint)
"""


def test_the_fingerprint_is_the_same_in_every_process() -> None:
    prints = {
        subprocess.run(
            [sys.executable, "-c", SCRIPT],
            env=os.environ | {"PYTHONHASHSEED": seed},
            capture_output=True,
            text=True,
            timeout=30,
            check=True,
        ).stdout
        for seed in ("0", "1", "2")
    }
    assert len(prints) == 1
    assert prints.pop().startswith("sha256:")


def test_tools_without_a_revision_are_named() -> None:
    catalog = Catalog([named("c"), named("a"), named("b", revision="v1")])
    assert catalog.without_revision() == ("a", "c")


class Kind(enum.Enum):
    A = "a"


@dataclass
class Tree:
    name: str
    kind: Kind = Kind.A
    kids: list[Tree] | None = None


def subschemas(schema: Any) -> list[Any]:
    found = [schema]
    if isinstance(schema, dict):
        for key in ("items", "additionalProperties"):
            if key in schema and schema[key] is not False:
                found += subschemas(schema[key])
        for key in ("properties", "$defs"):
            for inner in schema.get(key, {}).values():
                found += subschemas(inner)
        for inner in schema.get("anyOf", ()):
            found += subschemas(inner)
    return found


@pytest.mark.parametrize(
    "output", [None, int, list[str], int | None, dict[str, Tree], Tree, list[Tree], Tree | None]
)
def test_schemas_stay_in_the_subset_that_every_provider_keeps(output: Any) -> None:
    def handler(tree: Tree, other: dict[str, list[Tree | None]] | None = None) -> Any: ...

    handler.__annotations__["return"] = output
    (listed,) = Catalog([named("t", handler)]).listing()
    for schema in (listed["inputSchema"], listed["outputSchema"]):
        jsonschema.Draft202012Validator.check_schema(schema)
        assert schema["type"] == "object"
        assert not schema.keys() & {"anyOf", "oneOf", "allOf", "not", "if", "$ref", "enum"}
        for inner in subschemas(schema):
            assert isinstance(inner, dict)
            assert inner
        references = [one["$ref"] for one in subschemas(schema) if "$ref" in one]
        assert {one.removeprefix("#/$defs/") for one in references} <= schema.get(
            "$defs", {}
        ).keys()
    assert json.loads(json.dumps(listed)) == listed


def test_the_fingerprint_stays_the_same_from_release_to_release() -> None:
    # Threads compare it with one that an earlier release wrote down.
    one = named("t", title="T", revision="v1", read_only=True)
    assert Catalog([one]).fingerprint == (
        "sha256:7a98892fff48fa1ed5b5dd4a6768cc9574b2e0813c1097dbc3c427cc787a7a28"
    )
