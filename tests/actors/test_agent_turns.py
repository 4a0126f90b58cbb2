"""The Agent actor with more runs than may go on at a time."""

from __future__ import annotations

import threading
from collections.abc import Callable

import pytest
from third_party import Echo

from toolcrib import RunError, RunFinished, RunReason, RunStarted
from toolcrib.actors.base import Ref, Services
from toolcrib.messages.agent import (
    AgentClosed,
    CancelRun,
    RunAdmitted,
    RunEnded,
    RunStopping,
    StartRun,
)
from toolcrib.messages.base import Address
from toolcrib.messages.cleaner import ClonesRemoved, OwnerSealed
from toolcrib.messages.registry import TokenRetired
from toolcrib.runtime.streams import EventStream

from .conftest import WAIT, Probe
from .test_agent import NEVER, House, start


@pytest.fixture
def house(services: Services, launch: Callable[..., Ref]) -> House:
    return House(services, launch, Echo(), max_runs=2)


def ask(house: House, run_id: str, timeout: float | None = None) -> EventStream:
    """Ask for a run, which has to be admitted at once; return its events."""
    host = Probe("host")
    request = start(run_id, host, timeout)
    house.tell(request)
    host.expect(RunAdmitted)
    assert isinstance(request.sink, EventStream)
    return request.sink


def names(house: House) -> list[str]:
    ask(house, "marker")  # what was told before has been handled, once this is admitted
    return [run_id for run_id, _ in house.started if run_id != "marker"]


def outcome(events: EventStream) -> RunError:
    with pytest.raises(RunError) as caught:
        events.wait_result(WAIT)
    kinds = []
    while (event := events.get(WAIT)) is not None:
        kinds.append(type(event))
    assert kinds == [RunStarted, RunFinished]
    return caught.value


def test_runs_beyond_the_limit_are_admitted_and_take_turns_in_order(house: House) -> None:
    before = threading.active_count()
    for number in range(20):
        ask(house, f"r{number}")
    assert [run_id for run_id, _ in house.started] == ["r0", "r1"]
    assert threading.active_count() <= before  # none has a thread of its own
    house.tell(RunEnded("r1"), RunEnded("r0"), RunEnded("r2"))
    assert names(house) == ["r0", "r1", "r2", "r3", "r4"]


def test_without_a_limit_all_go_on_at_once(services: Services, launch: Callable[..., Ref]) -> None:
    house = House(services, launch, Echo())
    for number in range(20):
        ask(house, f"r{number}")
    assert len(house.started) == 20


def test_a_waiting_run_that_is_cancelled_ends_at_once_and_never_starts(house: House) -> None:
    for run_id in ("r0", "r1"):
        ask(house, run_id)
    second, third = ask(house, "r2"), ask(house, "r3")
    house.tell(CancelRun("r2", RunReason.CANCELLED, "the host said so"))
    error = outcome(second)
    assert (error.reason, error.message) == (RunReason.CANCELLED, "the host said so")
    assert error.result.run_id == "r2"
    house.tell(RunEnded("r0"))
    assert names(house) == ["r0", "r1", "r3"]
    assert not third.finished


def test_the_total_time_of_a_run_counts_from_its_admission(house: House) -> None:
    ask(house, "r0")
    ask(house, "r1")
    error = outcome(ask(house, "r2", timeout=0.05))
    assert error.reason is RunReason.TIMED_OUT
    assert "waited for its turn" in error.message
    ask(house, "r3", timeout=NEVER)
    house.tell(RunEnded("r0"))
    assert names(house) == ["r0", "r1", "r3"]
    assert dict(house.started)["r3"] > 0
    assert dict(house.started)["r0"] < dict(house.started)["r3"]


def test_a_close_ends_the_waiting_runs(house: House) -> None:
    for run_id in ("r0", "r1"):
        ask(house, run_id)
    waiting = [ask(house, "r2"), ask(house, "r3")]
    host = house.close(NEVER)
    for events in waiting:
        assert outcome(events).reason is RunReason.CANCELLED
    assert [run_id for run_id, _ in house.started] == ["r0", "r1"]
    house.tell(RunStopping("r0"), RunStopping("r1"), RunEnded("r0"), RunEnded("r1"))
    house.tell(OwnerSealed("agent-1", 0), ClonesRemoved("agent-1"), TokenRetired("agent-1"))
    host.expect(AgentClosed)
    assert [run_id for run_id, _ in house.started] == ["r0", "r1"]


def test_a_waiting_run_that_can_not_be_started_is_told_and_the_next_one_starts(
    house: House, monkeypatch: pytest.MonkeyPatch
) -> None:
    ask(house, "r0")
    ask(house, "r1")
    unlucky, _ = ask(house, "r2"), ask(house, "r3")
    started = house.started

    def start_run(request: StartRun, agent: Address, waited: float) -> Address:
        if request.run_id == "r2":
            msg = "can't start new thread"
            raise RuntimeError(msg)
        started.append((request.run_id, waited))
        return Probe(request.run_id)

    house.start_run = start_run
    house.tell(RunEnded("r0"))
    error = outcome(unlucky)
    assert error.reason is RunReason.INFRASTRUCTURE
    assert "r2" in error.message
    assert isinstance(error.__cause__, RuntimeError)
    assert names(house) == ["r0", "r1", "r3"]
