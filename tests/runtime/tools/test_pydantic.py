"""Pydantic models: their own schema made portable, their own validation, strict."""

from __future__ import annotations

import datetime as dt
import enum
import math
from decimal import Decimal
from typing import Annotated, Any, Generic, Literal, TypeVar

import pydantic
import pytest
from typed_tools import dumped, giving, loaded, schema_of, taking

from toolcrib import tool
from toolcrib.errors import DefinitionError, InvalidInputError, InvalidOutputError

T = TypeVar("T")


class Color(enum.Enum):
    RED = "red"


class Cat(pydantic.BaseModel):
    kind: Literal["cat"] = "cat"
    lives: int


class Dog(pydantic.BaseModel):
    kind: Literal["dog"] = "dog"
    name: str


class Owner(pydantic.BaseModel):
    """Who owns."""

    name: str = pydantic.Field(alias="full-name", min_length=2, description="The name.")
    pet: Annotated[Cat | Dog, pydantic.Field(discriminator="kind")]
    color: Color = Color.RED
    pair: tuple[int, str] = (1, "a")
    price: Decimal = Decimal("1.10")
    since: dt.datetime | None = None
    friends: list[Owner] = []


class Page(pydantic.BaseModel, Generic[T]):
    items: list[T]


class Root(pydantic.RootModel[list[int]]):
    pass


class Numbers(pydantic.BaseModel):
    whole: int = 0
    part: float = 0.0
    flag: bool = False


@pydantic.dataclasses.dataclass
class Point:
    x: int
    y: int = pydantic.Field(default=1, gt=0)


OWNER = {
    "full-name": "Ann",
    "pet": {"kind": "cat", "lives": 9},
    "color": "red",
    "pair": [2, "b"],
    "price": "1.10",
    "since": "2026-01-31T09:30:00Z",
    "friends": [
        {
            "full-name": "Bob",
            "pet": {"kind": "dog", "name": "Rex"},
            "color": "red",
            "pair": [1, "a"],
            "price": "1.10",
            "since": None,
            "friends": [],
        }
    ],
}


@pytest.mark.parametrize(
    ("kind", "plain"),
    [
        (Owner, OWNER),
        (Page[Cat], {"items": [{"kind": "cat", "lives": 1}]}),
        (Root, [1, 2]),
        (Point, {"x": 1, "y": 2}),
        (Numbers, {"whole": 2**70, "part": 0.5, "flag": True}),
        (list[Point], [{"x": 1, "y": 2}]),
    ],
)
def test_models_arrive_as_models_and_leave_unchanged(kind: Any, plain: Any) -> None:
    value = loaded(kind, plain)
    assert value == pydantic.TypeAdapter(kind).validate_python(plain)
    assert dumped(kind, value) == plain


def test_the_schema_is_the_models_own_in_the_portable_subset() -> None:
    def handler(owner: Owner) -> None: ...

    schema = tool.define("t", "d", handler).input_schema
    assert schema["type"] == "object"
    assert schema["required"] == ["full-name", "pet"]
    assert schema["additionalProperties"] is False
    properties = schema["properties"]
    assert properties["full-name"] == {
        "type": "string",
        "minLength": 2,
        "description": "The name. Length at least 2.",
    }
    assert properties["pet"] == {
        "anyOf": [
            {
                "type": "object",
                "properties": {
                    "kind": {
                        "type": "string",
                        "enum": ["cat"],
                        "default": "cat",
                        "description": 'Default: "cat".',
                    },
                    "lives": {"type": "integer"},
                },
                "required": ["lives", "kind"],
                "additionalProperties": False,
            },
            {
                "type": "object",
                "properties": {
                    "kind": {
                        "type": "string",
                        "enum": ["dog"],
                        "default": "dog",
                        "description": 'Default: "dog".',
                    },
                    "name": {"type": "string"},
                },
                "required": ["name", "kind"],
                "additionalProperties": False,
            },
        ]
    }
    assert properties["color"]["enum"] == ["red"]
    assert properties["pair"]["items"] == {"anyOf": [{"type": "integer"}, {"type": "string"}]}
    assert properties["since"]["anyOf"][0]["format"] == "date-time"
    assert properties["friends"]["items"] == {"$ref": "#/$defs/Owner"}
    assert list(schema["$defs"]) == ["Owner"]


@pytest.mark.parametrize(
    ("kind", "wrong"),
    [
        (Numbers, [{"whole": "5"}, {"whole": True}, {"whole": 5.9}, {"part": "1"}, {"flag": 1}]),
        (Numbers, [{"flag": "yes"}, {"more": 1}, {"whole": None}, []]),
        (Point, [{"x": 1, "y": 0}, {"x": 1, "z": 1}, {}]),
        (Owner, [{**OWNER, "pet": {"lives": 9}}, {**OWNER, "pair": ["b", 2]}]),
        (Owner, [{**OWNER, "name": "Ann"}, {**OWNER, "since": "2026-01-31T09:30:00"}]),
        (Root, [{}, ["1"]]),
    ],
)
def test_nothing_is_coerced_and_unknown_fields_are_refused(kind: Any, wrong: list[Any]) -> None:
    for plain in wrong:
        with pytest.raises(InvalidInputError):
            loaded(kind, plain)


