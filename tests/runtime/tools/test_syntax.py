"""The same types in the syntax of each Python version, as source that this one can read.

From 3.12 there are ``type`` statements and brackets behind the names of classes and
functions, from 3.13 defaults of type variables, and from 3.14 annotations that wait.
"""

from __future__ import annotations

import importlib.util
import itertools
import sys
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

from toolcrib import tool
from toolcrib.errors import DefinitionError, InvalidInputError

_IMPORTS = """
from dataclasses import dataclass
from typing import Annotated, Generic
import attrs
import pydantic
from typing_extensions import NamedTuple, TypeAliasType, TypedDict, TypeVar
from toolcrib import tool
"""

_OLD = """
T = TypeVar("T")
U = TypeVar("U")
D = TypeVar("D", default=int)
E = TypeVar("E", default=list[D])
N = TypeVar("N", default=None)

Key = TypeAliasType("Key", Annotated[str, "The key."])
Ahead = TypeAliasType("Ahead", "list[Later]")
Tree = TypeAliasType("Tree", "dict[str, Tree] | int")
Pairs = TypeAliasType("Pairs", list[tuple[T, int]], type_params=(T,))
Deep = TypeAliasType("Deep", "list[Deep[T]] | T", type_params=(T,))
Flipped = TypeAliasType("Flipped", tuple[U, T], type_params=(T, U))
Twice = TypeAliasType("Twice", Flipped[T, list[T]], type_params=(T,))
Many = TypeAliasType("Many", list[D], type_params=(D,))
Both = TypeAliasType("Both", tuple[D, E], type_params=(D, E))

@dataclass
class Box(Generic[T]):
    value: T

@dataclass
class Two(Generic[T, U]):
    first: T
    second: U

@dataclass
class Turned(Two[U, T], Generic[T, U]):
    pass

@dataclass
class Sub(Box[list[U]], Generic[U]):
    more: U

@dataclass
class Node(Generic[T]):
    value: T
    rest: "Node[T] | None" = None

@dataclass
class Crate(Generic[D, E]):
    value: D
    rest: E

@dataclass
class Void(Generic[N]):
    value: N

class Entry(TypedDict, Generic[T]):
    value: T

class Row(NamedTuple, Generic[T]):
    value: T

class Model(pydantic.BaseModel, Generic[T]):
    value: T

@attrs.define
class Made(Generic[T]):
    value: T

def first(values: list[T]) -> T:
    return values[0]

def local():
    Here = TypeAliasType("Here", "list[Inner]")

    @dataclass
    class Inner:
        n: int

    @tool.define
    def handler(value: Here) -> str:
        "Take it."
        return repr([one.n for one in value])

    return handler
"""

_NEW = """
type Key = Annotated[str, "The key."]
type Ahead = list[Later]
type Tree = dict[str, Tree] | int
type Pairs[T] = list[tuple[T, int]]
type Deep[T] = list[Deep[T]] | T
type Flipped[T, U] = tuple[U, T]
type Twice[T] = Flipped[T, list[T]]

@dataclass
class Box[T]:
    value: T

@dataclass
class Two[T, U]:
    first: T
    second: U

@dataclass
class Turned[T, U](Two[U, T]):
    pass

@dataclass
class Sub[U](Box[list[U]]):
    more: U

@dataclass
class Node[T]:
    value: T
    rest: "Node[T] | None" = None

class Entry[T](TypedDict):
    value: T

class Row[T](NamedTuple):
    value: T

class Model[T](pydantic.BaseModel):
    value: T

@attrs.define
class Made[T]:
    value: T

def first[T](values: list[T]) -> T:
    return values[0]

def local():
    type Here = list[Inner]

    @dataclass
    class Inner:
        n: int

    @tool.define
    def handler(value: Here) -> str:
        "Take it."
        return repr([one.n for one in value])

    return handler
"""

