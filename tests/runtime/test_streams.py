from __future__ import annotations

import asyncio
import gc
import threading
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, datetime

import pytest
from stream_events import (
    CONTENT,
    DEADLINE,
    ESSENTIAL,
    delta,
    drain,
    finished,
    make_error,
    make_result,
    notice,
    started,
)

from toolcrib.errors import AskTimeout, RunError, ToolcribError
from toolcrib.messages.events import (
    Dropped,
    Event,
    Notice,
    RunFinished,
    RunStarted,
    TextDelta,
)
from toolcrib.messages.results import Result
from toolcrib.runtime.streams import EventStream


class WatchedStream(EventStream):
    """Tells when a reader has begun to wait."""

    def __init__(self) -> None:
        super().__init__("run_1", None)
        self._waiting = threading.Semaphore(0)

    def _start_waiting(self, wake: Callable[[], None]) -> None:
        super()._start_waiting(wake)
        self._waiting.release()

    def until_waiting(self) -> None:
        assert self._waiting.acquire(timeout=DEADLINE)


def test_events_come_in_order_with_the_runs_stamp_and_all_that_their_maker_set() -> None:
    stream = EventStream("run_1", "thread-a")
    before = datetime.now(UTC)
    stream.publish(started())
    stream.publish(TextDelta(text="hi", message_id="m", source="cursor"))
    stream.publish(finished())
    first, text, last = drain(stream)
    assert isinstance(first, RunStarted)
    assert isinstance(last, RunFinished)
    assert isinstance(text, TextDelta)
    assert text == TextDelta(
        text="hi",
        message_id="m",
        source="cursor",
        run_id="run_1",
        thread_key="thread-a",
        sequence=2,
        time=text.time,
    )
    assert [first.sequence, last.sequence] == [1, 3]
    assert before <= first.time <= text.time <= last.time <= datetime.now(UTC)


def test_stamping_leaves_the_published_event_as_it_was() -> None:
    event = delta()
    EventStream("run_1", None).publish(event)
    assert event == delta()


@pytest.mark.parametrize("event", CONTENT, ids=lambda e: type(e).__name__)
def test_content_beyond_the_capacity_is_left_out(event: Event) -> None:
    stream = EventStream("run_1", None, capacity=2)
    for _ in range(5):
        stream.publish(event)
    stream.publish(finished())
    kinds = [type(e) for e in drain(stream)]
    assert kinds == [type(event), type(event), Dropped, RunFinished]


@pytest.mark.parametrize("event", ESSENTIAL, ids=lambda e: f"{type(e).__name__}")
def test_everything_else_is_kept_beyond_the_capacity(event: Event) -> None:
    stream = EventStream("run_1", None, capacity=1)
    stream.publish(notice())
    stream.publish(event)
    stream.finish(make_result(), None)
    assert [type(e) for e in drain(stream)] == [Notice, type(event)]


def test_a_dropped_event_names_exactly_the_missing_sequence_numbers() -> None:
    stream = EventStream("run_1", "k", capacity=2)
    for event in (started(), delta(), delta(), delta(), notice(), delta(), finished()):
        stream.publish(event)
    events = drain(stream)
    assert [type(e) for e in events] == [
        RunStarted,
        TextDelta,
        Dropped,
        Notice,
        Dropped,
        RunFinished,
    ]
    first, second = (e for e in events if isinstance(e, Dropped))
    assert (first.count, first.first_sequence, first.last_sequence) == (2, 3, 4)
    assert (second.count, second.first_sequence, second.last_sequence) == (1, 7, 7)
    assert (first.run_id, first.thread_key, first.source) == ("run_1", "k", "toolcrib")
    assert [e.sequence for e in events] == [1, 2, 5, 6, 8, 9]


