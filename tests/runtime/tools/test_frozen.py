"""A tool stays what it was, whatever its host changes; what its fingerprint follows."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import pytest

from toolcrib import tool
from toolcrib.errors import DefinitionError
from toolcrib.runtime.tools.call import call
from toolcrib.runtime.tools.catalog import Catalog
from toolcrib.runtime.tools.context import Context


def test_nothing_that_the_host_changes_has_an_effect() -> None:
    tags, more = ["x"], {"a": 1}

    def handler(n: int, tags: list[str] = tags, *, more: dict[str, int] = more) -> list[str]:
        """Look.

        Args:
            n: The number.
        """
        return [str(n), *tags, *more]

    made = tool.define("t", "d", handler)
    before = (Catalog([made]).listing(), Catalog([made]).fingerprint, made.invoke({"n": 1}))
    assert before[2] == ["1", "x", "a"]
    tags.append("y")
    more["b"] = 2
    handler.__defaults__ = (["other"],)
    handler.__kwdefaults__ = {"more": {"other": 1}}
    handler.__annotations__["n"] = str
    handler.__doc__ = "Other.\n\nArgs:\n    n: Other."
    handler.__name__ = "other"
    made.input_schema.clear()
    made.output_schema["type"] = "array"
    assert (
        Catalog([made]).listing(),
        Catalog([made]).fingerprint,
        made.invoke({"n": 1}),
    ) == before


def test_a_class_that_is_changed_afterwards_has_no_effect() -> None:
    @dataclass
    class Local:
        key: str
        tags: list[str] = field(default_factory=lambda: ["a"])

    def handler(request: Local) -> list[str]:
        return [request.key, *request.tags]

    made = tool.define("t", "d", handler)
    before = Catalog([made]).fingerprint
    Local.__annotations__["key"] = int
    Local.__doc__ = "Other.\n\nArgs:\n    key: Other."
    Local.__dataclass_fields__.clear()
    assert Catalog([made]).fingerprint == before
    assert made.invoke({"key": "k"}) == ["k", "a"]


@pytest.mark.parametrize("late", [False, True])
def test_a_given_schema_is_copied_at_once(late: bool) -> None:
    part: dict[str, Any] = {"type": "string", "enum": ["a"]}
    schema: dict[str, Any] = {"type": "object", "properties": {"key": part}}
    output: dict[str, Any] = {"type": "array", "items": {"type": "string"}}

    def handler(key: str) -> list[str]:
        """Give it back."""
        return [key]

    decorate = tool.define(input_schema=schema, output_schema=output)
    made = None if late else decorate(handler)
    part["enum"].append("b")
    schema["properties"]["other"] = {"type": "string"}
    output["items"]["type"] = "integer"
    made = made or decorate(handler)
    assert made.input_schema["properties"] == {"key": {"type": "string", "enum": ["a"]}}
    assert made.output_schema["properties"]["result"]["items"] == {"type": "string"}
    assert made.invoke({"key": "a"}) == ["a"]


def test_every_call_gets_defaults_of_its_own() -> None:
    def handler(tags: list[str] = ["x"]) -> list[str]:  # noqa: B006
        tags.append("y")
        return tags

    made = tool.define("t", "d", handler)
    assert [made.invoke({}) for _ in range(3)] == [["x", "y"]] * 3
    assert made.input_schema["properties"]["tags"]["default"] == ["x"]


def nothing() -> None: ...
def open_world(a: dict[str, Any]) -> Any: ...


def print_of(handler: Any = nothing, **options: Any) -> str:
    name, description = options.pop("name", "t"), options.pop("description", "d")
    return Catalog([tool.define(name, description, handler, **options)]).fingerprint


HINTS = ("read_only", "destructive", "idempotent", "open_world")
SCHEMA: dict[str, Any] = {"type": "object", "properties": {"a": {"type": "string"}}}


def test_the_fingerprint_changes_with_all_that_a_model_or_a_host_goes_by() -> None:
    def override(**options: Any) -> str:
        return print_of(open_world, **{"input_schema": SCHEMA, "output_schema": True, **options})

    described = {**SCHEMA, "description": "Said."}
    prints = [
        print_of(),
        *(
            print_of(**{option: "other"})
            for option in ("name", "description", "title", "revision")
        ),
        *(print_of(**{hint: value}) for hint in HINTS for value in (True, False)),
        override(),
        override(input_schema=described),
        override(output_schema=SCHEMA),
        override(output_schema={"type": "null"}),
        print_of(_with({"a": int})),
        print_of(_with({"a": str})),
        print_of(_with({"b": int})),
    ]
    assert len(set(prints)) == len(prints)


def _with(annotations: dict[str, type]) -> Callable[..., None]:
    (name,) = annotations

    def handler(a: int) -> None: ...
    def other(b: int) -> None: ...

    chosen = handler if name == "a" else other
    chosen.__annotations__ = {**annotations, "return": None}
    return chosen


def test_the_fingerprint_does_not_change_with_what_only_the_host_sees() -> None:
    def same() -> None:
        """Be another handler, with another text."""

    expected = print_of()
    assert print_of(same) == expected
    assert print_of(deadline=3) == expected
    assert print_of(output_limit=3) == expected
    assert print_of(title=None, read_only=None, input_schema=None) == expected
    reordered = {"properties": {"a": {"type": "string"}}, "type": "object", "$comment": "x"}
    assert print_of(open_world, input_schema=SCHEMA, output_schema=True) == print_of(
        open_world, input_schema=reordered, output_schema="{}"
    )


@pytest.mark.parametrize("hint", HINTS)
def test_unspecified_true_and_false_differ_on_the_wire(hint: str) -> None:
    on_wire = {"open_world": "openWorldHint"}.get(hint) or {
        "read_only": "readOnlyHint",
        "destructive": "destructiveHint",
        "idempotent": "idempotentHint",
    }[hint]

    def listed(**options: Any) -> Any:
        (one,) = Catalog([tool.define("t", "d", nothing, **options)]).listing()
        return one.get("annotations")

    assert listed() is None
    assert listed(**{hint: None}) is None
    assert listed(**{hint: True}) == {on_wire: True}
    assert listed(**{hint: False}) == {on_wire: False}


@pytest.mark.parametrize(
    ("claims", "named"),
    [
        ({"read_only": True, "destructive": True}, "destructive"),
        ({"read_only": True, "idempotent": False}, "idempotent"),
    ],
)
def test_claims_that_contradict_each_other_are_refused(claims: Any, named: str) -> None:
    with pytest.raises(DefinitionError, match="read_only") as caught:
        tool.define("t", "d", nothing, **claims)
    assert caught.value.parameter == named


def test_all_other_claims_go_together() -> None:
    for read_only in (None, True, False):
        for destructive in (None, False, *([True] if not read_only else [])):
            for idempotent in (None, True, *([False] if not read_only else [])):
                tool.define(
                    "t",
                    "d",
                    nothing,
                    read_only=read_only,
                    destructive=destructive,
                    idempotent=idempotent,
                    open_world=False,
                )


SCRIPT = """
from typing import Any
from toolcrib import tool
from toolcrib.runtime.tools.catalog import Catalog

