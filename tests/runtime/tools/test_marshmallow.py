"""Marshmallow schemas: in JSON Schema for the model, by marshmallow for the handler."""

from __future__ import annotations

import datetime as dt
import enum
import uuid
from dataclasses import dataclass
from decimal import Decimal
from typing import Annotated, Any

import marshmallow
import pytest
from marshmallow import Schema, fields, validate
from typed_tools import dumped, giving, loaded, schema_of, taking

from toolcrib import tool
from toolcrib.errors import DefinitionError, InvalidInputError, InvalidOutputError


class Color(enum.Enum):
    RED = 1
    BLUE = 2


@dataclass
class Issue:
    key: str
    votes: int = 0


class IssueSchema(Schema):
    key = fields.String(
        required=True,
        data_key="issue-key",
        validate=[validate.Length(1, 9), validate.Regexp("[A-Z]+")],
        metadata={"description": "The key."},
    )
    votes = fields.Integer(load_default=0, validate=validate.Range(0, 9, max_inclusive=False))

    @marshmallow.post_load
    def _make(self, data: dict[str, Any], **_: Any) -> Issue:
        return Issue(**data)


class NodeSchema(Schema):
    name = fields.String(required=True)
    kids = fields.List(fields.Nested("NodeSchema"), load_default=list)


def one(field: Any) -> type[Schema]:
    return Schema.from_dict({"a": field}, name="One")


def test_a_schema_is_written_as_the_type_or_beside_it() -> None:
    def plain(issue: IssueSchema) -> None: ...

    def typed(issue: Annotated[Issue, IssueSchema()]) -> Annotated[Issue, IssueSchema]:
        assert issue == Issue("AB", 3)
        return issue

    made = tool.define("t", "d", typed)
    assert made.input_schema == tool.define("t", "d", plain).input_schema
    assert made.input_schema == {
        "type": "object",
        "properties": {
            "issue-key": {
                "type": "string",
                "minLength": 1,
                "maxLength": 9,
                "pattern": "^(?:[A-Z]+)",
                "description": (
                    "The key. Length at least 1. Length at most 9. Matches ^(?:[A-Z]+)."
                ),
            },
            "votes": {
                "type": "integer",
                "minimum": 0,
                "exclusiveMaximum": 9,
                "default": 0,
                "description": "At least 0. Below 9. Default: 0.",
            },
        },
        "required": ["issue-key"],
        "additionalProperties": False,
    }
    assert made.invoke({"issue-key": "AB", "votes": 3}) == {"issue-key": "AB", "votes": 3}


def test_an_instance_is_a_type_although_annotations_are_texts() -> None:
    schema = IssueSchema(only=["key"])

    def handler(issue: schema) -> None: ...  # type: ignore[valid-type]

    assert list(tool.define("t", "d", handler).input_schema["properties"]) == ["issue-key"]


UUID = uuid.UUID(int=5)


@pytest.mark.parametrize(
    ("field", "plain", "value"),
    [
        (fields.Boolean(), True, True),
        (fields.Float(), 1.5, 1.5),
        (fields.Integer(allow_none=True), None, None),
        (fields.Integer(as_string=True), "5", 5),
        (fields.Decimal(as_string=True), "1.10", Decimal("1.10")),
        (fields.UUID(), str(UUID), UUID),
        (fields.Email(), "a@example.com", "a@example.com"),
        (fields.Url(), "https://example.com/", "https://example.com/"),
        (
            fields.AwareDateTime(),
            "2026-01-31T09:30:00+00:00",
            dt.datetime(2026, 1, 31, 9, 30, tzinfo=dt.UTC),
        ),
        (
            fields.NaiveDateTime(),
            "2026-01-31T09:30:00",
            dt.datetime(2026, 1, 31, 9, 30),  # noqa: DTZ001
        ),
        (fields.Date(), "2026-01-31", dt.date(2026, 1, 31)),
        (fields.Date(format="%d.%m.%Y"), "31.01.2026", dt.date(2026, 1, 31)),
        (fields.Time(), "09:30:00", dt.time(9, 30)),
        (fields.TimeDelta(), 90.0, dt.timedelta(seconds=90)),
        (fields.Enum(Color), "RED", Color.RED),
        (fields.Enum(Color, by_value=True), 2, Color.BLUE),
        (fields.Constant("x"), "x", "x"),
        (fields.List(fields.Integer()), [1], [1]),
        (fields.Tuple([fields.Integer(), fields.String()]), [1, "a"], (1, "a")),
        (fields.Dict(fields.String(), fields.Integer()), {"x": 1}, {"x": 1}),
        (fields.Nested(IssueSchema), {"issue-key": "A", "votes": 1}, Issue("A", 1)),
        (fields.Nested(IssueSchema, many=True), [], []),
        (fields.Pluck(IssueSchema, "key", many=True), ["A"], [Issue("A", 0)]),
        (fields.String(validate=validate.OneOf(["a", "b"])), "b", "b"),
    ],
    ids=str,
)
def test_each_field_arrives_and_leaves_by_marshmallow(field: Any, plain: Any, value: Any) -> None:
    kind = one(field)
    assert loaded(kind, {"a": plain}) == {"a": value}
    assert dumped(kind, {"a": value}) == {"a": plain}


