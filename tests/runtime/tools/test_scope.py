"""Names in annotations, which are texts in this module, are found where they were written."""

from __future__ import annotations

from dataclasses import dataclass
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any

import pytest

from toolcrib import tool
from toolcrib.errors import DefinitionError

if TYPE_CHECKING:
    from decimal import Decimal


@dataclass
class Item:
    number: int


@dataclass
class Holder:
    item: Item


def holding(holder: Holder) -> int:
    return holder.item.number


def test_local_classes_are_found_in_both_forms() -> None:
    @dataclass
    class Request:
        key: str
        inner: Inner

    @dataclass
    class Inner:
        next: Request | None = None

    def called(request: Request) -> str:
        return request.key

    @tool.define
    def decorated(request: Request) -> Inner:
        """Decorated."""
        return request.inner

    arguments = {"key": "k", "inner": {}}
    assert tool.define("called", "d", called).invoke(arguments) == "k"
    assert decorated.invoke(arguments) == {"next": None}


def test_a_local_class_hides_a_global_one_of_its_name() -> None:
    @dataclass
    class Item:
        text: str

    def handler(item: Item, rest: list[Item]) -> str:
        return item.text  # pyright: ignore[reportAttributeAccessIssue]

    schema = tool.define("t", "d", handler).input_schema
    assert list(schema["properties"]["item"]["properties"]) == ["text"]


def test_the_callers_names_do_not_leak_into_what_was_written_elsewhere() -> None:
    Item: object = SimpleNamespace  # noqa: N806
    int: object = str
    assert Item is not int  # they are here, for `define` to see

    assert tool.define("t", "d", holding).invoke({"item": {"number": 3}}) == 3


def test_closures_are_found_although_their_function_has_returned() -> None:
    def outer() -> Any:
        @dataclass
        class Hidden:
            a: int

        def handler(hidden: Hidden) -> int:
            return Hidden(hidden.a + 1).a

        return handler

    assert tool.define("t", "d", outer()).invoke({"a": 1}) == 2


def test_inherited_fields_are_resolved_where_they_were_declared() -> None:
    @dataclass
    class Local:
        a: int

    @dataclass
    class Wider(Holder):
        local: Local

    def handler(request: Wider) -> int:
        return request.item.number + request.local.a

    made = tool.define("t", "d", handler)
    assert made.invoke({"item": {"number": 1}, "local": {"a": 2}}) == 3


def test_a_name_that_is_known_to_type_checkers_only_is_named_in_the_error() -> None:
    def handler(amount: Decimal) -> None: ...

    with pytest.raises(DefinitionError, match="tool pay: the name 'Decimal'"):
        tool.define("pay", "d", handler)


def test_a_missing_name_in_a_field_is_named_in_the_error() -> None:
    @dataclass
    class Request:
        amount: list[Decimal]

    def handler(request: Request) -> None: ...

    with pytest.raises(DefinitionError, match="tool pay: the name 'Decimal'"):
        tool.define("pay", "d", handler)


def test_an_annotation_that_is_no_type_is_told() -> None:
    def handler(amount: 1 / 0) -> None: ...  # type: ignore[valid-type]

    with pytest.raises(DefinitionError, match="tool pay: an annotation"):
        tool.define("pay", "d", handler)
