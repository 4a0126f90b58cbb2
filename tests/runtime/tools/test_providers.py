"""What each provider's model sees; held against the real command lines elsewhere."""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import Annotated, Any, Literal, get_args

import pytest

from toolcrib import tool
from toolcrib.errors import ConfigurationError, DefinitionError
from toolcrib.runtime.tools.providers import Provider

PROVIDERS: tuple[Provider, ...] = get_args(Provider)
LONGEST = "x" * 48


def nothing() -> None: ...
def take(arguments: dict[str, Any]) -> Any: ...


def made(name: str = "look-up", **properties: Any) -> tool.Tool:
    schema = {"type": "object", "properties": properties, "additionalProperties": False}
    return tool.define(name, "Looks up.", take, input_schema=schema, output_schema=True)


def wide(inner: dict[str, Any]) -> tool.Tool:
    """Return a tool whose schema is over the size that Codex keeps."""
    properties: dict[str, Any] = {f"p{number}": inner for number in range(99)}
    return made("wide", **properties)


def said(view: tool.WireView) -> str:
    return "\n".join(view.notes)


@pytest.mark.parametrize(
    ("provider", "name"),
    [
        ("codex", "mcp__toolcrib__look_up"),
        ("claude", "mcp__toolcrib__look-up"),
        ("codebuddy", "mcp__toolcrib__look_up"),
        ("cursor", "toolcrib-look-up"),
    ],
)
def test_the_name_is_shown_as_the_provider_makes_it(provider: Provider, name: str) -> None:
    view = made().wire_schema(provider)
    assert (view.provider, view.name, view.description) == (provider, name, "Looks up.")
    assert name in said(view)


def test_the_prefix_of_every_provider_leaves_the_longest_name_within_64_characters() -> None:
    lengths = {provider: len(made(LONGEST).wire_schema(provider).name) for provider in PROVIDERS}
    assert max(lengths.values()) <= 64
    with pytest.raises(DefinitionError, match="1 to 48"):
        made(LONGEST + "x")


def test_the_server_has_the_name_that_the_library_uses() -> None:
    from toolcrib.runtime.spec import SERVER_KEY

    for provider in PROVIDERS:
        assert SERVER_KEY in made().wire_schema(provider).name


def test_an_unknown_provider_is_named_with_those_that_are_known() -> None:
    with pytest.raises(ConfigurationError, match="'gemini'; use one of codex, claude, cursor"):
        made().wire_schema("gemini")  # type: ignore[arg-type]


def test_a_plain_tool_is_kept_as_it_is() -> None:
    @tool.define
    def lookup(key: Annotated[str, "The key."], limit: int) -> list[str]:
        """Look up."""
        return [key] * limit

    for provider in ("codex", "claude"):
        view = lookup.wire_schema(provider)
        assert view.schema == lookup.input_schema
        assert "It keeps the schema as it is." in view.notes
    assert not lookup.wire_schema("cursor").measured
    assert "not known" in said(lookup.wire_schema("cursor"))
    assert lookup.wire_schema("cursor").schema == lookup.input_schema


def test_codex_drops_the_rules_and_tells_where() -> None:
    view = made(
        a={"type": "string", "format": "date", "maxLength": 9, "description": "D"},
        b={"type": "string", "format": "time", "default": "x"},
        c={"type": "array", "items": {"type": "string", "title": "T"}, "minItems": 1},
        d={"const": "x"},
        e={"type": "array"},
    ).wire_schema("codex")
    assert view.schema["properties"] == {
        "a": {"type": "string", "description": "D"},
        "b": {"type": "string"},
        "c": {"type": "array", "items": {"type": "string"}, "minItems": 1},
        "d": {"type": "string", "enum": ["x"]},
        "e": {"type": "array", "items": {"type": "string"}},
    }
    notes = said(view)
    assert "It drops format: /properties/a/format, /properties/b/format." in notes
    assert "It drops title: /properties/c/items/title." in notes
    assert "It drops minItems" not in notes
    assert "const as an enum of one value: /properties/d." in notes
    assert "array of anything as one of strings: /properties/e." in notes


def test_many_places_are_counted() -> None:
    properties: dict[str, Any] = {
        f"p{number}": {"type": "string", "format": "date"} for number in range(9)
    }
    assert "/properties/p2/format and 6 more." in said(made(**properties).wire_schema("codex"))