def test_a_recursive_schema_refers_to_itself() -> None:
    plain = {"name": "a", "kids": [{"name": "b", "kids": []}]}
    assert loaded(NodeSchema, plain) == plain
    assert dumped(NodeSchema, plain) == plain
    assert list(taking(NodeSchema).input_schema["$defs"]) == ["NodeSchema"]


def test_many_is_an_array() -> None:
    kind = Annotated[list[Issue], IssueSchema(many=True)]
    assert loaded(kind, [{"issue-key": "A"}]) == [Issue("A", 0)]
    assert schema_of(kind)["type"] == "array"


@pytest.mark.parametrize(
    ("field", "wrong"),
    [
        (fields.Integer(), ["5", True, 5.9, None]),
        (fields.Boolean(), ["yes", 1]),
        (fields.Float(), ["1"]),
        (fields.DateTime(), ["2026-01-31", "2026-01-31T09:30:00"]),
        (fields.Enum(Color), ["GREEN", 1]),
        (fields.List(fields.Integer(), validate=validate.Length(equal=1)), [[], [1, 2]]),
        (fields.Integer(validate=validate.Equal(3)), [4]),
        (fields.Integer(validate=validate.And(validate.Range(min=3))), [2]),
        (fields.String(validate=validate.Regexp("a", flags=2)), ["b"]),
        (fields.String(validate=validate.NoneOf(["a"])), ["a"]),
        (fields.Email(), ["nobody"]),
    ],
    ids=str,
)
def test_nothing_is_coerced_and_validators_hold(field: Any, wrong: list[Any]) -> None:
    for plain in wrong:
        with pytest.raises(InvalidInputError):
            loaded(one(field), {"a": plain})


def test_unknown_fields_are_as_the_schema_says() -> None:
    with pytest.raises(InvalidInputError, match='unknown field "z"'):
        loaded(IssueSchema, {"issue-key": "A", "z": 1})
    deaf = one(fields.Integer())(unknown=marshmallow.EXCLUDE)
    assert loaded(deaf, {"a": 1, "z": 1}) == {"a": 1}
    curious = one(fields.Integer())(unknown=marshmallow.INCLUDE)
    assert loaded(curious, {"a": 1, "z": 1}) == {"a": 1, "z": 1}


def test_fields_of_one_way_are_in_that_way_only() -> None:
    class Ways(Schema):
        seen = fields.Integer(dump_only=True, required=True)
        told = fields.Integer(load_only=True)

    assert list(schema_of(Ways)["properties"]) == ["told"]
    assert dumped(Ways, {"seen": 1, "told": 2}) == {"seen": 1}


def test_partial_schemas_require_nothing_or_not_all() -> None:
    class Two(Schema):
        a = fields.Integer(required=True)
        b = fields.Integer(required=True)

    assert "required" not in schema_of(Two(partial=True))
    assert schema_of(Two(partial=("a",)))["required"] == ["b"]


def test_what_a_validator_refuses_is_told_without_its_words() -> None:
    def check(value: int) -> None:
        msg = f"secret {value}"
        raise marshmallow.ValidationError(msg)

    kind = one(fields.List(fields.Integer(validate=check)))
    with pytest.raises(InvalidInputError) as caught:
        loaded(kind, {"a": [1]})
    text = "/value/a/0: is refused by a validator of its marshmallow schema"
    assert str(caught.value) == text


@pytest.mark.parametrize(
    ("kind", "value"),
    [
        (IssueSchema, {"votes": 1}),
        (IssueSchema, Issue("A", "many")),  # type: ignore[arg-type]
        (IssueSchema, Issue("A", 10)),
        (IssueSchema, 5),
        (one(fields.DateTime()), {"a": dt.datetime(2026, 1, 1)}),  # noqa: DTZ001
    ],
)
def test_results_that_do_not_fit_are_refused(kind: Any, value: Any) -> None:
    with pytest.raises(InvalidOutputError):
        giving(kind, value).invoke({})


