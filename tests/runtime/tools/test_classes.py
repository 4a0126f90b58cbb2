"""Classes with named fields, of every kind."""

from __future__ import annotations

import sys
import typing
from dataclasses import KW_ONLY, dataclass, field
from types import ModuleType
from typing import (
    Annotated,
    Any,
    Generic,
    Literal,
    NamedTuple,
    NewType,
    NotRequired,
    Required,
    TypedDict,
    TypeVar,
)

import attrs
import pytest
import typing_extensions
from typed_tools import dumped, giving, loaded, schema_of, taking

from toolcrib import tool
from toolcrib.errors import DefinitionError, InvalidInputError, InvalidOutputError

T = TypeVar("T")
U = TypeVar("U")
D = typing_extensions.TypeVar("D", default=int)


@dataclass
class Box(Generic[T]):
    item: T
    more: list[Box[T]] = field(default_factory=list)


@dataclass
class Both(Box[U], Generic[T, U]):
    first: T | None = None


@dataclass
class Texts(Both[int, list[str]]):
    pass


@dataclass
class Defaulted(Generic[D]):
    item: D


@dataclass(frozen=True, slots=True)
class Keyword:
    a: int
    _: KW_ONLY
    b: str
    c: int = 1


class Pair(NamedTuple):
    """A pair.

    Attributes:
        first: The first.
    """

    first: int
    second: Later = "b"


class Single(NamedTuple, Generic[T]):
    item: T


class Base(TypedDict, total=False):
    a: Required[int]
    b: Later


class Derived(Base):
    c: NotRequired[int]
    d: Annotated[typing_extensions.ReadOnly[list[Base]], "Dees."]


class Page(TypedDict, Generic[T]):
    items: list[T]


class Extended(typing_extensions.TypedDict):
    a: typing_extensions.NotRequired[int]


@attrs.define
class Private:
    _key: int
    names: list[str] = attrs.field(factory=list, metadata={"description": "Names."})
    twice: int = attrs.field(default=attrs.Factory(lambda self: self._key * 2, takes_self=True))
    made: int = attrs.field(init=False, default=7)


@attrs.define
class Child(Private, Generic[T]):
    item: T | None = None


Later = str
Key = NewType("Key", str)
Pairs = typing_extensions.TypeAliasType("Pairs", "list[tuple[T, Later]]", type_params=(T,))


@pytest.mark.parametrize(
    ("kind", "plain", "value"),
    [
        (Box[int], {"item": 1, "more": [{"item": 2, "more": []}]}, Box(1, [Box(2)])),
        (Box[list[Key]], {"item": ["a"], "more": []}, Box(["a"])),
        (Box[Box[bool]], {"item": {"item": True, "more": []}, "more": []}, Box(Box(True))),
        (Both[int, str], {"item": "a", "more": [], "first": 1}, Both("a", [], 1)),
        (Texts, {"item": ["a"], "more": [], "first": None}, Texts(["a"])),
        (Defaulted, {"item": 1}, Defaulted(1)),
        (Keyword, {"a": 1, "b": "x", "c": 2}, Keyword(1, b="x", c=2)),
        (Pair, {"first": 1, "second": "x"}, Pair(1, "x")),
        (Single[Pair], {"item": {"first": 1, "second": "b"}}, Single(Pair(1))),
        (Base, {"a": 1}, {"a": 1}),
        (Derived, {"a": 1, "d": [{"a": 2, "b": "x"}]}, {"a": 1, "d": [{"a": 2, "b": "x"}]}),
        (Page[Pair], {"items": [{"first": 1, "second": "b"}]}, {"items": [Pair(1)]}),
        (Extended, {}, {}),
        (Pairs[int], [[1, "a"]], [(1, "a")]),
    ],
)
def test_each_kind_arrives_and_leaves_unchanged(kind: Any, plain: Any, value: Any) -> None:
    found = loaded(kind, plain)
    assert (repr(found), type(found)) == (repr(value), type(value))
    assert dumped(kind, value) == plain


