"""Credit is exact, and whoever waits for room is told of it."""

from __future__ import annotations

import queue
import threading

import pytest

from toolcrib.runtime.processes.credit import Credit

from .conftest import DEADLINE


def test_there_is_room_until_the_items_are_out() -> None:
    credit = Credit(2, 1000)
    credit.take(1)
    assert credit.left
    credit.take(1)
    assert not credit.left
    assert credit.give(1)
    assert credit.left


def test_there_is_room_until_the_bytes_are_out_and_one_item_always_passes() -> None:
    credit = Credit(100, 10)
    assert credit.left
    credit.take(50)
    assert not credit.left
    assert credit.give(1)
    credit.take(9)
    assert credit.left


def test_room_that_nobody_missed_is_not_told_of() -> None:
    credit = Credit(2, 1000)
    credit.take(1)
    assert not credit.give(1)
    credit.take(1)
    credit.take(1)
    assert not credit.left
    assert [credit.give(1), credit.give(1)] == [True, False]


def test_what_is_not_enough_is_not_told_of() -> None:
    credit = Credit(10, 10)
    for size in (4, 20):
        credit.take(size)
    assert not credit.left
    assert not credit.give(1)
    assert credit.give(1)


def test_giving_back_more_than_is_out_gives_back_all() -> None:
    credit = Credit(2, 10)
    credit.take(5)
    credit.take(5)
    assert not credit.left
    assert credit.give(1000)
    credit.take(9)
    assert credit.left


class Overtaken(Credit):
    """Gives an item back just after somebody has seen that there is no room."""

    told = False

    def _has_left(self) -> bool:
        found = super()._has_left()
        if not found and len(self._out):
            self.told = self.give(1)
        return found


def test_room_made_just_as_it_is_missed_is_seen_or_told_of() -> None:
    credit = Overtaken(1, 1000)
    credit.take(1)
    assert credit.left or credit.told


@pytest.mark.parametrize(("items", "size"), [(1, 1000), (7, 1000), (1000, 20)])
def test_a_taker_that_waits_is_always_woken_and_never_exceeds(items: int, size: int) -> None:
    credit, out, rung = Credit(items, size), queue.SimpleQueue[int](), threading.Event()
    total, most = 5000, 0

    def give() -> None:
        while (count := out.get()) >= 0:
            if credit.give(count):
                rung.set()

    givers = [threading.Thread(target=give) for _ in range(2)]
    for giver in givers:
        giver.start()
    try:
        waiting = 0
        for number in range(total):
            while not credit.left:
                out.put(waiting)
                waiting = 0
                assert rung.wait(DEADLINE), f"never told of room, at {number}"
                rung.clear()
            credit.take(3)
            waiting += 1
            most = max(most, waiting)
            if number % 5 == 0:
                out.put(waiting)
                waiting = 0
    finally:
        for _ in givers:
            out.put(-1)
        for giver in givers:
            giver.join(DEADLINE)
    assert most <= items
