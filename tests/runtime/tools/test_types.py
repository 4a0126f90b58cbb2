"""Types as schemas, on the way in and on the way out."""

from __future__ import annotations

import enum
import json
import math
import typing
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Annotated, Any, Literal, NewType

import pytest

from toolcrib import tool
from toolcrib.errors import InvalidInputError, InvalidOutputError


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


@dataclass
class Left:
    right: Right | None = None


@dataclass
class Right:
    left: Left | None = None


Key = NewType("Key", str)


def taking(kind: Any, seen: list[Any] | None = None) -> tool.Tool:
    def handler(value: Any) -> None:
        if seen is not None:
            seen.append(value)

    handler.__annotations__["value"] = kind
    return tool.define("taking", "Takes a value.", handler)


def giving(kind: Any, value: Any = None) -> tool.Tool:
    def handler() -> Any:
        return value

    handler.__annotations__["return"] = kind
    return tool.define("giving", "Gives a value.", handler)


def nullable(schema: dict[str, Any]) -> dict[str, Any]:
    return {"anyOf": [schema, {"type": "null"}]}


POINT_IN = {
    "type": "object",
    "properties": {
        "x": {"type": "integer"},
        "y": {"type": "number", "default": 0.5, "description": "Default: 0.5."},
    },
    "required": ["x"],
    "additionalProperties": False,
}

ROUND_TRIPS = [
    (str, {"type": "string"}, "é\x00", "é\x00"),
    (int, {"type": "integer"}, 10**40, 10**40),
    (float, {"type": "number"}, 2, 2.0),
    (bool, {"type": "boolean"}, True, True),
    (None, {"type": "null"}, None, None),
    (Key, {"type": "string"}, "k", "k"),
    (int | None, nullable({"type": "integer"}), None, None),
    (typing.Optional[int], nullable({"type": "integer"}), 3, 3),  # noqa: UP045
    (list[int], {"type": "array", "items": {"type": "integer"}}, [1, 2], [1, 2]),
    (
        dict[str, bool],
        {"type": "object", "additionalProperties": {"type": "boolean"}},
        {"a": True},
        {"a": True},
    ),
    (Color, {"type": "string", "enum": ["red", "blue"]}, "blue", Color.BLUE),
    (Level, {"type": "integer", "enum": [1, 2]}, 2, Level.HIGH),
    (Literal["a", "b"], {"type": "string", "enum": ["a", "b"]}, "b", "b"),
    (Literal[1, 2], {"type": "integer", "enum": [1, 2]}, 1, 1),
    (
        Literal["a", None],  # noqa: PYI061 - both spellings should work
        nullable({"type": "string", "enum": ["a"]}),
        None,
        None,
    ),
    (Annotated[int, "Text."], {"type": "integer", "description": "Text."}, 1, 1),
]


@pytest.mark.parametrize(("kind", "schema", "plain", "value"), ROUND_TRIPS)
def test_each_type_has_its_schema_and_arrives_as_its_value(
    kind: Any, schema: Any, plain: Any, value: Any
) -> None:
    seen: list[Any] = []
    made = taking(kind, seen)
    assert made.input_schema == {
        "type": "object",
        "properties": {"value": schema},
        "required": ["value"],
        "additionalProperties": False,
    }
    made.invoke({"value": plain})
    assert seen == [value]
    assert type(seen[0]) is type(value)


@pytest.mark.parametrize(("kind", "schema", "plain", "value"), ROUND_TRIPS)
def test_each_type_leaves_as_its_schema_says(
    kind: Any, schema: Any, plain: Any, value: Any
) -> None:
    made = giving(kind, value)
    bare_object = schema.get("type") == "object"
    assert made.output_schema == (
        schema
        if bare_object
        else {
            "type": "object",
            "properties": {"result": schema},
            "required": ["result"],
            "additionalProperties": False,
        }
    )
    assert json.dumps(made.invoke({})) == json.dumps(value if kind is float else plain)


