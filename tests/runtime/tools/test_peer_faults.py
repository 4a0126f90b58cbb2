"""Faults of other libraries with names, schemas and values, each as a trial of ours."""

from __future__ import annotations

import datetime as dt
import enum
import functools
import json
import math
import socket
import uuid
from collections.abc import Callable
from dataclasses import dataclass, field
from decimal import Decimal
from typing import Annotated, Any, Literal

import pytest
from typed_tools import dumped, giving, loaded, schema_of, taking

from toolcrib import tool
from toolcrib.errors import DefinitionError, InvalidInputError, InvalidOutputError
from toolcrib.runtime.tools.catalog import Catalog


class Color(enum.Enum):
    RED = "red"


@dataclass
class Inner:
    number: int


@dataclass
class Node:
    name: str
    kids: list[Node] = field(default_factory=list)


def every_part(schema: Any) -> list[Any]:
    """Return a schema and all schemas inside it."""
    found = [schema]
    for keyword in ("items", "additionalProperties"):
        if keyword in schema and schema[keyword] is not False:
            found += every_part(schema[keyword])
    for branch in schema.get("anyOf", ()):
        found += every_part(branch)
    for keyword in ("properties", "$defs"):
        for part in schema.get(keyword, {}).values():
            found += every_part(part)
    return found


def test_b01_an_optional_parameter_stays_optional_and_takes_null() -> None:
    def handler(p: int | None = None) -> int | None:
        return p

    made = tool.define("t", "d", handler)
    assert "required" not in made.input_schema
    assert [made.invoke(one) for one in ({}, {"p": None}, {"p": 1})] == [None, None, 1]


@pytest.mark.parametrize(
    ("kind", "plain", "value"),
    [
        (list[int], [1], [1]),
        (Inner, {"number": 1}, Inner(1)),
        (Color, "red", Color.RED),
        (Literal["a"], "a", "a"),
        (dt.datetime, "2026-01-31T00:00:00Z", dt.datetime(2026, 1, 31, tzinfo=dt.UTC)),
    ],
)
def test_b02_no_type_turns_into_a_text_silently(kind: Any, plain: Any, value: Any) -> None:
    assert loaded(kind, plain) == value
    assert schema_of(kind) != {"type": "string"}


@pytest.mark.parametrize("kind", [Callable[[], int], complex])
def test_b02_an_unsupported_type_names_tool_parameter_and_type(kind: Any) -> None:
    with pytest.raises(DefinitionError, match=r"tool taking: value: .*(Callable|complex)"):
        taking(kind)


def test_b03_a_recursive_type_is_an_object_at_the_root() -> None:
    def handler(tree: Node) -> Node:
        return tree

    made = tool.define("t", "d", handler)
    assert made.input_schema["type"] == made.output_schema["type"] == "object"


@pytest.mark.parametrize(
    ("kind", "value"),
    [(list[str], ["a"]), (int, 1), (Inner | Node, Inner(1)), (None, None), (Color, Color.RED)],
)
def test_b06_results_that_are_no_objects_are_wrapped(kind: Any, value: Any) -> None:
    made = giving(kind, value)
    assert made.output_schema["type"] == "object"
    assert made.output_schema["required"] == ["result"]


@pytest.mark.parametrize(
    "kind",
    [
        tuple[int, str],
        Literal["a", 1],
        dt.datetime,
        set[Color],
        dict[str, Inner | None],
        Annotated[Decimal, "Price."],
        list[Node],
    ],
)
def test_b07_no_part_is_lost_where_providers_project_schemas(kind: Any) -> None:
    for part in every_part(taking(kind).input_schema):
        assert isinstance(part, dict)
        assert part.keys() & {"type", "anyOf", "$ref"}
        assert not part.keys() & {"prefixItems", "oneOf", "allOf", "const"}
        assert isinstance(part.get("type", ""), str)


def test_b07_format_and_default_are_in_the_words_too() -> None:
    def handler(
        day: Annotated[dt.date, "The day."] = dt.date(2026, 1, 31), count: int = 3
    ) -> None: ...

    properties = tool.define("t", "d", handler).input_schema["properties"]
    assert properties["day"]["description"] == (
        'The day. RFC 3339 date, such as 2026-01-31. Default: "2026-01-31".'
    )
    assert properties["count"]["description"] == "Default: 3."


def test_b08_what_is_not_recursive_is_written_out() -> None:
    schema = taking(dict[str, tuple[Inner, Color]]).input_schema
    assert "$ref" not in json.dumps(schema)


def test_b09_a_dict_of_any_keys_works() -> None:
    assert loaded(dict[str, int], {"any": 1}) == {"any": 1}


def test_b10_null_for_what_can_not_be_none_is_a_correction() -> None:
    def handler(a: int = 3) -> int:
        return a

    made = tool.define("t", "d", handler)
    for wrong in (None, "null"):
        with pytest.raises(InvalidInputError, match="a: must be an integer; leave the field out"):
            made.invoke({"a": wrong})


def test_b11_a_list_as_a_text_is_a_correction_and_a_text_stays_one() -> None:
    with pytest.raises(InvalidInputError, match="must be an array"):
        loaded(list[int], "[1,2]")
    assert loaded(str, "[1]") == "[1]"


