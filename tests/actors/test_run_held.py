"""A Run actor whose steps are held, fail, or are answered late."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest
from third_party import Echo, Gate

from toolcrib import (
    ConfigurationError,
    GatewayError,
    MemoryStore,
    Notice,
    RunError,
    RunFinished,
    RunReason,
    ThreadBusyError,
    ThreadRecord,
    ToolcribError,
)
from toolcrib.actors.base import Ref, Services
from toolcrib.messages.agent import (
    CancelRun,
    RunEnded,
    RunStopping,
)
from toolcrib.messages.base import Message, Undelivered
from toolcrib.messages.cleaner import MakeClone
from toolcrib.messages.run import (
    CloneFailed,
    CloneReady,
    EventsRead,
    RunDeadlinePassed,
    ToolsFailed,
    ToolsReady,
)
from toolcrib.runtime.drivers.interface import Launch, TurnRequest
from toolcrib.runtime.threads.interface import Lease

from .conftest import WAIT
from .run_stage import OK, SERVER, Stage


@pytest.fixture
def stage(services: Services, launch: Callable[..., Ref], tmp_path: Path) -> Stage:
    return Stage(services, launch, tmp_path)


class HeldStore(MemoryStore):
    """A store of which each method passes a gate."""

    def __init__(self) -> None:
        super().__init__()
        self.acquiring, self.committing, self.releasing = Gate(), Gate(), Gate()

    def acquire(self, key: str, owner: str) -> Lease:
        self.acquiring.go_through()
        return super().acquire(key, owner)

    def commit(self, lease: Lease, record: ThreadRecord) -> None:
        self.committing.go_through()
        super().commit(lease, record)

    def release(self, lease: Lease) -> None:
        self.releasing.go_through()
        super().release(lease)


LATE: list[Message] = [
    CloneReady(Path("/late")),
    CloneFailed(GatewayError("late")),
    ToolsReady(SERVER),
    ToolsFailed(GatewayError("late")),
]


@pytest.mark.parametrize("late", LATE, ids=lambda message: type(message).__name__)
def test_a_late_answer_does_not_end_a_run_that_still_releases_its_thread(
    stage: Stage, late: Message
) -> None:
    stage.store = store = HeldStore()
    store.releasing.hold()
    stage.begin(thread="t")
    stage.cleaner.expect(MakeClone)
    stage.tell(CancelRun("r", RunReason.CANCELLED, "why"))
    stage.agent.expect(RunStopping)
    assert store.releasing.entered.wait(WAIT)
    stage.tell(late, late)
    with pytest.raises(ThreadBusyError):
        store.acquire("t", "the next run")
    stage.agent.assert_silent()  # it has not ended
    store.releasing.release.set()
    stage.agent.expect(RunEnded)
    error = stage.error(RunError)
    assert isinstance(error, RunError)
    assert error.reason is RunReason.CANCELLED
    store.acquire("t", "the next run")


@pytest.mark.parametrize("held", ["acquiring", "committing", "releasing"])
def test_a_store_that_hangs_holds_the_agent_but_not_the_caller(stage: Stage, held: str) -> None:
    stage.store = store = HeldStore()
    gate: Gate = getattr(store, held)
    gate.hold()
    stage.begin(thread="t", timeout=60.0)
    if held != "acquiring":
        stage.launched()
        (stage.clone.profile / "chat.txt").write_text("history")
        stage.tell(OK)
    assert gate.entered.wait(WAIT)
    stage.tell(RunDeadlinePassed(60.0))
    if held == "releasing":  # the turn is stored already: a success
        assert stage.result().text == "hello"
    else:
        error = stage.error(RunError)
        assert isinstance(error, RunError)
        assert error.reason is RunReason.TIMED_OUT
    gate.release.set()
    stage.agent.skip_to(RunEnded)
    assert sum(isinstance(event, RunFinished) for event in stage.seen()) == 1
    stage.store.acquire("t", "the next run")


def test_a_driver_that_hangs_holds_the_agent_but_not_the_caller(stage: Stage) -> None:
    driver = Echo()
    driver.checking.hold()
    stage.begin(driver, timeout=0.2)
    error = stage.error(RunError)
    assert isinstance(error, RunError)
    assert error.reason is RunReason.TIMED_OUT
    stage.agent.assert_silent()
    driver.checking.release.set()
    stage.agent.expect(RunStopping)
    stage.agent.expect(RunEnded)


def test_a_run_that_ended_lets_go_of_its_timer(stage: Stage) -> None:
    stage.begin(timeout=60.0)
    stage.launched()
    stage.tell(OK)
    assert stage.result().text == "hello"
    stage.agent.skip_to(RunEnded)
    assert all(not timer.pending for _, _, timer in stage.timers._heap)


def test_a_driver_that_prepares_nothing_is_named_and_the_thread_is_free_again(
    stage: Stage,
) -> None:
    class Forgetful(Echo):
        def prepare(self, request: TurnRequest) -> Launch:
            return None  # type: ignore[return-value]  # what a driver may forget

    stage.begin(Forgetful(), thread="t")
    stage.cleaner.expect(MakeClone)
    stage.tell(CloneReady(stage.clone.root))
    assert "Forgetful.prepare returned a NoneType" in str(stage.error(ConfigurationError))
    stage.store.acquire("t", "the next run")


def test_a_fault_of_ours_gives_the_thread_back(stage: Stage) -> None:
    stage.begin(thread="t")
    stage.launched()
    stage.tell(EventsRead(None))  # type: ignore[arg-type]  # what a bug would do
    stage.error(RunError)
    with pytest.raises(ThreadBusyError):
        stage.store.acquire("t", "the next run")
    stage.tell(OK)
    stage.agent.skip_to(RunEnded)
    stage.store.acquire("t", "the next run")


def test_a_run_that_can_not_even_start_ends(stage: Stage) -> None:
    stage.begin(timeout="soon")  # which the handles refuse
    error = stage.error(RunError)
    assert isinstance(error, RunError)
    assert error.reason is RunReason.INFRASTRUCTURE
    stage.agent.expect(RunEnded)


def test_a_request_that_reached_nobody_fails_the_run(stage: Stage) -> None:
    stage.begin()
    stage.cleaner.expect(MakeClone)
    stage.tell(Undelivered("system-cleaner", "MakeClone"))
    assert "system-cleaner did not handle MakeClone" in str(stage.error(ToolcribError))


def test_a_thread_that_can_not_be_released_is_said(
    stage: Stage, caplog: pytest.LogCaptureFixture
) -> None:
    class Sticky(MemoryStore):
        def release(self, lease: Lease) -> None:
            raise OSError("the database is gone")

    stage.store = Sticky()
    stage.begin(thread="t")
    stage.launched()
    (stage.clone.profile / "chat.txt").write_text("history")
    stage.tell(OK)
    assert stage.result().text == "hello"  # the turn itself succeeded
    kinds = [event.kind for event in stage.seen() if isinstance(event, Notice)]
    assert kinds == ["thread.not_released"]
    assert any("could not release its thread" in r.getMessage() for r in caplog.records)