def test_a_whole_number_with_a_point_is_an_int() -> None:
    assert repr(loaded(Numbers, {"whole": 5.0})) == "Numbers(whole=5, part=0.0, flag=False)"


def test_extra_fields_are_as_the_model_says() -> None:
    class Open(pydantic.BaseModel):
        model_config = pydantic.ConfigDict(extra="allow")
        a: int

    class Deaf(pydantic.BaseModel):
        model_config = pydantic.ConfigDict(extra="ignore")
        a: int

    assert loaded(Open, {"a": 1, "b": 2}).b == 2
    assert loaded(Deaf, {"a": 1, "b": 2}) == Deaf(a=1)


def test_what_a_validator_refuses_is_told_without_its_words() -> None:
    class Checked(pydantic.BaseModel):
        a: list[int]

        @pydantic.field_validator("a")
        @classmethod
        def _check(cls, value: list[int]) -> list[int]:
            msg = f"secret {value}"
            raise ValueError(msg)

    with pytest.raises(InvalidInputError) as caught:
        loaded(Checked, {"a": [1]})
    assert str(caught.value) == "/value/a: does not meet the rule value_error of its model"


@pytest.mark.parametrize(
    ("kind", "value"),
    [
        (Numbers, {"whole": 1}),
        (Numbers, Cat(lives=1)),
        (Numbers, Numbers.model_construct(whole="1")),
        (Numbers, Numbers(part=math.nan)),
        (Owner, Owner.model_construct()),
    ],
)
def test_results_that_do_not_fit_are_refused(kind: Any, value: Any) -> None:
    with pytest.raises(InvalidOutputError):
        giving(kind, value).invoke({})


def test_computed_fields_are_in_results_only() -> None:
    class Square(pydantic.BaseModel):
        side: int

        @pydantic.computed_field  # type: ignore[prop-decorator]
        @property
        def area(self) -> int:
            return self.side**2

    assert list(schema_of(Square)["properties"]) == ["side"]
    assert dumped(Square, Square(side=3)) == {"side": 3, "area": 9}


def test_fields_that_say_nothing_or_have_no_schema_are_refused() -> None:
    class Anything(pydantic.BaseModel):
        a: Any

    class Nothing(pydantic.BaseModel):
        model_config = pydantic.ConfigDict(arbitrary_types_allowed=True)
        a: type(taking)  # type: ignore[valid-type]

    class Incomplete(pydantic.BaseModel):
        a: Missing  # type: ignore[name-defined]  # noqa: F821

    with pytest.raises(DefinitionError, match="value: a says nothing"):
        taking(Anything)
    with pytest.raises(DefinitionError, match="value: Incomplete is no complete model"):
        taking(Incomplete)
    with pytest.raises(DefinitionError, match="value: "):
        taking(Nothing)


def test_models_of_one_shape_are_told_apart_in_unions() -> None:
    assert loaded(Cat | Dog, {"kind": "dog", "name": "Rex"}) == Dog(name="Rex")
    assert loaded(Cat | str, "x") == "x"
    assert dumped(Cat | Dog, Dog(name="Rex")) == {"kind": "dog", "name": "Rex"}
    with pytest.raises(InvalidInputError):
        loaded(Cat | Dog, {"name": "Rex"})


def test_models_are_told_apart_by_fields_that_pydantic_alone_would_pass_over() -> None:
    class Narrow(pydantic.BaseModel):
        a: int

    class Wide(pydantic.BaseModel):
        a: int
        b: int

    assert loaded(Narrow | Wide, {"a": 1, "b": 2}) == Wide(a=1, b=2)
    assert loaded(Wide | Narrow, {"a": 1}) == Narrow(a=1)


class Positive(pydantic.BaseModel):
    value: int = pydantic.Field(gt=0, le=9, description="How many.")


class Word(pydantic.BaseModel):
    text: str = pydantic.Field(min_length=2, max_length=9)


class Listed(pydantic.RootModel[list[int]]): ...


class Wrapped(pydantic.RootModel[Positive]): ...


def test_the_rules_of_a_field_are_in_its_words() -> None:
    assert schema_of(Positive)["properties"]["value"] == {
        "type": "integer",
        "exclusiveMinimum": 0,
        "maximum": 9,
        "description": "How many. Above 0. At most 9.",
    }
    assert schema_of(Word)["properties"]["text"]["description"] == (
        "Length at least 2. Length at most 9."
    )


def test_a_model_that_was_made_without_validation_is_no_result() -> None:
    with pytest.raises(InvalidOutputError, match="does not fit the schema of Positive"):
        giving(Positive, Positive.model_construct(value=-1)).invoke({})


def test_a_root_model_is_what_it_holds_and_no_more() -> None:
    assert schema_of(Listed) == {"type": "array", "items": {"type": "integer"}}
    assert schema_of(Wrapped) == schema_of(Positive)
    assert dumped(Wrapped, loaded(Wrapped, {"value": 1})) == {"value": 1}
    assert dumped(Listed, loaded(Listed, [1])) == [1]