def test_codex_takes_away_what_is_over_its_limit_step_by_step() -> None:
    node = {"type": "object", "properties": {"a": {"$ref": "#/$defs/node"}}}
    deep: Any = {"type": "string"}
    for level in range(5):
        deep = {"type": "object", "properties": {f"l{level}": deep}}

    def shown(count: int, text: str) -> tuple[dict[str, Any], str]:
        properties = {f"f{n}": {"type": "string", "description": text} for n in range(count)}
        union = {"anyOf": [{"type": "string"}, {"type": "null"}]}
        schema = {
            "type": "object",
            "properties": {**properties, "deep": deep, "node": node, "union": union},
            "$defs": {"node": node},
        }
        one = tool.define("t", "d", take, input_schema=schema, output_schema=True)
        view = one.wire_schema("codex")
        return view.schema["properties"], said(view)

    small, notes = shown(10, "x" * 50)
    assert small["f0"]["description"]
    assert "limit" not in notes
    medium, notes = shown(10, "x" * 500)
    assert medium["f0"] == {"type": "string"}
    assert medium["node"]["properties"] == {"a": {"$ref": "#/$defs/node"}}
    assert "all descriptions" in notes
    assert "recursive" not in notes
    large, notes = shown(300, "x")
    assert large["node"]["properties"] == {"a": {}}
    assert large["deep"]["properties"]["l4"]["properties"] == {"l3": {}}
    assert large["union"] == {}
    assert "recursive" in notes
    assert "two levels" in notes
    assert "unions" in notes


@pytest.mark.parametrize("provider", ["claude", "codebuddy"])
def test_javascript_rounds_large_integers(provider: Provider) -> None:
    view = made(
        a={"type": "integer", "minimum": 2**53, "maximum": 12345678901234567890},
        b={"type": "integer", "maximum": 10**30, "default": {"x": [2**60]}},
        c={"type": "integer", "maximum": 10**400},
    ).wire_schema(provider)
    properties = view.schema["properties"]
    assert properties["a"] == {
        "type": "integer",
        "minimum": 2**53,
        "maximum": 12345678901234567000,
    }
    assert properties["b"]["maximum"] == 1e30
    assert properties["b"]["default"] == {"x": [1152921504606847000]}
    assert properties["c"]["maximum"] is None
    assert "/properties/a/maximum, /properties/b/maximum" in said(view)
    assert made(a={"maximum": 5}).wire_schema(provider).notes[1:] != view.notes[1:]


def test_codebuddy_says_that_more_is_allowed() -> None:
    view = made(a={"type": "string"}).wire_schema("codebuddy")
    assert view.schema["additionalProperties"] is True
    assert view.schema["required"] == []
    assert "other arguments are allowed" in said(view)


def test_a_view_is_frozen_and_prints_as_plain_text() -> None:
    view = made(a={"type": "string"}).wire_schema("claude")
    view.schema.clear()
    assert view.schema["type"] == "object"
    with pytest.raises(AttributeError):
        view.name = "x"  # type: ignore[misc]
    text = str(view)
    assert text.startswith("claude: mcp__toolcrib__look-up\nLooks up.\n")
    assert json.dumps(view.schema, indent=2) in text
    assert "- It keeps the schema as it is.\n" in text


@dataclass
class Filter:
    kind: Literal["open", "closed"]
    labels: list[str]
    parent: Filter | None = None


def test_a_recursive_type_stays_recursive_where_there_is_room() -> None:
    def handler(where: Filter) -> None: ...

    one = tool.define("t", "d", handler)
    (name,) = one.input_schema["$defs"]
    assert one.wire_schema("codex").schema["$defs"][name]["properties"]["parent"]["anyOf"][0] == {
        "$ref": f"#/$defs/{name}"
    }


def test_only_a_schema_that_is_kept_is_said_to_be_kept() -> None:
    kept, changed = made(a={"type": "string"}), made(a={"type": "string", "maxLength": 3})
    assert "It keeps the schema as it is." in kept.wire_schema("codex").notes
    assert "It keeps the schema as it is." not in changed.wire_schema("codex").notes
    assert "It keeps the schema as it is." not in kept.wire_schema("cursor").notes


def test_the_repr_of_a_view_leaves_out_the_schema() -> None:
    assert "distinct" not in repr(made(distinct={"type": "string"}).wire_schema("codex"))


def test_a_view_prints_texts_as_they_are_written() -> None:
    assert "größer" in str(
        made(a={"type": "string", "description": "größer"}).wire_schema("claude")
    )


@pytest.mark.parametrize(
    "inner",
    [
        {"type": "array", "items": {"type": "string"}},
        {"type": "object", "properties": {}},
        {"type": "object", "additionalProperties": False},
        {"anyOf": [{"type": "string"}, {"type": "null"}]},
    ],
)
def test_codex_says_nothing_of_what_nests_deep_in_a_schema_that_is_too_large(inner: Any) -> None:
    level = {"type": "object", "properties": {"x": {"type": "object", "properties": {"x": inner}}}}
    view = wide(level).wire_schema("codex")
    assert view.schema["properties"]["p0"]["properties"]["x"]["properties"]["x"] == {}


def test_codex_is_told_of_closed_objects_also_in_a_schema_that_is_too_large() -> None:
    def closed(**properties: Any) -> dict[str, Any]:
        return {"type": "object", "properties": properties, "additionalProperties": False}

    text = {"type": "string", "enum": ["x" * 60]}
    level = closed(in_=closed(in_=closed(in_=text)))
    view = wide(level).wire_schema("codex")
    assert view.schema["properties"]["p0"] == closed(in_=closed(in_={}))
    assert view.schema["additionalProperties"] is False
