"""The Run actor alone: Agent, cleaner and driver are probes."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest
from third_party import Echo

from toolcrib import (
    GatewayError,
    MemoryStore,
    ProviderNotFoundError,
    RunError,
    RunFinished,
    RunReason,
    RunStarted,
    StoreError,
    TextDelta,
    ThreadBusyError,
    ThreadIncompatibleError,
)
from toolcrib.actors.base import Ref, Services
from toolcrib.messages.agent import (
    CancelRun,
    ProviderStarting,
    RunEnded,
    RunStopping,
    ToolsWanted,
)
from toolcrib.messages.base import Message
from toolcrib.messages.cleaner import MakeClone
from toolcrib.messages.driver import CloseProcess, EventsTaken
from toolcrib.messages.run import (
    CloneFailed,
    CloneReady,
    EventsRead,
    SpawnFailed,
    ToolsFailed,
    ToolsReady,
    TurnEnded,
)
from toolcrib.messages.turn import ProcessExit, TurnOutcome
from toolcrib.runtime.threads.interface import Lease

from .conftest import WAIT
from .run_stage import OK, SERVER, Stage


@pytest.fixture
def stage(services: Services, launch: Callable[..., Ref], tmp_path: Path) -> Stage:
    return Stage(services, launch, tmp_path)


def test_a_run_takes_its_steps_in_order(stage: Stage) -> None:
    stage.begin(tools=True)
    stage.agent.expect(ToolsWanted)
    stage.cleaner.assert_silent()
    stage.tell(ToolsReady(SERVER))
    stage.launched()
    stage.agent.expect(ProviderStarting)
    stage.tell(EventsRead((TextDelta(text="hel"), TextDelta(text="lo"))))
    assert stage.driver.expect(EventsTaken).count == 2
    stage.tell(OK)
    assert stage.result().text == "hello"
    stage.agent.expect(RunEnded)
    kinds = [type(event).__name__ for event in stage.seen()]
    assert kinds == [
        "RunStarted", "ProcessInfo", "TextDelta", "TextDelta", "ProcessInfo", "RunFinished",
    ]  # fmt: skip


def test_an_error_before_the_provider_runs_is_raised_as_it_is(stage: Stage) -> None:
    error = ProviderNotFoundError("no such command")
    stage.begin(Echo(error=error))
    raised = stage.error(ProviderNotFoundError)
    assert (type(raised), str(raised)) == (ProviderNotFoundError, "no such command")
    stage.agent.expect(RunEnded)
    started, finished = stage.seen()
    assert isinstance(started, RunStarted)
    assert isinstance(finished, RunFinished)
    assert (finished.ok, finished.reason) == (False, RunReason.LAUNCH_FAILED)


def test_a_driver_with_a_bug_fails_its_run_as_infrastructure(stage: Stage) -> None:
    stage.begin(Echo(error=ZeroDivisionError("oops")))
    error = stage.error(RunError)
    assert isinstance(error, RunError)
    assert error.reason is RunReason.INFRASTRUCTURE
    assert isinstance(error.__cause__, ZeroDivisionError)


@pytest.mark.parametrize("refused", [ToolsFailed, CloneFailed])
def test_what_the_run_waits_for_may_fail(
    stage: Stage, refused: Callable[[Exception], Message]
) -> None:
    stage.begin(tools=True)
    stage.agent.expect(ToolsWanted)
    if refused is CloneFailed:
        stage.tell(ToolsReady(SERVER))
        stage.cleaner.expect(MakeClone)
    stage.tell(refused(GatewayError("no port")))
    stage.error(GatewayError)


def test_a_process_that_can_not_start_is_a_launch_failure(stage: Stage) -> None:
    stage.begin()
    stage.launched()
    stage.tell(SpawnFailed(OSError("no memory")))
    error = stage.error(RunError)
    assert isinstance(error, RunError)
    assert error.reason is RunReason.LAUNCH_FAILED


def test_a_failed_turn_keeps_its_partial_result(stage: Stage) -> None:
    stage.begin()
    stage.launched()
    outcome = TurnOutcome(ok=False, reason=RunReason.PROVIDER_DIED, message="it died", text="hel")
    stage.tell(TurnEnded(outcome, ProcessExit(code=-9, stderr="gone")))
    error = stage.error(RunError)
    assert isinstance(error, RunError)
    assert (error.reason, error.result.text) == (RunReason.PROVIDER_DIED, "hel")
    assert (error.result.exit_code, error.result.stderr) == (-9, "gone")


def test_the_first_reason_wins_and_the_partial_text_is_kept(stage: Stage) -> None:
    stage.begin()
    stage.launched()
    stage.tell(CancelRun("r", RunReason.CANCELLED, "the host said so"))
    stage.driver.expect(CloseProcess)
    stage.agent.skip_to(RunStopping)
    stage.tell(CancelRun("r", RunReason.TIMED_OUT, "too late"))
    outcome = TurnOutcome(ok=False, reason=RunReason.PROVIDER_DIED, message="x", text="hel")
    stage.tell(TurnEnded(outcome, ProcessExit(code=-15, stderr="")))
    error = stage.error(RunError)
    assert isinstance(error, RunError)
    assert (error.reason, error.message) == (RunReason.CANCELLED, "the host said so")
    assert error.result.text == "hel"


def test_a_run_that_waits_for_tools_or_clone_ends_at_once_when_cancelled(stage: Stage) -> None:
    stage.begin(tools=True)
    stage.agent.expect(ToolsWanted)
    stage.tell(CancelRun("r", RunReason.CANCELLED, "why"))
    stage.error(RunError)
    stage.agent.expect(RunStopping)
    stage.agent.expect(RunEnded)


@pytest.mark.parametrize("held", ["checking", "preparing"])
def test_a_run_promises_to_stop_only_when_foreign_code_has_returned(
    stage: Stage, held: str
) -> None:
    driver = Echo()
    gate = getattr(driver, held)
    gate.hold()
    stage.begin(driver)
    if held == "preparing":
        stage.cleaner.expect(MakeClone)
        stage.tell(CloneReady(stage.clone.root))
    assert gate.entered.wait(WAIT)
    stage.tell(CancelRun("r", RunReason.CANCELLED, "why"))
    stage.agent.assert_silent()
    gate.release.set()
    stage.agent.expect(RunStopping)
    stage.error(RunError)
    stage.driver.assert_silent()  # no process was started


def test_the_total_time_of_a_run_is_bounded(stage: Stage) -> None:
    stage.begin(timeout=2.0)
    stage.launched()
    stage.driver.expect(CloseProcess)
    stage.tell(OK)
    error = stage.error(RunError)
    assert isinstance(error, RunError)
    assert error.reason is RunReason.TIMED_OUT


def test_a_turn_that_succeeded_is_kept_with_its_thread(stage: Stage) -> None:
    stage.begin(thread="t")
    stage.launched()
    (stage.clone.profile / "chat.txt").write_text("history")
    stage.tell(OK)
    assert stage.result().session_id == "s1"
    record = stage.store.load("t")
    assert record is not None
    assert (record.session_id, record.turns) == ("s1", 1)
    assert record.files[0].data == b"history"
    stage.store.acquire("t", "somebody else")  # the lease was given back


def test_a_turn_that_failed_never_becomes_history(stage: Stage) -> None:
    stage.begin(thread="t")
    stage.launched()
    (stage.clone.profile / "chat.txt").write_text("history")
    outcome = TurnOutcome(ok=False, reason=RunReason.PROVIDER_FAILED, message="no")
    stage.tell(TurnEnded(outcome, ProcessExit(code=1, stderr="")))
    stage.error(RunError)
    assert stage.store.load("t") is None
    stage.store.acquire("t", "somebody else")


def test_a_success_without_a_conversation_is_said_and_not_stored(stage: Stage) -> None:
    stage.begin(thread="t")
    stage.launched()
    stage.tell(OK)
    error = stage.error(RunError)
    assert isinstance(error.__cause__, StoreError)
    assert "kept no conversation" in str(error)
    assert isinstance(error, RunError)
    assert error.result.text == "hello"


def test_a_cancellation_after_success_does_not_undo_it(stage: Stage) -> None:
    entered = Echo().checking
    entered.hold()

    class SlowStore(MemoryStore):
        def release(self, lease: Lease) -> None:
            entered.go_through()
            super().release(lease)

    stage.store = SlowStore()
    stage.begin(thread="t")
    stage.launched()
    (stage.clone.profile / "chat.txt").write_text("history")
    stage.tell(OK)
    assert entered.entered.wait(WAIT)
    stage.tell(CancelRun("r", RunReason.CANCELLED, "why"))
    stage.agent.skip_to(RunStopping)
    entered.release.set()
    assert stage.result().text == "hello"


def test_a_tool_without_revision_is_refused_in_a_thread_before_anything(stage: Stage) -> None:
    stage.begin(tools=True, revision=None, thread="t")
    assert "say" in str(stage.error(ThreadIncompatibleError))
    stage.agent.expect(RunEnded)
    stage.cleaner.assert_silent()


def test_a_thread_that_another_run_holds_is_busy(stage: Stage) -> None:
    stage.store.acquire("t", "another run")
    stage.begin(thread="t")
    stage.error(ThreadBusyError)
    stage.cleaner.assert_silent()


def test_a_fault_of_ours_ends_the_run_and_its_process(stage: Stage) -> None:
    stage.begin()
    stage.launched()

    class Broken:
        def __iter__(self) -> object:
            raise ZeroDivisionError

    stage.tell(EventsRead(Broken()))  # type: ignore[arg-type]  # what a bug would do
    stage.driver.expect(CloseProcess)
    error = stage.error(RunError)
    assert isinstance(error, RunError)
    assert error.reason is RunReason.INFRASTRUCTURE
    stage.agent.expect(ProviderStarting)
    stage.agent.assert_silent()  # what it holds, it holds until its process has ended
    stage.tell(OK)
    stage.agent.expect(RunEnded)
