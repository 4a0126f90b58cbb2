from __future__ import annotations

import copy
import pickle

import pytest

from toolcrib.messages.events import Notice
from toolcrib.messages.frozen import FrozenMap


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