def test_a_delta_that_fits_again_comes_after_the_report_of_those_that_did_not() -> None:
    stream = EventStream("run_1", None, capacity=3)
    for _ in range(4):
        stream.publish(delta())
    assert stream.get(0) is not None
    assert stream.get(0) is not None
    stream.publish(delta("late"))
    stream.finish(make_result(), None)
    kept, report, late = drain(stream)
    assert isinstance(kept, TextDelta)
    assert isinstance(report, Dropped)
    assert isinstance(late, TextDelta)
    assert late.text == "late"
    assert (report.count, report.sequence, late.sequence) == (1, 5, 6)


def test_the_report_of_what_was_left_out_takes_a_place_of_the_capacity() -> None:
    stream = EventStream("run_1", None, capacity=2)
    for _ in range(3):
        stream.publish(delta())
    assert stream.get(0) is not None
    stream.publish(delta())
    stream.finish(make_result(), None)
    kept, report = drain(stream)
    assert isinstance(kept, TextDelta)
    assert isinstance(report, Dropped)
    assert report.count == 2


def test_finish_reports_what_was_left_out_last() -> None:
    stream = EventStream("run_1", None, capacity=1)
    stream.publish(delta())
    stream.publish(delta())
    stream.finish(None, make_error())
    kept, report = drain(stream)
    assert isinstance(kept, TextDelta)
    assert isinstance(report, Dropped)
    assert report.count == 1


def test_kept_and_left_out_events_add_up_under_a_slow_consumer() -> None:
    stream = EventStream("run_1", None, capacity=8)
    total = 20_000

    def produce() -> None:
        for number in range(total):
            stream.publish(notice(number) if number % 500 == 0 else delta())
        stream.publish(finished())
        stream.finish(make_result(), None)

    producer = threading.Thread(target=produce)
    producer.start()
    events = drain(stream)
    producer.join(DEADLINE)
    sequences = [e.sequence for e in events]
    reports = [e for e in events if isinstance(e, Dropped)]
    assert sequences == sorted(set(sequences))
    assert len(events) - len(reports) + sum(e.count for e in reports) == total + 1
    assert [e.message for e in events if isinstance(e, Notice)] == [
        str(n) for n in range(0, total, 500)
    ]
    left_out = {n for e in reports for n in range(e.first_sequence, e.last_sequence + 1)}
    assert left_out | set(sequences) == set(range(1, max(sequences) + 1))
    assert not left_out & set(sequences)


def test_many_producers_get_distinct_sequence_numbers_in_reading_order() -> None:
    stream = EventStream("run_1", None)

    def produce(_: int) -> None:
        for number in range(500):
            stream.publish(notice(number))

    with ThreadPoolExecutor(4) as pool:
        list(pool.map(produce, range(4)))
    stream.finish(make_result(), None)
    assert [e.sequence for e in drain(stream)] == list(range(1, 2001))


def test_a_producer_goes_on_although_nobody_reads() -> None:
    stream = EventStream("run_1", None, capacity=4)
    for _ in range(1000):
        stream.publish(delta())
        stream.publish(notice())
    stream.publish(finished())
    stream.finish(make_result(), None)
    assert stream.wait_result(0) == make_result()


@pytest.mark.parametrize(
    "end",
    [
        lambda stream: stream.publish(finished()),
        lambda stream: stream.finish(make_result(), None),
        lambda stream: stream.discard(),
    ],
    ids=["RunFinished", "finish", "discard"],
)
def test_nothing_comes_after_the_end(end: Callable[[EventStream], None]) -> None:
    stream = EventStream("run_1", None)
    end(stream)
    drain(stream)
    stream.publish(notice())
    stream.publish(finished())
    assert stream.get(0) is None
    assert stream.get(0) is None


def test_the_first_finish_decides() -> None:
    stream = EventStream("run_1", None)
    stream.finish(make_result("first"), None)
    stream.finish(None, make_error())
    assert stream.wait_result(0).text == "first"


def test_finish_needs_a_result_or_an_error() -> None:
    stream = EventStream("run_1", None)
    with pytest.raises(ValueError, match="run_1"):
        stream.finish(None, None)
    with pytest.raises(AskTimeout):
        stream.wait_result(0)