_NEW_DEFAULTS = """
type Many[D = int] = list[D]
type Both[D = int, E = list[D]] = tuple[D, E]

@dataclass
class Crate[D = int, E = list[D]]:
    value: D
    rest: E

@dataclass
class Void[N = None]:
    value: N
"""

_OLD_DEFAULTS = _OLD[_OLD.index("D = ") : _OLD.index("\nKey = ")] + "".join(
    part + "\n"
    for part in _OLD.split("\n\n")
    if part.startswith(("@dataclass\nclass Crate", "@dataclass\nclass Void"))
)
_OLD_ALIASES = """
Many = TypeAliasType("Many", list[D], type_params=(D,))
Both = TypeAliasType("Both", tuple[D, E], type_params=(D, E))
"""

_LATER = """
@dataclass
class Later:
    n: int
"""

_AS_TEXTS = "from __future__ import annotations"


def _dialects() -> dict[str, str]:
    """Return the sources that this interpreter can read."""
    old = _IMPORTS + _OLD + _LATER
    found = {"old": old, "old, as texts": _AS_TEXTS + old}
    if sys.version_info >= (3, 12):
        new = _IMPORTS + _NEW + _OLD_DEFAULTS + _OLD_ALIASES + _LATER
        found |= {"3.12": new, "3.12, as texts": _AS_TEXTS + new}
    if sys.version_info >= (3, 13):
        new = _IMPORTS + _NEW + _NEW_DEFAULTS + _LATER
        found |= {"3.13": new, "3.13, as texts": _AS_TEXTS + new}
        waiting = new.replace('"Node[T] | None"', "Node[T] | None")
        is_waiting = sys.version_info >= (3, 14)
        found["3.14"] = waiting if is_waiting else _AS_TEXTS + waiting
    return found


_SOURCES = _dialects()
_NUMBERS = itertools.count()