@pytest.mark.parametrize(
    ("kind", "wrong"),
    [
        (str, [5, None, True, ["a"]]),
        (int, ["5", True, 5.9, None, "null", [1]]),
        (float, ["5", True, None, math.nan, math.inf]),
        (bool, ["yes", 1, 0, None, "true"]),
        (int | None, ["5", 5.5, "null", False]),
        (list[int], ["[1,2]", [1, "2"], {"0": 1}, None]),
        (dict[str, int], [[["a", 1]], {"a": "1"}, "{}"]),
        (Color, ["RED", "green", None, 0]),
        (Level, [3, "1", True, 1.5]),
        (Literal["a"], ["b", None, 1]),
        (Literal[1], ["1", True, 2]),
        (Point, [{"x": "1"}, {}, {"x": 1, "z": 2}, [1, 2], "x"]),
    ],
)
def test_nothing_is_coerced(kind: Any, wrong: list[Any]) -> None:
    made = tool.define("t", "d", _two(kind))
    for value in wrong:
        with pytest.raises(InvalidInputError):
            made.invoke({"value": value, "other": 1})


def _two(kind: Any) -> Callable[..., None]:
    # Two parameters, so that a dataclass is one of the arguments and not all of them.
    def handler(value: Any, other: int) -> None:
        raise AssertionError((value, other))

    handler.__annotations__["value"] = kind
    return handler


def test_a_whole_number_with_a_point_is_an_int() -> None:
    seen: list[Any] = []
    taking(int, seen).invoke({"value": 5.0})
    assert repr(seen) == "[5]"


def test_a_text_that_looks_like_json_stays_a_text() -> None:
    seen: list[Any] = []
    taking(str, seen).invoke({"value": "[1]"})
    assert seen == ["[1]"]


def test_the_fields_of_a_single_dataclass_are_the_arguments() -> None:
    seen: list[Point] = []

    def handler(request: Point, call: tool.Context) -> Point:
        seen.append(request)
        return request

    made = tool.define("t", "d", handler)
    assert made.input_schema == POINT_IN
    assert made.output_schema["required"] == ["x", "y"]
    assert "default" not in made.output_schema["properties"]["y"]
    assert made.invoke({"x": 1}) == {"x": 1, "y": 0.5}
    assert seen == [Point(1, 0.5)]


def test_a_dataclass_beside_another_parameter_is_nested_and_inlined() -> None:
    def handler(a: Point, b: list[Point], c: Point | None = None) -> list[Point]:
        return [a, *b, *([c] if c else [])]

    made = tool.define("t", "d", handler)
    properties = made.input_schema["properties"]
    assert properties["a"] == properties["b"]["items"] == POINT_IN
    assert "$defs" not in made.input_schema
    assert made.invoke({"a": {"x": 1}, "b": [{"x": 2}], "c": {"x": 3, "y": 1}}) == [
        {"x": 1, "y": 0.5},
        {"x": 2, "y": 0.5},
        {"x": 3, "y": 1.0},
    ]


def test_a_recursive_dataclass_is_an_object_at_the_root_with_defs() -> None:
    def handler(tree: Node) -> Node:
        return Node(tree.name, [*tree.kids, Node("new")])

    made = tool.define("t", "d", handler)
    for schema in (made.input_schema, made.output_schema):
        assert schema["type"] == "object"
        assert schema["properties"]["kids"]["items"] == {"$ref": "#/$defs/Node"}
        assert list(schema["$defs"]) == ["Node"]
    assert made.invoke({"name": "a", "kids": [{"name": "b"}]}) == {
        "name": "a",
        "kids": [{"name": "b", "kids": []}, {"name": "new", "kids": []}],
    }
    with pytest.raises(InvalidInputError, match="/kids/0/name: must be a string"):
        made.invoke({"name": "a", "kids": [{"name": 1}]})


