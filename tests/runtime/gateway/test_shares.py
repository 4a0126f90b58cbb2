from __future__ import annotations

import pytest

from toolcrib.runtime.gateway.shares import Places, Slots


def fill(places: Places, owner: str) -> int:
    return next(count for count in range(1000) if not places.take(owner))


def test_a_sole_owner_gets_every_place() -> None:
    assert fill(Places(32), "alone") == 32


@pytest.mark.parametrize("owners", [2, 5, 64])
def test_however_much_one_owner_takes_a_newcomer_finds_a_place(owners: int) -> None:
    places = Places(32, owners)

    taken = [fill(places, f"owner {number}") for number in range(3)]

    assert taken[0] < 32
    assert all(count > 0 for count in taken)


def test_a_place_that_is_given_back_can_be_taken_again() -> None:
    places = Places(1)
    assert places.take("a")
    assert not places.take("b")

    places.give("a")

    assert places.take("b")


def test_those_that_wait_are_promoted_in_order() -> None:
    slots: Slots[str] = Slots(1)
    assert slots.enter("a", "first")
    assert not slots.enter("a", "second")
    assert not slots.enter("b", "third")

    assert slots.leave("a") == ["second"]
    assert slots.leave("a") == ["third"]
    assert slots.leave("b") == []


def test_whoever_has_had_its_share_lets_others_pass() -> None:
    slots: Slots[str] = Slots(4)
    slots.share(2)
    for number in range(3):
        slots.enter("greedy", f"greedy {number}")
    assert not slots.enter("greedy", "greedy waits")
    assert slots.enter("modest", "modest")
    assert not slots.enter("modest", "modest waits")

    assert slots.leave("greedy") == ["modest waits"]


def test_what_is_forgotten_is_not_promoted() -> None:
    slots: Slots[str] = Slots(1)
    slots.enter("a", "runs")
    slots.enter("a", "waits")

    assert slots.forget("waits")
    assert not slots.forget("waits")
    assert slots.leave("a") == []


def test_a_sole_owner_gets_the_rest_at_once_when_the_others_go() -> None:
    slots: Slots[str] = Slots(4)
    slots.share(2)
    ran = [slots.enter("a", f"a {number}") for number in range(4)]
    assert ran == [True, True, True, False]

    assert slots.share(1) == ["a 3"]