def test_an_error_wins_over_a_result_and_every_waiter_gets_it() -> None:
    stream = EventStream("run_1", None)
    error = make_error()
    stream.finish(make_result(), error)
    for _ in range(3):
        with pytest.raises(RunError) as caught:
            stream.wait_result(0)
        assert (str(caught.value), caught.value.reason) == (str(error), error.reason)
    with pytest.raises(RunError):
        asyncio.run(stream.await_result())


def test_an_error_keeps_where_it_came_from_and_does_not_collect_its_waiters() -> None:
    stream = EventStream("run_1", None)

    def where_it_happens() -> None:
        raise make_error()

    def depth() -> list[str]:
        with pytest.raises(RunError) as caught:
            stream.wait_result(0)
        return [entry.name for entry in caught.traceback]

    try:
        where_it_happens()
    except RunError as error:
        stream.finish(None, error)
    first = depth()
    assert "where_it_happens" in first
    assert depth() == first


def test_a_waiting_reader_is_woken_by_an_event_and_by_the_end() -> None:
    stream = WatchedStream()
    with ThreadPoolExecutor(1) as pool:
        reading = pool.submit(stream.get, DEADLINE)
        stream.until_waiting()
        stream.publish(notice(7))
        event = reading.result(DEADLINE)
        assert isinstance(event, Notice)
        assert event.message == "7"
        reading = pool.submit(stream.get, DEADLINE)
        stream.until_waiting()
        stream.finish(make_result(), None)
        assert reading.result(DEADLINE) is None


def test_discard_ends_a_waiting_reader_and_leaves_the_result() -> None:
    stream = WatchedStream()
    with ThreadPoolExecutor(1) as pool:
        reading = pool.submit(stream.get, DEADLINE)
        stream.until_waiting()
        stream.discard()
        assert reading.result(DEADLINE) is None
    stream.publish(finished())
    stream.finish(make_result(), None)
    assert stream.wait_result(0) == make_result()


def test_a_read_that_times_out_loses_nothing_and_can_be_repeated() -> None:
    stream = EventStream("run_1", None)
    with pytest.raises(AskTimeout, match=r"run_1 had no event within 0\.01 s"):
        stream.get(0.01)
    stream.publish(notice(3))
    event = stream.get(0)
    assert isinstance(event, Notice)
    assert event.message == "3"


def test_a_second_reader_is_refused_while_the_first_waits() -> None:
    stream = WatchedStream()
    with ThreadPoolExecutor(1) as pool:
        reading = pool.submit(stream.get, DEADLINE)
        stream.until_waiting()
        with pytest.raises(ToolcribError, match="another reader waits"):
            stream.get(0)
        with pytest.raises(ToolcribError, match="another reader waits"):
            asyncio.run(stream.aget())
        stream.publish(notice())
        assert isinstance(reading.result(DEADLINE), Notice)
    stream.finish(make_result(), None)
    assert stream.get(0) is None


def test_a_result_is_awaited_without_reading_any_event() -> None:
    stream = EventStream("run_1", None)

    async def main() -> Sequence[Result]:
        waiting = asyncio.gather(stream.await_result(), stream.await_result())
        await asyncio.sleep(0)
        stream.publish(notice())
        threading.Thread(target=stream.finish, args=(make_result(), None)).start()
        return await asyncio.wait_for(waiting, DEADLINE)

    assert list(asyncio.run(main())) == [make_result(), make_result()]
    assert stream.wait_result(0) == make_result()


def test_a_cancelled_wait_for_the_result_cancels_nobody_else() -> None:
    stream = EventStream("run_1", None)

    async def main() -> Result:
        cancelled = asyncio.create_task(stream.await_result())
        other = asyncio.create_task(stream.await_result())
        await asyncio.sleep(0)
        cancelled.cancel()
        with pytest.raises(asyncio.CancelledError):
            await cancelled
        assert len(stream._waiters) == 1
        stream.finish(make_result(), None)
        return await asyncio.wait_for(other, DEADLINE)

    assert asyncio.run(main()) == make_result()


