"""A Run actor whose provider asks: what reaches the provider and the application."""

from __future__ import annotations

import asyncio
import contextvars
import threading
from collections.abc import Callable
from pathlib import Path

import pytest
from third_party import Echo

from toolcrib import RunError, RunFinished, RunReason
from toolcrib.actors.base import Ref, Services
from toolcrib.errors import ApprovalExpiredError, UnsupportedError
from toolcrib.messages.agent import CancelRun, RunEnded
from toolcrib.messages.approvals import Ask, Decision
from toolcrib.messages.cleaner import MakeClone
from toolcrib.messages.driver import AnswerAsk, CloseProcess
from toolcrib.messages.events import ApprovalRequest, ApprovalSettled
from toolcrib.messages.options import ApprovalCallback
from toolcrib.messages.policy import Approvals, Policy
from toolcrib.messages.run import Asked, AskWithdrawn, TurnEnded
from toolcrib.messages.turn import ProcessExit, TurnOutcome
from toolcrib.runtime.streams import EventStream

from .conftest import WAIT
from .run_stage import OK, Capable, Stage

ASK = Asked(Ask(id="p1", kind="permission", title="Run ls", tool="Bash"))
ENDED = TurnEnded(
    TurnOutcome(ok=False, reason=RunReason.PROVIDER_DIED, message="it died", text="hel"),
    ProcessExit(code=-15, stderr="", forced=True),
)


@pytest.fixture
def stage(services: Services, launch: Callable[..., Ref], tmp_path: Path) -> Stage:
    return Stage(services, launch, tmp_path)


def asking(**rules: object) -> Policy:
    return Policy(approvals=Approvals(permission="ask", **rules))  # type: ignore[arg-type]


def begin(
    stage: Stage, policy: Policy | None = None, callback: ApprovalCallback | None = None
) -> None:
    sink = EventStream("r", None, answers=callback is None)
    stage.begin(Capable(), sink=sink, policy=policy or asking(), on_approval=callback)
    stage.launched()


def failed(stage: Stage) -> RunError:
    error = stage.error(RunError)
    assert isinstance(error, RunError)
    return error


def test_an_approved_ask_reaches_the_provider_and_the_run_goes_on(stage: Stage) -> None:
    begin(stage)
    stage.tell(ASK)
    stage.next(ApprovalRequest).approve({"command": "pwd"})
    assert stage.driver.expect(AnswerAsk) == AnswerAsk(
        "p1", Decision(approved=True, arguments={"command": "pwd"})
    )
    assert stage.next(ApprovalSettled).outcome == "approved"
    stage.tell(OK)
    assert stage.result().text == "hello"


def test_a_denied_ask_tells_the_provider_ends_it_and_fails_the_run(stage: Stage) -> None:
    begin(stage)
    stage.tell(ASK)
    stage.next(ApprovalRequest).deny("too dangerous")
    assert stage.driver.expect(AnswerAsk).decision.interrupt
    stage.driver.expect(CloseProcess)
    stage.tell(ENDED)
    error = failed(stage)
    assert error.reason is RunReason.APPROVAL_DENIED
    assert "Bash" in error.message
    assert "too dangerous" in error.message
    assert error.result.text == "hel"


def test_an_ask_that_nobody_decides_times_out(stage: Stage) -> None:
    begin(stage, asking(timeout=0.05))
    stage.tell(ASK)
    request = stage.next(ApprovalRequest)
    assert stage.driver.expect(AnswerAsk).decision.interrupt
    stage.driver.expect(CloseProcess)
    assert stage.next(ApprovalSettled).outcome == "timed_out"
    with pytest.raises(ApprovalExpiredError):
        request.approve()
    stage.tell(ENDED)
    assert failed(stage).reason is RunReason.APPROVAL_TIMED_OUT


def test_an_ask_is_open_as_long_as_the_run_where_it_has_no_time_limit(stage: Stage) -> None:
    begin(stage, asking(timeout=None))
    stage.tell(ASK)
    request = stage.next(ApprovalRequest)
    assert request.deadline is None
    stage.tell(CancelRun("r", RunReason.CANCELLED, "the host said so"))
    stage.driver.expect(CloseProcess)
    settled = stage.next(ApprovalSettled)  # before the process has even ended
    assert (settled.outcome, settled.by) == ("cancelled", "run")
    with pytest.raises(ApprovalExpiredError):
        request.approve()
    stage.tell(ENDED)
    assert failed(stage).reason is RunReason.CANCELLED


def test_a_process_that_ends_settles_what_it_asked_before_the_run_finishes(stage: Stage) -> None:
    begin(stage)
    stage.tell(ASK, OK)
    events = stage.seen()
    kinds = [type(event) for event in events]
    assert kinds.index(ApprovalSettled) < kinds.index(RunFinished)
    assert kinds.count(ApprovalSettled) == 1