@pytest.mark.parametrize(
    ("field", "reason"),
    [
        (fields.Raw(), "Raw does not say"),
        (fields.Function(lambda _: 1), "Function does not say"),
        (fields.Dict(), "values"),
        (fields.Dict(fields.Integer(), fields.Integer()), "keys"),
        (fields.Constant(1.5), "Constant"),
    ],
)
def test_fields_that_say_too_little_are_refused(field: Any, reason: str) -> None:
    with pytest.raises(DefinitionError, match=reason):
        giving(one(field))


def test_decimals_leave_as_texts_only() -> None:
    assert loaded(one(fields.Decimal()), {"a": "1.10"}) == {"a": Decimal("1.10")}
    with pytest.raises(DefinitionError, match="as_string=True"):
        giving(one(fields.Decimal()))


def test_a_schema_that_needs_arguments_is_refused() -> None:
    class Needy(Schema):
        def __init__(self, tenant: str) -> None:
            super().__init__()
            self.tenant = tenant

    with pytest.raises(DefinitionError, match="write an instance"):
        taking(Needy)


def test_schemas_are_told_apart_by_fields_that_marshmallow_alone_would_pass_over() -> None:
    class First(Schema):
        a = fields.Integer(required=True)

    class Second(Schema):
        b = fields.Integer(required=True)

    kind = Annotated[dict[str, int], First()] | Annotated[dict[str, int], Second()]
    for plain in ({"a": 1}, {"b": 1}):
        assert loaded(kind, plain) == plain
        assert dumped(kind, plain) == plain


@pytest.mark.parametrize(
    ("field", "schema"),
    [
        (
            fields.String(validate=validate.OneOf(["a", "b"])),
            {"type": "string", "enum": ["a", "b"], "description": "One of ['a', 'b']."},
        ),
        (
            fields.Boolean(validate=validate.Equal(True)),
            {"type": "boolean", "enum": [True], "description": "One of [True]."},
        ),
        (fields.Integer(validate=validate.OneOf([True])), {"type": "integer"}),
        (
            fields.List(fields.Integer(), validate=validate.Length(1, 2)),
            {
                "type": "array",
                "items": {"type": "integer"},
                "minItems": 1,
                "maxItems": 2,
                "description": "Length at least 1. Length at most 2.",
            },
        ),
        (
            fields.Dict(fields.String(), fields.Integer(), validate=validate.Length(equal=1)),
            {
                "type": "object",
                "additionalProperties": {"type": "integer"},
                "minProperties": 1,
                "maxProperties": 1,
                "description": "Length at least 1. Length at most 1.",
            },
        ),
        (
            fields.Float(validate=validate.Range(0, 9, min_inclusive=False)),
            {
                "type": "number",
                "exclusiveMinimum": 0,
                "maximum": 9,
                "description": "Above 0. At most 9.",
            },
        ),
    ],
)
def test_a_validator_is_in_the_schema_and_in_its_words(field: Any, schema: dict[str, Any]) -> None:
    assert schema_of(one(field))["properties"]["a"] == schema


def test_a_number_that_leaves_as_text_is_text_in_results() -> None:
    made = giving(one(fields.Float(as_string=True)), {"a": 1.5})
    assert made.output_schema["properties"]["a"]["type"] == "string"
    assert made.invoke({}) == {"a": "1.5"}
    taken = schema_of(one(fields.Float(as_string=True)))["properties"]["a"]["anyOf"]
    assert [branch["type"] for branch in taken] == ["string", "number"]
    assert set(taken[0]) == {"type", "pattern"}


@pytest.mark.parametrize(
    ("form", "schema"),
    [
        (None, {"type": "string", "format": "date-time"}),
        ("iso", {"type": "string", "format": "date-time"}),
        ("iso8601", {"type": "string", "format": "date-time"}),
        ("timestamp", {"type": "number", "description": "Unix time in seconds."}),
        ("timestamp_ms", {"type": "number", "description": "Unix time in milliseconds."}),
        ("rfc", {"type": "string", "description": "Date or time in the format rfc."}),
    ],
)
def test_a_time_is_described_in_the_format_that_its_field_has(
    form: str | None, schema: dict[str, Any]
) -> None:
    found = schema_of(one(fields.DateTime(format=form)))["properties"]["a"]
    if "format" in schema:
        assert found.pop("description").startswith("RFC 3339 date and time with offset")
    assert found == schema