@pytest.mark.parametrize(
    ("kind", "wrong"),
    [
        (int, "5"),
        (int, True),
        (int, 5.9),
        (bool, "yes"),
        (dt.datetime, "2026-01-31"),
        (dt.datetime, "2026-01-31T09:30:00"),
    ],
)
def test_b12_nothing_is_coerced(kind: Any, wrong: Any) -> None:
    with pytest.raises(InvalidInputError):
        loaded(kind, wrong)


def test_b12_five_point_zero_is_five() -> None:
    assert repr(loaded(int, 5.0)) == "5"


def test_b13_an_unknown_argument_is_named() -> None:
    def handler(key: str) -> None: ...

    with pytest.raises(InvalidInputError, match='unknown field "kee"'):
        tool.define("t", "d", handler).invoke({"key": "K", "kee": 1})


@pytest.mark.parametrize("name", ["_id", "schema", "model_config", "json", "copy"])
def test_b19_any_name_is_a_parameter(name: str) -> None:
    scope: dict[str, Any] = {}
    exec(f"def handler({name}: int) -> int:\n    return {name}", scope)  # noqa: S102
    assert tool.define("t", "d", scope["handler"]).invoke({name: 1}) == 1


@pytest.mark.parametrize("name", ["from", "class", "cik-A"])
def test_b20_any_json_name_has_an_alias_in_schema_call_and_correction(name: str) -> None:
    def handler(value: Any) -> int:
        return value  # type: ignore[no-any-return]

    handler.__annotations__["value"] = Annotated[int, tool.Alias(name)]
    made = tool.define("t", "d", handler)
    assert list(made.input_schema["properties"]) == [name]
    assert made.invoke({name: 1}) == 1
    with pytest.raises(InvalidInputError, match=f"/{name}: must be an integer"):
        made.invoke({name: "x"})


def test_b21_a_local_class_and_a_forward_reference_are_found() -> None:
    @dataclass
    class Local:
        later: Later | None = None

    @dataclass
    class Later:
        number: int

    def handler(local: Local, other: int) -> int:
        assert local.later is not None
        return local.later.number + other

    arguments = {"local": {"later": {"number": 1}}, "other": 2}
    assert tool.define("t", "d", handler).invoke(arguments) == 3


GOOGLE = """Look up.

    Args:
        key: The key.
    """
NUMPY = """Look up.

    Parameters
    ----------
    key : str
        The key.
    """
REST = """Look up.

    :param key: The key.
    """


@pytest.mark.parametrize("text", [GOOGLE, NUMPY, REST], ids=["google", "numpy", "rest"])
def test_b23_docstrings_describe_tool_and_parameters_apart(text: str) -> None:
    def handler(key: str, other: int = 1) -> None: ...

    handler.__doc__ = text
    made = tool.define(handler)
    assert made.description == "Look up."
    assert made.input_schema["properties"]["key"]["description"] == "The key."


def test_b24_a_partial_keeps_what_the_host_bound() -> None:
    def handler(tenant: str, key: str) -> str:
        return tenant + key

    made = tool.define("t", "d", functools.partial(handler, "x"))
    assert list(made.input_schema["properties"]) == ["key"]
    assert made.invoke({"key": "y"}) == "xy"


@pytest.mark.parametrize(
    ("kind", "wrong"),
    [
        (dt.datetime, "not a date"),
        (dt.timedelta, "not a duration"),
        (dt.date, "2026-02-30"),
        (uuid.UUID, "not a uuid"),
    ],
)
def test_b25_inferred_formats_are_enforced(kind: Any, wrong: str) -> None:
    with pytest.raises(InvalidInputError):
        loaded(kind, wrong)


def test_b26_no_definition_makes_a_connection(monkeypatch: pytest.MonkeyPatch) -> None:
    def connect(*_: Any, **__: Any) -> None:
        msg = "a definition made a socket"
        raise AssertionError(msg)

    monkeypatch.setattr(socket, "socket", connect)
    assert Catalog([taking(Node), giving(list[Node])]).fingerprint
    with pytest.raises(DefinitionError):
        tool.define("t", "d", lambda: None, input_schema={"$ref": "http://127.0.0.1:1/x"})


@pytest.mark.parametrize(
    ("kind", "value"),
    [
        (float, math.nan),
        (dict[str, float], {"x": math.inf}),
        (Decimal, Decimal("NaN")),
        (list[Annotated[Decimal, "In a list."]], [Decimal("sNaN")]),
    ],
)
def test_b29_numbers_that_json_can_not_hold_are_no_results(kind: Any, value: Any) -> None:
    with pytest.raises(InvalidOutputError, match="finite"):
        giving(kind, value).invoke({})


@pytest.mark.parametrize(
    ("kind", "value", "plain"),
    [
        (set[int], {2, 1}, [1, 2]),
        (Inner, Inner(1), {"number": 1}),
        (None, None, None),
        (list[dict[str, int]], [{"a": 1}], [{"a": 1}]),
        (Color, Color.RED, "red"),
        (uuid.UUID, uuid.UUID(int=1), "00000000-0000-0000-0000-000000000001"),
    ],
)
def test_b34_results_are_json_as_the_schema_says(kind: Any, value: Any, plain: Any) -> None:
    assert dumped(kind, value) == plain


def test_b37_bytes_are_base64_both_ways() -> None:
    assert dumped(bytes, b"\xff") == "/w=="
    assert loaded(bytes, "/w==") == b"\xff"
    assert schema_of(bytes)["contentEncoding"] == "base64"
