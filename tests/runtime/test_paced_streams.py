"""Streams that tell their run what was read, and requests that nobody reads."""

from __future__ import annotations

import asyncio
import threading
from dataclasses import dataclass, field

import pytest
from stream_events import delta, drain, finished, make_result, notice, started

from toolcrib.errors import ApprovalExpiredError
from toolcrib.messages.base import Message
from toolcrib.messages.events import ApprovalRequest, Event
from toolcrib.messages.run import EventsConsumed
from toolcrib.runtime.streams import EventStream


class Run:
    """Takes what a run is told."""

    name = "run-1"

    def __init__(self) -> None:
        self.told: list[Message] = []

    def deliver(self, message: Message, sender: str) -> None:
        self.told.append(message)

    @property
    def consumed(self) -> int:
        return sum(m.count for m in self.told if isinstance(m, EventsConsumed))


@dataclass
class Decisions:
    """Keeps what was decided."""

    stream: EventStream | None = None
    denied: list[str] = field(default_factory=list)

    def approve(self, arguments: object) -> None:
        raise AssertionError

    def deny(self, reason: str) -> None:
        if self.stream is not None:
            # Whoever denies may publish in another thread, which needs the lock.
            other = threading.Thread(target=self.stream.publish, args=(delta(),))
            other.start()
            other.join(5)
            assert not other.is_alive(), "the stream denies with its lock held"
        self.denied.append(reason)

    def answer(self, text: str) -> None:
        raise AssertionError


def asked(decisions: Decisions) -> ApprovalRequest:
    return ApprovalRequest(
        request_id="r-ask-1", kind="permission", title="Run ls", responder=decisions
    )


def paced(capacity: int = 1) -> tuple[EventStream, Run]:
    stream, run = EventStream("run_1", None, capacity, paces=True), Run()
    stream.report_reads(run)
    return stream, run


def test_a_paced_stream_leaves_nothing_out() -> None:
    stream, _ = paced()
    for number in range(500):
        stream.publish(delta(str(number)))
    stream.publish(finished())
    assert [event.sequence for event in drain(stream)] == [*range(1, 502)]


def test_every_read_is_told_once_and_in_batches() -> None:
    stream, run = paced()
    for _ in range(200):
        stream.publish(delta())
    assert run.consumed == 0
    for _ in range(200):
        assert stream.get(10) is not None
    assert run.consumed == 200
    assert len(run.told) < 10


def test_a_reader_who_has_read_all_has_told_all() -> None:
    stream, run = paced()
    for number in range(1, 6):
        stream.publish(delta())
        assert stream.get(10) is not None
        assert run.consumed == number


def test_async_reads_are_told_too() -> None:
    stream, run = paced()

    async def read() -> None:
        for _ in range(70):
            stream.publish(delta())
        for _ in range(70):
            assert await stream.aget() is not None

    asyncio.run(read())
    assert run.consumed == 70


@pytest.mark.parametrize("read", [0, 1, 300, 4000])
@pytest.mark.parametrize("asynchronous", [False, True])
def test_each_event_counts_once_though_others_publish_meanwhile(
    read: int, asynchronous: bool
) -> None:
    stream, run = paced()
    batches = [tuple(delta() for _ in range(size)) for size in (1, 7, 64, 300) * 12]
    total = sum(map(len, batches))
    assert total > 4000

    def produce() -> None:
        for batch in batches:
            stream.publish_all(batch)

    async def read_some() -> None:
        for _ in range(read):
            assert await stream.aget() is not None

    producer = threading.Thread(target=produce)
    producer.start()
    if asynchronous:
        asyncio.run(read_some())
    else:
        for _ in range(read):
            assert stream.get(20) is not None
    stream.discard()
    producer.join(20)
    assert run.consumed == total


def test_what_nobody_will_read_counts_as_read() -> None:
    stream, run = paced()
    for _ in range(3):
        stream.publish(delta())
    stream.discard()
    assert run.consumed == 3
    stream.publish(delta())
    assert run.consumed == 4


def test_reads_from_before_the_run_listens_are_told_when_it_does() -> None:
    stream, run = EventStream("run_1", None, paces=True), Run()
    stream.publish(started())
    assert stream.get(10) is not None
    stream.report_reads(run)
    assert run.consumed == 1


def test_nothing_is_told_after_the_end_nor_without_pacing() -> None:
    stream, run = paced()
    stream.publish(notice())
    stream.finish(make_result(), None)
    drain(stream)
    free, other = EventStream("run_1", None), Run()
    free.report_reads(other)
    free.publish(notice())
    free.get(10)
    assert run.told == other.told == []
    assert (stream.paces, free.paces) == (True, False)


def test_a_request_that_waits_unread_is_denied_when_the_events_are_discarded() -> None:
    stream = EventStream("run_1", None)
    decisions = Decisions(stream)
    stream.publish(asked(decisions))
    stream.discard()
    assert decisions.denied == ["nobody reads the events of this run"]


def test_a_request_that_comes_when_nobody_reads_any_more_is_denied() -> None:
    stream = EventStream("run_1", None)
    stream.discard()
    decisions = Decisions(stream)
    stream.publish(asked(decisions))
    assert decisions.denied


def test_a_request_that_was_read_stays_with_its_reader() -> None:
    stream = EventStream("run_1", None)
    decisions = Decisions()
    stream.publish(asked(decisions))
    assert isinstance(stream.get(10), ApprovalRequest)
    stream.discard()
    assert not decisions.denied


def test_a_request_that_a_callback_answers_is_left_to_it() -> None:
    stream = EventStream("run_1", None, answers=False)
    decisions = Decisions()
    stream.publish(asked(decisions))
    stream.discard()
    stream.publish(asked(decisions))
    assert not decisions.denied


def test_a_request_that_is_settled_already_is_no_fault_of_a_discard() -> None:
    class Settled(Decisions):
        def deny(self, reason: str) -> None:
            raise ApprovalExpiredError("its run is over")

    stream = EventStream("run_1", None)
    decisions = Decisions()
    stream.publish(asked(Settled()))
    stream.publish(asked(decisions))
    stream.discard()
    assert decisions.denied


@pytest.mark.parametrize("event", [asked(Decisions())])
def test_a_request_is_never_left_out(event: Event) -> None:
    stream = EventStream("run_1", None, capacity=1)
    stream.publish(notice())
    stream.publish(event)
    stream.finish(make_result(), None)
    assert isinstance(drain(stream)[1], ApprovalRequest)
