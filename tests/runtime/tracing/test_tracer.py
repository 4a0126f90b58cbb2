from __future__ import annotations

import threading
from collections.abc import Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from types import MappingProxyType

import pytest

from toolcrib.errors import AskTimeout
from toolcrib.messages.base import Address, Message, RequestFailed
from toolcrib.messages.events import TextDelta
from toolcrib.messages.results import RunReason
from toolcrib.messages.run import EventsRead, ToolsReady
from toolcrib.messages.secret import Secret
from toolcrib.messages.turn import HostedServer
from toolcrib.runtime.tracing import TraceEntry, Tracer

DEADLINE = 20.0
TOKEN = "dG9rZW4tdGhhdC1tdXN0LW5vdC1zaG93"


class Probe:
    name = "run-1"

    def deliver(self, message: Message, sender: str) -> None:
        raise AssertionError


class Hostile:
    def __repr__(self) -> str:
        raise AssertionError

    __str__ = __repr__


@dataclass(frozen=True, slots=True)
class Said(Message):
    number: int


@dataclass(frozen=True, slots=True)
class Everything(Message):
    token: Secret
    tokens: tuple[Secret, ...]
    hidden: Mapping[str, str] = field(repr=False)
    _private: str
    reply_to: Address
    reason: RunReason
    names: tuple[str, ...]
    options: frozenset[str]
    long: str
    path: Path
    time: datetime
    data: bytes
    mapping: Mapping[str, str]
    nothing: None
    ok: bool
    hostile: Hostile


def record_one(message: Message) -> TraceEntry:
    tracer = Tracer()
    tracer.record("agent-1", "run-1", message)
    (entry,) = tracer.entries()
    return entry


def test_an_entry_says_who_told_whom_what_when() -> None:
    before = datetime.now(UTC)
    tracer = Tracer()
    tracer.record("agent-1", "run-1", Said(1))
    tracer.record("run-1", "agent-1", Said(2))
    first, second = tracer.entries()
    assert (first.sender, first.receiver, first.kind) == ("agent-1", "run-1", "Said")
    assert (first.fields, second.fields) == ({"number": "1"}, {"number": "2"})
    assert (first.sequence, second.sequence) == (1, 2)
    assert before <= first.time <= second.time <= datetime.now(UTC)


def test_fields_are_short_text_and_show_nothing_hidden() -> None:
    entry = record_one(
        Everything(
            token=Secret(TOKEN),
            tokens=(Secret(TOKEN),),
            hidden={"TOKEN": TOKEN},
            _private=TOKEN,
            reply_to=Probe(),
            reason=RunReason.CANCELLED,
            names=("a", "b", "c", "d", "e", "f"),
            options=frozenset({"y", "x"}),
            long="x" * 1000,
            path=Path("/tmp/clone"),  # noqa: S108 - only a name
            time=datetime(2026, 1, 1, tzinfo=UTC),
            data=TOKEN.encode(),
            mapping=MappingProxyType({"key": TOKEN}),
            nothing=None,
            ok=True,
            hostile=Hostile(),
        )
    )
    assert entry.fields == {
        "token": "***",
        "tokens": "(***)",
        "reply_to": "run-1",
        "reason": "cancelled",
        "names": "(a, b, c, d, e, …)",
        "options": "(x, y)",
        "long": "x" * 59 + "…",
        "path": "/tmp/clone",  # noqa: S108 - only a name
        "time": "2026-01-01T00:00:00+00:00",
        "data": f"<{len(TOKEN)} bytes>",
        "mapping": "{1}",
        "nothing": "None",
        "ok": "True",
        "hostile": "Hostile",
    }


def test_a_token_inside_another_value_does_not_show() -> None:
    server = HostedServer(
        key="toolcrib",
        url="http://127.0.0.1:40123/mcp",
        variable="TOOLCRIB_TOKEN_1",
        token=Secret(TOKEN),
        tools=("lookup_issue",),
        deadline=120.0,
    )
    entry = record_one(ToolsReady(server))
    assert entry.fields == {"server": "HostedServer"}
    assert TOKEN not in repr(entry)


def test_events_and_errors_are_shown_by_their_types() -> None:
    events = record_one(EventsRead((TextDelta(text="hello"), TextDelta(text="world"))))
    assert events.fields == {"events": "(TextDelta, TextDelta)"}
    failed = record_one(RequestFailed("run-1", "Said", ValueError(TOKEN)))
    assert failed.fields["error"] == "ValueError"


def test_a_message_without_fields_is_recorded() -> None:
    assert record_one(Message()).fields == {}


def test_beyond_its_capacity_a_tracer_only_counts() -> None:
    tracer = Tracer(capacity=3)
    for number in range(5):
        tracer.record("a", "b", Said(number))
    assert [entry.fields["number"] for entry in tracer.entries()] == ["0", "1", "2"]
    assert tracer.beyond == 2


def test_messages_of_many_threads_get_distinct_sequence_numbers() -> None:
    tracer = Tracer()

    def record(_: int) -> None:
        for number in range(200):
            tracer.record("a", "b", Said(number))

    with ThreadPoolExecutor(4) as pool:
        list(pool.map(record, range(4)))
    assert [entry.sequence for entry in tracer.entries()] == list(range(1, 801))


def test_a_snapshot_stays_as_it_is() -> None:
    tracer = Tracer()
    snapshot = tracer.entries()
    tracer.record("a", "b", Said(1))
    assert snapshot == ()


def test_waiting_finds_an_older_entry_at_once_and_the_first_that_fits() -> None:
    tracer = Tracer()
    for number in range(5):
        tracer.record("a", "b", Said(number))
    found = tracer.wait_for(lambda entry: int(entry.fields["number"]) >= 3, 0)
    assert found.fields["number"] == "3"


def test_waiting_ends_with_a_later_entry_that_fits() -> None:
    tracer = Tracer()
    looked_at = threading.Event()

    def fits(entry: TraceEntry) -> bool:
        looked_at.set()
        return entry.fields["number"] == "2"

    tracer.record("a", "b", Said(0))
    with ThreadPoolExecutor(1) as pool:
        waiting = pool.submit(tracer.wait_for, fits, DEADLINE)
        assert looked_at.wait(DEADLINE)
        tracer.record("a", "b", Said(1))
        tracer.record("a", "b", Said(2))
        assert waiting.result(DEADLINE).sequence == 3


def test_a_predicate_may_use_the_tracer_and_sees_each_entry_once() -> None:
    tracer = Tracer()
    for number in range(3):
        tracer.record("a", "b", Said(number))
    seen: list[str] = []

    def fits(entry: TraceEntry) -> bool:
        seen.append(entry.fields["number"])
        if entry.fields["number"] == "1":
            tracer.record("c", "d", Said(9))
        return len(tracer.entries()) == 4 and entry.sender == "c"

    assert tracer.wait_for(fits, DEADLINE).sequence == 4
    assert seen == ["0", "1", "2", "9"]


def test_waiting_in_vain_names_what_came_last() -> None:
    tracer = Tracer(capacity=1)
    with pytest.raises(AskTimeout, match="the latest: none"):
        tracer.wait_for(lambda _: True, 0.01)
    tracer.record("agent-1", "run-1", Said(1))
    tracer.record("agent-1", "run-1", Said(2))
    with pytest.raises(AskTimeout, match=r"agent-1 -> run-1: Said\. 1 more were not kept"):
        tracer.wait_for(lambda _: False, 0.01)