@pytest.mark.parametrize(
    ("kind", "plain", "value"),
    [
        (Keyword, {"a": 1, "b": "x"}, Keyword(1, b="x")),
        (Pair, {"first": 1}, Pair(1)),
        (Private, {"key": 3}, Private(3)),
        (Private, {"key": 3, "names": ["a"], "twice": 5}, Private(3, ["a"], 5)),
        (Child[Pair], {"key": 3, "item": {"first": 1}}, Child(3, item=Pair(1))),
    ],
)
def test_defaults_are_those_of_the_class(kind: Any, plain: Any, value: Any) -> None:
    assert loaded(kind, plain) == value


@pytest.mark.parametrize(
    ("kind", "wrong"),
    [
        (Box[int], [{"item": "a"}, {"item": 1, "more": [{"item": "a"}]}, {}]),
        (Pair, [[1, "b"], {"second": "b"}, {"first": 1, "third": 1}]),
        (Base, [{}, {"a": "1"}, {"a": 1, "z": 1}]),
        (Derived, [{"a": 1}, {"a": 1, "d": [{}]}]),
        (Private, [{"_key": 1}, {"key": 1, "made": 1}, {"key": "1"}]),
    ],
)
def test_what_does_not_fit_is_refused(kind: Any, wrong: list[Any]) -> None:
    for plain in wrong:
        with pytest.raises(InvalidInputError):
            loaded(kind, plain)


@pytest.mark.parametrize(
    ("kind", "value", "reason"),
    [
        (Pair, (1, "b"), "not a Pair"),
        (Base, {"b": "x"}, "/a is missing"),
        (Base, {"a": 1, "z": 1}, "has a key"),
        (Base, [("a", 1)], "not a dict"),
        (Box[int], Box("a"), "/item is not an int"),
        (Private, Keyword(1, b="x"), "not a Private"),
    ],
)
def test_results_that_do_not_fit_are_refused(kind: Any, value: Any, reason: str) -> None:
    with pytest.raises(InvalidOutputError, match=reason):
        giving(kind, value).invoke({})


def test_attrs_results_have_all_fields_by_their_public_names() -> None:
    assert dumped(Private, Private(3)) == {"key": 3, "names": [], "twice": 6, "made": 7}
    names = schema_of(Private)["properties"]["names"]
    assert names["description"] == "Names. Default: []."
    assert "default" not in schema_of(Private)["properties"]["twice"]


def test_what_an_attrs_class_refuses_is_a_correction_without_its_words() -> None:
    @attrs.define
    class Range:
        low: int = attrs.field(validator=attrs.validators.gt(3))

    with pytest.raises(InvalidInputError, match="can't be used together"):
        loaded(Range, {"low": 1})


def test_typed_dicts_know_their_required_keys_although_annotations_are_texts() -> None:
    assert schema_of(Base)["required"] == ["a"]
    assert schema_of(Derived)["required"] == ["a", "d"]
    assert schema_of(Derived)["properties"]["d"]["description"] == "Dees."
    assert "required" not in schema_of(Extended)


@pytest.mark.parametrize("kind", [Keyword, Pair, Derived, Private, Box[int]], ids=str)
def test_the_fields_of_an_only_parameter_are_the_arguments(kind: Any) -> None:
    def handler(request: Any) -> None: ...

    handler.__annotations__["request"] = kind
    schema = tool.define("t", "d", handler).input_schema
    assert "request" not in schema["properties"]
    assert schema["properties"].keys() == _root(taking(kind)).keys()


def _root(made: tool.Tool) -> dict[str, Any]:
    schema = made.input_schema["properties"]["value"]
    if "$ref" in schema:
        schema = made.input_schema["$defs"][schema["$ref"].rpartition("/")[2]]
    properties: dict[str, Any] = schema["properties"]
    return properties


def test_local_generic_classes_mean_themselves() -> None:
    @dataclass
    class Tree(Generic[T]):
        leaf: T
        inner: Tree[T] | None = None

    found = loaded(Tree[int], {"leaf": 1, "inner": {"leaf": 2}})
    assert found == Tree(1, Tree(2))
    with pytest.raises(InvalidInputError):
        loaded(Tree[int], {"leaf": "a"})


