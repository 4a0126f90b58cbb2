"""Large payloads and the garbage collector, which is the application's."""

from __future__ import annotations

import gc
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import pytest

from toolcrib import InvalidInputError, tool
from toolcrib.runtime.tools.collector import resting_collector

MANY: list[dict[str, Any]] = [{"id": number, "name": "a row"} for number in range(20_000)]


@dataclass
class Row:
    id: int
    name: str

    def __post_init__(self) -> None:
        if self.name == "raise":
            raise ValueError(self.name)


@tool.define
def count(rows: list[Row]) -> int:
    """Count rows."""
    return len(rows)


@pytest.fixture(autouse=True)
def _at_work() -> Iterator[None]:
    assert gc.isenabled()
    yield
    gc.enable()


def test_many_objects_make_it_look_through_everything_hardly_ever() -> None:
    gc.collect()
    before = gc.get_stats()[2]["collections"]
    for _ in range(20):
        assert count.invoke({"rows": MANY}) == 20_000
    assert gc.get_stats()[2]["collections"] - before <= 1


@pytest.mark.parametrize("rows", [MANY, [*MANY, {"id": 1, "name": "raise"}]])
def test_it_is_at_work_again_afterwards(rows: list[dict[str, Any]]) -> None:
    try:
        count.invoke({"rows": rows})
    except InvalidInputError:
        assert rows is not MANY
    assert gc.isenabled()


def test_who_has_it_off_keeps_it_off() -> None:
    gc.disable()
    count.invoke({"rows": MANY})
    assert not gc.isenabled()


def test_it_rests_for_one_at_a_time() -> None:
    with resting_collector():
        with resting_collector():
            assert not gc.isenabled()
        assert not gc.isenabled()
    assert gc.isenabled()