def test_types_that_refer_to_each_other_work_in_any_place() -> None:
    def handler(left: Left, right: Right, more: list[Right]) -> list[Left]:
        return [left, Left(right), *(Left(one) for one in more)]

    made = tool.define("t", "d", handler)
    arguments = {"left": {"right": {"left": {}}}, "right": {}, "more": [{"left": {"right": {}}}]}
    assert made.invoke(arguments) == [
        {"right": {"left": {"right": None}}},
        {"right": {"left": None}},
        {"right": {"left": {"right": {"left": None}}}},
    ]
    assert made.output_schema["type"] == "object"


def test_two_recursive_classes_of_one_name_are_kept_apart() -> None:
    def other() -> type:
        @dataclass
        class Node:
            number: int
            next: Node | None = None

        return Node

    def handler(a: Node, b: Any) -> None: ...

    handler.__annotations__["b"] = other()
    schema = tool.define("t", "d", handler).input_schema
    assert sorted(schema["$defs"]) == ["Node", "Node_2"]
    assert schema["properties"]["b"] == {"$ref": "#/$defs/Node_2"}


def test_fields_that_are_not_given_are_in_results_only() -> None:
    @dataclass
    class Sum:
        a: int
        double: int = field(init=False)

        def __post_init__(self) -> None:
            self.double = self.a * 2

    def handler(request: Sum) -> Sum:
        return request

    made = tool.define("t", "d", handler)
    assert list(made.input_schema["properties"]) == ["a"]
    assert made.invoke({"a": 2}) == {"a": 2, "double": 4}


def test_field_texts_come_from_the_dataclass() -> None:
    @dataclass
    class Request:
        """A request.

        Attributes:
            key: The key.
            count: How many.
        """

        key: str
        count: Annotated[int, "Annotated wins."] = 3

    properties = taking(Request).input_schema["properties"]
    assert properties["key"]["description"] == "The key."
    assert properties["count"]["description"] == "Annotated wins. Default: 3."


@pytest.mark.parametrize(
    ("kind", "value"),
    [
        (str, 1),
        (int, "5"),
        (int, True),
        (int, 5.0),
        (float, "x"),
        (float, math.nan),
        (float, -math.inf),
        (float, 10**400),
        (bool, 1),
        (None, 0),
        (list[int], (1, 2)),
        (list[int], {1}),
        (list[int], ["a"]),
        (dict[str, int], {1: 2}),
        (dict[str, int], [("a", 1)]),
        (Color, "red"),
        (Literal["a"], "b"),
        (Point, {"x": 1, "y": 2}),
        (Point, Point("1")),  # type: ignore[arg-type]
        (str, "\ud800"),
        (dict[str, int], {"\ud800": 1}),
    ],
)
def test_a_result_of_another_type_is_an_invalid_output(kind: Any, value: Any) -> None:
    with pytest.raises(InvalidOutputError, match="tool giving"):
        giving(kind, value).invoke({})


def test_a_number_of_too_many_digits_is_an_invalid_output() -> None:
    with pytest.raises(InvalidOutputError, match="digits"):
        giving(int, 10**5000).invoke({})


def test_a_result_that_contains_itself_is_an_invalid_output() -> None:
    tree = Node("a")
    tree.kids.append(tree)
    with pytest.raises(InvalidOutputError):
        giving(Node, tree).invoke({})


def test_a_result_that_is_too_deep_or_lacks_a_field_is_an_invalid_output() -> None:
    tree = Node("a")
    for _ in range(40):
        tree = Node("a", [tree])
    with pytest.raises(InvalidOutputError, match="nests too deeply"):
        giving(Node, tree).invoke({})
    point = Point(1)
    del point.x
    with pytest.raises(InvalidOutputError):
        giving(Point, point).invoke({})


def test_an_invalid_output_tells_where_it_is() -> None:
    with pytest.raises(InvalidOutputError, match="/kids/1/name is not a str"):
        giving(Node, Node("a", [Node("b"), Node(3)])).invoke({})  # type: ignore[arg-type]