def test_an_asyncio_reader_gets_what_a_thread_publishes() -> None:
    stream = EventStream("run_1", None)

    def produce() -> None:
        for number in range(2000):
            stream.publish(notice(number))
        stream.finish(make_result(), None)

    async def main() -> list[str]:
        threading.Thread(target=produce).start()
        messages: list[str] = []
        while (event := await asyncio.wait_for(stream.aget(), DEADLINE)) is not None:
            assert isinstance(event, Notice)
            messages.append(event.message)
        return messages

    assert asyncio.run(main()) == [str(n) for n in range(2000)]


def test_a_cancelled_read_loses_no_event_wherever_the_cancellation_falls() -> None:
    async def cancel_after(steps: int) -> None:
        stream = EventStream("run_1", None)
        complaints: list[object] = []
        loop = asyncio.get_running_loop()
        loop.set_exception_handler(lambda _, context: complaints.append(context))
        reading = asyncio.create_task(stream.aget())
        await asyncio.sleep(0)
        stream.publish(notice(1))
        stream.publish(notice(2))
        for _ in range(steps):
            await asyncio.sleep(0)
        reading.cancel()
        try:
            read = [await reading]
        except asyncio.CancelledError:
            read = []
        stream.finish(make_result(), None)
        while (event := await stream.aget()) is not None:
            read.append(event)
        assert [e.sequence for e in read if e is not None] == [1, 2]
        assert not complaints

    for steps in range(4):
        asyncio.run(cancel_after(steps))


def test_a_flood_does_not_starve_the_loop_or_hide_a_cancellation() -> None:
    async def main() -> int:
        stream = EventStream("run_1", None)
        read = 0

        async def consume() -> None:
            nonlocal read
            while True:
                stream.publish(notice())
                await stream.aget()
                read += 1
                assert read < 10_000

        reading = asyncio.create_task(consume())
        await asyncio.sleep(0)
        reading.cancel()
        with pytest.raises(asyncio.CancelledError):
            await reading
        stream.finish(make_result(), None)
        left = 0
        while await stream.aget() is not None:
            left += 1
        assert left == 1
        return read

    assert 0 < asyncio.run(main()) < 1000


def test_publishing_goes_on_after_the_readers_loop_was_closed() -> None:
    stream = EventStream("run_1", None)
    loop = asyncio.new_event_loop()
    reading = stream.aget()
    result = stream.await_result()
    # Driven by hand: a loop that is closed under its tasks warns about them itself.
    loop.call_soon(reading.send, None)
    loop.call_soon(result.send, None)
    loop.call_soon(loop.stop)
    loop.run_forever()
    loop.close()
    stream.publish(notice())
    stream.finish(make_result(), None)
    reading.close()
    result.close()
    assert isinstance(stream.get(0), Notice)
    assert stream.get(0) is None


def test_an_abandoned_read_can_be_collected_in_the_publishing_thread() -> None:
    stream = EventStream("run_1", None)

    async def main() -> None:
        holder: list[object] = [stream.aget()]
        holder[0].send(None)  # type: ignore[attr-defined]
        holder.append(holder)

    asyncio.run(main())
    with stream._lock:
        # What a garbage collection in the midst of publishing would do.
        gc.collect()
    stream.publish(notice())
    assert isinstance(stream.get(0), Notice)


@pytest.mark.parametrize("timeout", [1e10, float("inf")])
def test_a_result_can_be_waited_for_longer_than_a_lock_can(timeout: float) -> None:
    stream = EventStream("run_1", None)
    threading.Timer(0.05, stream.finish, (make_result(), None)).start()
    assert stream.wait_result(timeout).text == "done"
    later = EventStream("run_1", None)
    threading.Timer(0.05, later.finish, (make_result(), None)).start()
    assert asyncio.run(later.await_result(timeout)).text == "done"
