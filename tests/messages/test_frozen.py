from __future__ import annotations

import copy
import pickle
from dataclasses import FrozenInstanceError, fields, replace
from typing import Any, cast, get_args

import pytest

from toolcrib.messages.events import Event, Notice, TextDelta
from toolcrib.messages.frozen import FrozenMap, replacer


def test_it_holds_a_copy_that_nobody_changes() -> None:
    given = {"a": "1"}
    frozen = FrozenMap(given)
    given["a"] = "2"
    assert dict(frozen) == {"a": "1"} == frozen
    assert frozen == FrozenMap({"a": "1"}) != FrozenMap()
    assert repr(frozen) == "{'a': '1'}"
    with pytest.raises(TypeError):
        frozen["a"] = "3"  # type: ignore[index]


def test_it_can_be_pickled_and_copied_and_so_can_events() -> None:
    for value in (FrozenMap({"a": "1"}), Notice(kind="test", message="", source="toolcrib")):
        assert pickle.loads(pickle.dumps(value)) == value  # noqa: S301
        assert copy.deepcopy(value) == value


@pytest.mark.parametrize("kind", get_args(Event), ids=lambda kind: kind.__name__)
def test_a_replacer_does_what_replace_does(kind: type[Event]) -> None:
    every = [field.name for field in fields(kind)]
    event = cast("Any", kind)(**{name: object() for name in every})
    before = repr(event)
    for count in range(len(every) + 1):
        new = {name: object() for name in every[:count]}
        made = replacer(kind, *new)(event, *new.values())
        assert type(made) is kind
        assert made is not event
        assert [getattr(made, n) for n in every] == [
            getattr(replace(event, **new), n) for n in every
        ]
    assert repr(event) == before


def test_what_a_replacer_made_is_frozen_and_complete() -> None:
    made = replacer(TextDelta, "text")(TextDelta(text="a", message_id="m"), "b")
    with pytest.raises(FrozenInstanceError):
        made.text = "c"  # type: ignore[misc]
    assert pickle.loads(pickle.dumps(made)) == made == TextDelta(text="b", message_id="m")  # noqa: S301
    assert hash(made) == hash(TextDelta(text="b", message_id="m"))


def test_a_replacer_takes_exactly_what_it_was_made_for() -> None:
    copy_of = replacer(TextDelta, "text")
    for values in ((), ("a", "b")):
        with pytest.raises(TypeError):
            copy_of(TextDelta(text=""), *values)
    with pytest.raises((AttributeError, TypeError)):
        copy_of(Notice(kind="k", message="m"), "a")