def test_what_the_provider_withdraws_is_settled(stage: Stage) -> None:
    begin(stage)
    stage.tell(ASK, AskWithdrawn("p1"))
    request, settled = stage.next(ApprovalRequest), stage.next(ApprovalSettled)
    assert (settled.request_id, settled.outcome) == (request.request_id, "cancelled")
    stage.tell(OK)
    assert stage.result().text == "hello"
    stage.driver.assert_silent()


def test_a_stopped_run_decides_nothing_any_more(stage: Stage) -> None:
    begin(stage)
    stage.tell(CancelRun("r", RunReason.CANCELLED, "why"), ASK, ENDED)
    failed(stage)
    stage.driver.expect(CloseProcess)
    stage.driver.assert_silent()
    assert not [e for e in stage.seen() if isinstance(e, ApprovalRequest | ApprovalSettled)]


def test_a_stream_that_nobody_reads_denies_at_once(stage: Stage) -> None:
    begin(stage)
    stage.events.discard()
    stage.tell(ASK)
    assert not stage.driver.expect(AnswerAsk).decision.approved


def test_events_that_are_discarded_deny_what_waits_unread(stage: Stage) -> None:
    begin(stage, asking(on_reject="continue"))
    stage.tell(ASK, AskWithdrawn("no such thing"))
    stage.tracer.wait_for(lambda entry: entry.kind == "AskWithdrawn", WAIT)
    stage.events.discard()
    assert not stage.driver.expect(AnswerAsk).decision.approved


CALLER = contextvars.ContextVar("CALLER", default="nobody")


@pytest.mark.parametrize("form", ["sync", "async"])
def test_a_callback_decides_on_another_thread_in_the_agents_context(
    stage: Stage, form: str
) -> None:
    seen: list[tuple[str, str]] = []

    def decide(request: ApprovalRequest) -> None:
        seen.append((threading.current_thread().name, CALLER.get()))
        request.approve()

    async def adecide(request: ApprovalRequest) -> None:
        await asyncio.sleep(0)
        decide(request)

    token = CALLER.set("the application")
    begin(stage, callback=decide if form == "sync" else adecide)
    CALLER.reset(token)
    stage.events.discard()  # nobody reads, and yet somebody is there
    stage.tell(ASK)
    assert stage.driver.expect(AnswerAsk).decision.approved
    ((thread, caller),) = seen
    assert caller == "the application"
    assert ("async" in thread) == (form == "async")
    assert thread != "toolcrib-run-1"


def test_a_callback_may_hand_its_request_on_and_return(stage: Stage) -> None:
    handed: list[ApprovalRequest] = []
    came = threading.Event()

    def hand_on(request: ApprovalRequest) -> None:
        handed.append(request)
        came.set()

    begin(stage, callback=hand_on)
    stage.tell(ASK)
    assert came.wait(WAIT)
    stage.driver.assert_silent()
    handed[0].approve()
    assert stage.driver.expect(AnswerAsk).decision.approved


@pytest.mark.parametrize("raised", [ZeroDivisionError("oops"), SystemExit("oops")])
def test_a_callback_that_raises_fails_the_run(stage: Stage, raised: BaseException) -> None:
    def decide(request: ApprovalRequest) -> None:
        raise raised

    begin(stage, callback=decide)
    stage.tell(ASK)
    assert stage.driver.expect(AnswerAsk).decision.interrupt
    stage.driver.expect(CloseProcess)
    stage.tell(ENDED)
    error = failed(stage)
    assert error.reason is RunReason.INFRASTRUCTURE
    assert raised in {error.__cause__, getattr(error.__cause__, "__cause__", None)}
    assert "oops" in error.message


def test_an_async_callback_that_never_returns_is_cancelled_with_the_run(stage: Stage) -> None:
    begun, cancelled = threading.Event(), threading.Event()

    async def wait(request: ApprovalRequest) -> None:
        begun.set()
        try:
            await asyncio.get_running_loop().create_future()
        finally:
            cancelled.set()

    begin(stage, callback=wait)
    stage.tell(ASK)
    assert begun.wait(WAIT)
    stage.tell(OK)
    assert stage.result().text == "hello"
    assert cancelled.wait(WAIT)


def test_what_the_driver_can_not_do_is_refused_before_it_is_asked_for_anything(
    stage: Stage,
) -> None:
    driver = Echo(error=ZeroDivisionError("never called"))
    stage.begin(driver, policy=asking())
    error = stage.error(UnsupportedError)
    assert isinstance(error, UnsupportedError)
    assert (error.provider, error.option) == ("echo", "policy.approvals.permission")
    assert not driver.checking.entered.is_set()
    stage.agent.expect(RunEnded)
    stage.cleaner.assert_silent()


def test_an_unset_policy_makes_no_demands_on_a_driver(stage: Stage) -> None:
    stage.begin(Echo())
    stage.cleaner.expect(MakeClone)
