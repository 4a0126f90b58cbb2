"""A stream knows when more waits than can be meant to be read."""

from __future__ import annotations

import pytest
from stream_events import DEADLINE, delta, drain, finished, notice

from toolcrib.messages.events import Event, Notice, ToolCall, ToolResult
from toolcrib.runtime.streams import EventStream

TEXT = "x" * 100
LARGE: list[Event] = [
    ToolCall(call_id="1", name="t", arguments={"a": [{"b": TEXT}]}, hosted=True),
    ToolResult(call_id="1", name="t", text=TEXT, is_error=False, hosted=True),
    Notice(kind="k", message=TEXT),
    Notice(kind="k", message="", data={"a": TEXT}),
]


def small(**options: bool) -> EventStream:
    return EventStream("run_1", None, capacity=1, most=10, largest=1000, **options)


def publish(stream: EventStream, event: Event, count: int) -> None:
    stream.publish_all([event] * count)


def test_more_events_than_may_wait_overrun_it_until_they_are_read() -> None:
    stream = small()
    publish(stream, notice(), 10)
    assert stream.overrun == 0
    publish(stream, notice(), 1)
    assert stream.overrun == 11
    stream.get(DEADLINE)
    assert stream.overrun == 0


def test_pieces_of_content_never_overrun_it() -> None:
    stream = small()
    publish(stream, delta(TEXT), 100)
    assert stream.overrun == 0


def test_a_large_buffer_may_hold_eight_times_its_capacity() -> None:
    stream = EventStream("run_1", None, capacity=5, most=10)
    publish(stream, notice(), 40)
    assert stream.overrun == 0
    publish(stream, notice(), 1)
    assert stream.overrun == 41


@pytest.mark.parametrize("event", LARGE)
def test_a_few_large_events_overrun_it_too(event: Event) -> None:
    stream = EventStream("run_1", None, capacity=1, largest=1000)
    publish(stream, event, 9)
    assert stream.overrun == 0
    publish(stream, event, 3)
    assert stream.overrun == 12
    for _ in range(3):
        stream.get(DEADLINE)
    assert stream.overrun == 0


def test_what_was_read_takes_no_room() -> None:
    stream = EventStream("run_1", None, capacity=1, largest=1000)
    for _ in range(100):
        publish(stream, LARGE[1], 5)
        for _ in range(5):
            stream.get(DEADLINE)
        assert stream.overrun == 0


def test_a_stream_that_is_discarded_or_paces_is_never_overrun() -> None:
    discarded, paced = small(), small(paces=True)
    for stream in (discarded, paced):
        publish(stream, LARGE[1], 100)
    assert discarded.overrun == 100
    discarded.discard()
    publish(discarded, LARGE[1], 100)
    assert (discarded.overrun, paced.overrun) == (0, 0)


def test_an_overrun_stream_still_keeps_every_event() -> None:
    stream = small()
    for number in range(20):
        stream.publish(notice(number))
    stream.publish(finished())
    assert [event.sequence for event in drain(stream)] == [*range(1, 22)]
