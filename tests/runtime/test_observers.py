"""Observers are told of a run's events; a slow one holds nobody and no memory."""

from __future__ import annotations

import threading
import tracemalloc
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from toolcrib import (
    Agent,
    Attachment,
    Dropped,
    Event,
    Notice,
    RunFinished,
    RunInfo,
    RunService,
    RunStarted,
    System,
    TextDelta,
    ToolCall,
)
from toolcrib.runtime.observers import Observers
from toolcrib.runtime.workers import Workers
from toolcrib.testing import scripted_cursor

WAIT = 20.0
INFO = RunInfo(
    run_id="r",
    thread_key=None,
    provider="p",
    workspace=Path(),
    metadata={},
    identity=None,
)
END = RunFinished(ok=True, reason=None, message="", text="", usage=None)
CALL = ToolCall(call_id="c", name="x", arguments={}, hosted=False)


class Slow:
    """An observer that takes its first event, and no further one until it may."""

    def __init__(self) -> None:
        self.events: list[Event] = []
        self.busy = threading.Event()
        self.may_go_on = threading.Event()

    def __call__(self, event: Event) -> None:
        self.busy.set()
        assert self.may_go_on.wait(WAIT)
        self.events.append(event)


@pytest.fixture
def workers() -> Iterator[Workers]:
    workers = Workers("toolcrib-test-worker", idle=0.1)
    yield workers
    workers.close()


Told = Callable[..., list[Event]]


@pytest.fixture
def told(workers: Workers) -> Told:
    """Tell a slow observer, with room for 4 events and 8 at most, of some events."""

    def tell_slow(*events: Event) -> list[Event]:
        slow = Slow()
        observers = Observers((slow,), INFO, workers, capacity=4, most=8)
        tell(observers, RunStarted(provider="p", prompt="?"))
        assert slow.busy.wait(WAIT)
        tell(observers, *events)
        slow.may_go_on.set()
        observers.drain()
        return slow.events[1:]

    return tell_slow


def tell(observers: Observers, *events: Event) -> None:
    for event in events:
        observers.tell(event)


def deltas(count: int) -> tuple[TextDelta, ...]:
    return tuple(TextDelta(text=str(number)) for number in range(count))


def check_numbers(events: list[Event]) -> None:
    """Hold the events to it: what is reported as missing is what the numbers miss."""
    after = 1
    for event in events:
        if isinstance(event, Dropped):
            assert event.first_sequence == after + 1
            assert event.last_sequence == after + event.count == event.sequence - 1
        else:
            assert event.sequence == after + 1
        after = event.sequence


def test_pieces_that_a_slow_observer_has_no_room_for_are_left_out_and_reported(
    told: Told,
) -> None:
    events = told(*deltas(10), CALL, END)
    check_numbers(events)
    kept = [event.text for event in events if isinstance(event, TextDelta)]
    assert kept == ["0", "1", "2", "3"]
    assert [type(event) for event in events[4:]] == [Dropped, ToolCall, RunFinished]
    assert [event.count for event in events if isinstance(event, Dropped)] == [6]


def test_what_is_no_piece_is_kept_until_twice_as_many_wait(told: Told) -> None:
    events = told(*[CALL] * 20, END)
    check_numbers(events)
    assert [type(event) for event in events] == [ToolCall] * 8 + [Dropped, RunFinished]
    assert [event.count for event in events if isinstance(event, Dropped)] == [12]


def test_an_observer_that_catches_up_hears_of_everything_again(workers: Workers) -> None:
    slow = Slow()
    observers = Observers((slow,), INFO, workers, capacity=4, most=8)
    tell(observers, RunStarted(provider="p", prompt="?"), *deltas(10))
    slow.may_go_on.set()
    observers.drain()
    before = len(slow.events)
    tell(observers, *deltas(3), END)
    observers.drain()
    check_numbers(slow.events[1:])
    later = slow.events[before:]
    assert [type(event) for event in later] == [Dropped, *[TextDelta] * 3, RunFinished]


def test_one_slow_observer_takes_nothing_from_another(workers: Workers) -> None:
    slow, heard = Slow(), threading.Semaphore(0)
    quick: list[Event] = []

    def observe(event: Event) -> None:
        quick.append(event)
        heard.release()

    observers = Observers((slow, observe), INFO, workers, capacity=4, most=8)
    several: tuple[Event, ...] = (*deltas(3), *[CALL] * 20, END)
    for event in several:
        tell(observers, event)
        assert heard.acquire(timeout=WAIT)
        assert slow.busy.wait(WAIT)
    slow.may_go_on.set()
    observers.drain()
    assert [event.sequence for event in quick] == list(range(1, 25))
    assert [event.count for event in slow.events if isinstance(event, Dropped)] == [14]


def test_what_waits_for_an_observer_is_bounded_by_itself(workers: Workers) -> None:
    slow = Slow()
    observers = Observers((slow,), INFO, workers)
    for _ in range(20_000):
        observers.tell(CALL)
    tracemalloc.start()
    try:
        for _ in range(20_000):
            observers.tell(CALL)
        grown, _ = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    slow.may_go_on.set()
    observers.tell(END)
    observers.drain()
    assert grown < 100_000
    assert isinstance(slow.events[-1], RunFinished)
    (dropped,) = (event for event in slow.events if isinstance(event, Dropped))
    assert len(slow.events) - 2 + dropped.count == 40_000


class Watched(RunService):
    def __init__(self, observe: Callable[[Event], None]) -> None:
        self._observe = observe

    def attach(self, run: RunInfo) -> Attachment:
        return Attachment(observe=self._observe)


def test_a_run_goes_on_while_an_observer_is_stuck_and_tells_it_what_it_missed(
    tmp_path: Path,
) -> None:
    steps = [{"flood": 30_000, "text": "x"}, {"record": {"type": "marker"}}]
    slow = Slow()
    driver = scripted_cursor({"turns": [{"steps": steps}]}, directory=tmp_path)
    with (
        System(clones=tmp_path / "clones") as system,
        Agent(driver, workspace=tmp_path, services=[Watched(slow)], system=system) as agent,
    ):
        stream = agent.stream("hello")
        for event in stream:
            if isinstance(event, Notice) and event.data.get("type") == "marker":
                slow.may_go_on.set()
        assert stream.result(WAIT).text == "x" * 30_000
    assert isinstance(slow.events[0], RunStarted)
    assert isinstance(slow.events[-1], RunFinished)
    check_numbers(slow.events[1:])
    assert sum(event.count for event in slow.events if isinstance(event, Dropped)) > 10_000