def test_a_generic_class_that_grows_without_end_is_refused() -> None:
    @dataclass
    class Growing(Generic[T]):
        next: Growing[list[T]] | None = None

    with pytest.raises(DefinitionError, match="flatter"):
        taking(Growing[int])


def test_aliases_name_parameters_and_fields_in_json_only() -> None:
    @dataclass
    class Inner:
        class_: Annotated[str, tool.Alias("class")]
        kind: str = field(default="k", metadata={"alias": "type"})
        old: int = field(default=1, metadata={"data_key": "x-old", "description": "Old."})

    def handler(from_: Annotated[str, "Where.", tool.Alias("from")], inner: Inner) -> Inner:
        assert from_ == "here"
        return inner

    made = tool.define("t", "d", handler)
    properties = made.input_schema["properties"]
    assert list(properties) == ["from", "inner"]
    assert properties["from"]["description"] == "Where."
    assert list(properties["inner"]["properties"]) == ["class", "type", "x-old"]
    assert properties["inner"]["properties"]["x-old"]["description"] == "Old. Default: 1."
    result = made.invoke({"from": "here", "inner": {"class": "a", "type": "b"}})
    assert result == {"class": "a", "type": "b", "x-old": 1}
    with pytest.raises(InvalidInputError, match='unknown field "from_"'):
        made.invoke({"from_": "here", "inner": {"class": "a"}})
    with pytest.raises(InvalidInputError, match="/inner/class: must be a string"):
        made.invoke({"from": "here", "inner": {"class": 1}})


def test_two_fields_of_one_json_name_and_names_that_are_none_are_refused() -> None:
    def twice(a: int, b: Annotated[int, tool.Alias("a")]) -> None: ...

    with pytest.raises(DefinitionError, match="two fields have the JSON name 'a'"):
        tool.define("t", "d", twice)
    wrong: list[Any] = ["", "a\n", 5]
    for name in wrong:
        kind = typing.Annotated[int, tool.Alias(name)]

        def handler(a: Any, b: int) -> None: ...

        handler.__annotations__["a"] = kind
        with pytest.raises(DefinitionError, match="a: "):
            tool.define("t", "d", handler)


def test_an_alias_of_the_parameter_that_takes_all_arguments_is_refused() -> None:
    def handler(request: Annotated[Keyword, tool.Alias("r")]) -> None: ...

    with pytest.raises(DefinitionError, match="Alias"):
        tool.define("t", "d", handler)


def test_parameters_may_have_the_names_of_anything() -> None:
    def handler(
        _id: int, schema: int, json: int, copy: int, model_config: int, class_: int, load: int
    ) -> list[int]:
        return [_id, schema, json, copy, model_config, class_, load]

    made = tool.define("t", "d", handler)
    names = ["_id", "schema", "json", "copy", "model_config", "class_", "load"]
    assert list(made.input_schema["properties"]) == names
    assert made.invoke({name: number for number, name in enumerate(names)}) == list(range(7))


def test_fields_may_have_the_names_of_anything() -> None:
    @dataclass
    class Odd:
        self: int
        cls: int
        _id: int
        make: int
        data: int
        kind: Literal["x"] = "x"

    plain = {"self": 1, "cls": 2, "_id": 3, "make": 4, "data": 5, "kind": "x"}
    assert dumped(Odd, loaded(Odd, plain)) == plain


def test_inherited_keys_mean_what_they_meant_in_their_own_module(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    module: Any = ModuleType("elsewhere")
    monkeypatch.setitem(sys.modules, "elsewhere", module)
    source = """
from __future__ import annotations
from typing import TypedDict
Later = int
class Base(TypedDict):
    a: Later
"""
    exec(source, module.__dict__)  # noqa: S102 - a module of its own, without a file

    class Here(module.Base):  # type: ignore[misc]
        b: Later

    assert loaded(Here, {"a": 1, "b": "x"}) == {"a": 1, "b": "x"}