def take(arguments: dict[str, Any]) -> Any: ...

names = {"b", "a", "d", "c"}
node = {"type": "object", "properties": {n: {"$ref": "#/$defs/" + n} for n in sorted(names)}}
node["$defs"] = {n: {"type": "array", "items": {"$ref": "#"}} for n in sorted(names)}
output = {"anyOf": [{"$ref": "#/$defs/b"}, {"type": "null"}], "$defs": node["$defs"]}
tools = [tool.define(n, "d", take, input_schema=node, output_schema=output) for n in names]
print(Catalog(tools).fingerprint)
"""


def test_the_fingerprint_of_given_schemas_is_the_same_in_every_process() -> None:
    prints = {
        subprocess.run(
            [sys.executable, "-c", SCRIPT],
            env=os.environ | {"PYTHONHASHSEED": seed},
            capture_output=True,
            text=True,
            timeout=30,
            check=True,
        ).stdout
        for seed in ("0", "1", "7")
    }
    assert len(prints) == 1
    assert prints.pop().startswith("sha256:")


def test_a_result_may_be_as_large_as_its_tools_limit_and_no_larger() -> None:
    def handler(n: int) -> str:
        return "x" * n

    small = tool.define("t", "d", handler, output_limit=10)
    assert small.output_limit == 10
    assert small.invoke({"n": 8}) == "x" * 8
    with pytest.raises(Exception, match="larger than 10 bytes"):
        small.invoke({"n": 9})
    hosted = [call(small, {"n": n}, Context("t"), output_limit=5) for n in (8, 9)]
    assert [one.ok for one in hosted] == [True, False]
    large = tool.define("t", "d", handler, output_limit=5_000_000)
    assert len(large.invoke({"n": 4_500_000})) == 4_500_000


@pytest.mark.parametrize("limit", [0, -1, True, 1.5, "5", float("inf")])
def test_a_limit_is_a_whole_number_of_bytes(limit: Any) -> None:
    with pytest.raises(DefinitionError, match="output_limit"):
        tool.define("t", "d", nothing, output_limit=limit)


def test_an_unknown_option_is_a_type_error_that_lists_the_known_ones() -> None:
    with pytest.raises(TypeError, match="'readonly'; it has .*read_only"):
        tool.define("t", "d", nothing, readonly=True)  # type: ignore[call-overload]