@pytest.fixture(params=_SOURCES)
def types(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[ModuleType]:
    name = f"syntax_{next(_NUMBERS)}"
    path = tmp_path / f"{name}.py"
    path.write_text(_SOURCES[request.param])
    spec = importlib.util.spec_from_file_location(name, path)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[name] = module  # where names of classes are looked up
    spec.loader.exec_module(module)
    yield module
    del sys.modules[name]


def taking(types: ModuleType, annotation: str) -> tool.Tool:
    """Return a tool, defined in the module, that tells what its argument became."""
    source = (
        "@tool.define\n"
        f"def seen(value: {annotation}, other: int = 0) -> tuple[{annotation}, str]:\n"
        "    'See.'\n"
        "    return value, repr(value)\n"
    )
    exec(source, vars(types))  # noqa: S102 - a line more of the module
    made: tool.Tool = types.seen
    return made


def an_array(items: dict[str, Any]) -> dict[str, Any]:
    return {"type": "array", "items": items}


def an_object(**properties: dict[str, Any]) -> dict[str, Any]:
    return {
        "type": "object",
        "properties": properties,
        "required": list(properties),
        "additionalProperties": False,
    }


INTEGER = {"type": "integer"}


@pytest.mark.parametrize(
    ("annotation", "schema", "value", "seen", "wrong"),
    [
        ("Key", {"type": "string", "description": "The key."}, "a", "'a'", 1),
        ("Ahead", an_array(an_object(n=INTEGER)), [{"n": 1}], "[Later(n=1)]", [1]),
        ("Tree", None, {"a": {"b": 1}}, "{'a': {'b': 1}}", {"a": {"b": "1"}}),
        ("Pairs[str]", None, [["a", 1]], "[('a', 1)]", [[1, 1]]),
        ("Deep[int]", None, [[1], 2], "[[1], 2]", [["1"]]),
        ("Twice[int]", None, [[1], 2], "([1], 2)", [1, [2]]),
        ("Many", an_array(INTEGER), [1], "[1]", ["1"]),
        ("Many[str]", an_array({"type": "string"}), ["1"], "['1']", [1]),
        ("Both", None, [1, [2]], "(1, [2])", [1, ["2"]]),
        ("Both[str]", None, ["1", ["2"]], "('1', ['2'])", ["1", [2]]),
        ("Both[str, int]", None, ["1", 2], "('1', 2)", ["1", ["2"]]),
        ("Box[int]", an_object(value=INTEGER), {"value": 1}, "Box(value=1)", {"value": "1"}),
        (
            "Box[Pairs[int]]",
            None,
            {"value": [[1, 2]]},
            "Box(value=[(1, 2)])",
            {"value": [["1", 2]]},
        ),
        (
            "Turned[int, str]",
            an_object(first={"type": "string"}, second=INTEGER),
            {"first": "1", "second": 2},
            "Turned(first='1', second=2)",
            {"first": 1, "second": "2"},
        ),
        (
            "Sub[int]",
            an_object(value=an_array(INTEGER), more=INTEGER),
            {"value": [1], "more": 2},
            "Sub(value=[1], more=2)",
            {"value": ["1"], "more": 2},
        ),
        (
            "Node[int]",
            None,
            {"value": 1, "rest": {"value": 2, "rest": None}},
            "Node(value=1, rest=Node(value=2, rest=None))",
            {"value": 1, "rest": {"value": "2"}},
        ),
        (
            "Crate",
            an_object(value=INTEGER, rest=an_array(INTEGER)),
            {"value": 1, "rest": [2]},
            "Crate(value=1, rest=[2])",
            {"value": 1, "rest": ["2"]},
        ),
        (
            "Crate[str]",
            an_object(value={"type": "string"}, rest=an_array({"type": "string"})),
            {"value": "1", "rest": ["2"]},
            "Crate(value='1', rest=['2'])",
            {"value": "1", "rest": [2]},
        ),
        (
            "Void",
            an_object(value={"type": "null"}),
            {"value": None},
            "Void(value=None)",
            {"value": 0},
        ),
        ("Entry[int]", an_object(value=INTEGER), {"value": 1}, "{'value': 1}", {"value": "1"}),
        ("Row[int]", an_object(value=INTEGER), {"value": 1}, "Row(value=1)", {"value": "1"}),
        (
            "Model[int]",
            an_object(value=INTEGER),
            {"value": 1},
            "Model[int](value=1)",
            {"value": "1"},
        ),
        ("Made[int]", an_object(value=INTEGER), {"value": 1}, "Made(value=1)", {"value": "1"}),
    ],
)
def test_a_type_means_the_same_in_every_syntax(
    types: ModuleType,
    annotation: str,
    schema: dict[str, Any] | None,
    value: Any,
    seen: str,
    wrong: Any,
) -> None:
    made = taking(types, annotation)
    if schema is not None:
        assert made.input_schema["properties"]["value"] == schema
    assert made.invoke({"value": value}) == [value, seen]
    with pytest.raises(InvalidInputError, match="/value"):
        made.invoke({"value": wrong})


@pytest.mark.parametrize("annotation", ["Pairs", "Key[int]", "Twice[int, str]"])
def test_an_alias_with_too_few_or_too_many_types_is_refused(
    types: ModuleType, annotation: str
) -> None:
    with pytest.raises(DefinitionError) as caught:
        taking(types, annotation)
    assert caught.value.tool == "seen"


def test_a_type_variable_that_nothing_decides_is_refused_by_name(types: ModuleType) -> None:
    with pytest.raises(DefinitionError, match="T is a type variable"):
        tool.define("first", "Give the first.", types.first)
    with pytest.raises(DefinitionError, match=r"Box\.value: ~?T is a type variable"):
        taking(types, "Box")


def test_an_alias_of_a_function_finds_the_classes_there(types: ModuleType) -> None:
    assert types.local().invoke({"value": [{"n": 1}, {"n": 2}]}) == "[1, 2]"
