"""A Run actor with an idle limit: only the provider's own silence counts."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest

from toolcrib import (
    Notice,
    ProcessInfo,
    RunError,
    RunReason,
    Subagent,
    TextDelta,
    Thinking,
    ToolCall,
    ToolResult,
)
from toolcrib.actors.base import Ref, Services
from toolcrib.messages.approvals import Ask
from toolcrib.messages.driver import AnswerAsk, CloseProcess, EventsTaken, SayHowSilent
from toolcrib.messages.events import ApprovalRequest, Event
from toolcrib.messages.policy import Approvals, Policy
from toolcrib.messages.run import Asked, EventsRead, IdleTimePassed, ProviderSilent

from .run_stage import OK, Capable, Stage

LIMIT = 0.1
CALL = ToolCall(call_id="c", name="x", arguments={}, hosted=False)
RETURN = ToolResult(call_id="c", name="x", text="", is_error=False, hosted=False)
ASIDE = Notice(kind="provider.record", message="something else")


def launched(stage: Stage, limit: float) -> Stage:
    policy = Policy(approvals=Approvals(permission="ask"))
    stage.begin(Capable(), idle_timeout=limit, policy=policy)
    stage.launched()
    return stage


@pytest.fixture
def stage(services: Services, launch: Callable[..., Ref], tmp_path: Path) -> Stage:
    return launched(Stage(services, launch, tmp_path), LIMIT)


@pytest.fixture
def patient(services: Services, launch: Callable[..., Ref], tmp_path: Path) -> Stage:
    """A stage on which no timer goes off by itself."""
    return launched(Stage(services, launch, tmp_path), 60.0)


def read(stage: Stage, *events: Event) -> None:
    stage.tell(EventsRead(events))
    stage.driver.skip_to(EventsTaken)


def assert_not_asked(stage: Stage) -> None:
    """Show that the limit passes and the process is not even asked."""
    stage.tell(IdleTimePassed(), EventsRead((ASIDE,)))
    stage.driver.expect(EventsTaken)
    stage.driver.assert_silent()


def test_a_provider_that_is_silent_for_too_long_fails_its_run(stage: Stage) -> None:
    stage.driver.expect(SayHowSilent)
    stage.tell(ProviderSilent(LIMIT * 2))
    stage.driver.expect(CloseProcess)
    stage.tell(OK)
    error = stage.error(RunError)
    assert isinstance(error, RunError)
    assert error.reason is RunReason.IDLE
    assert "echo" in error.message


def test_a_provider_that_printed_something_is_asked_again_when_its_time_is_up(
    stage: Stage,
) -> None:
    for _ in range(3):
        stage.driver.expect(SayHowSilent)
        stage.tell(ProviderSilent(LIMIT / 2))
    stage.tell(OK)
    assert stage.result().text == "hello"


def test_the_clock_stands_still_while_a_tool_runs(stage: Stage) -> None:
    stage.tell(EventsRead((CALL,)))
    stage.driver.skip_to(EventsTaken)
    assert_not_asked(stage)
    stage.tell(ProviderSilent(LIMIT * 10))  # an answer from before the call
    read(stage, ASIDE)
    read(stage, RETURN)
    stage.driver.expect(SayHowSilent)
    stage.tell(OK)
    assert stage.result().text == "hello"


@pytest.mark.parametrize(
    "event",
    [
        TextDelta(text="As I said", message_id="m2", phase="start"),
        TextDelta(text="as I said"),
        Thinking(text="Hm.", phase="start"),
    ],
    ids=["a message", "a piece of text", "a thought"],
)
def test_a_call_without_a_result_holds_the_clock_until_the_model_goes_on(
    stage: Stage, event: Event
) -> None:
    read(stage, TextDelta(text="Let me see.", message_id="m1", phase="start"), CALL)
    assert_not_asked(stage)
    read(stage, event)
    stage.driver.expect(SayHowSilent)
    stage.tell(ProviderSilent(LIMIT * 2))
    stage.driver.expect(CloseProcess)
    stage.tell(OK)
    error = stage.error(RunError)
    assert isinstance(error, RunError)
    assert error.reason is RunReason.IDLE


def test_the_model_goes_on_with_one_call_while_another_is_open(stage: Stage) -> None:
    read(stage, CALL, Thinking(text="Hm.", phase="start"), replace(CALL, call_id="d"))
    assert_not_asked(stage)
    read(stage, replace(RETURN, call_id="d"))
    stage.driver.expect(SayHowSilent)
    stage.tell(OK)
    stage.result()


@pytest.mark.parametrize(
    "event",
    [
        TextDelta(text=", in parallel.", message_id="m1"),
        TextDelta(text="", message_id="m1", phase="end"),
        Thinking(text="", phase="end"),
        Subagent(agent_id="a", name="explorer", kind="delta", text="I look."),
        ProcessInfo(kind="stderr", pid=1, text="warning"),
        replace(RETURN, call_id="another"),
        ASIDE,
    ],
    ids=lambda event: f"{type(event).__name__}-{getattr(event, 'phase', '')}",
)
def test_what_is_no_going_on_of_the_model_leaves_the_clock_still(
    stage: Stage, event: Event
) -> None:
    read(stage, TextDelta(text="I call", message_id="m1", phase="start"), CALL, event)
    assert_not_asked(stage)
    read(stage, RETURN)
    stage.driver.expect(SayHowSilent)
    stage.tell(OK)
    stage.result()


def test_the_clock_stands_still_while_an_approval_is_open(stage: Stage) -> None:
    stage.tell(Asked(Ask(id="p", kind="permission", title="?")))
    request = stage.next(ApprovalRequest)
    stage.driver.drain()
    assert_not_asked(stage)
    request.approve()
    stage.driver.skip_to(AnswerAsk)
    stage.driver.expect(SayHowSilent)
    # It could not print while it waited: that time does not count.
    stage.tell(ProviderSilent(LIMIT * 0.5))
    stage.tell(OK)
    assert stage.result().text == "hello"


def test_time_spent_waiting_is_taken_off_what_the_process_reports(patient: Stage) -> None:
    stage = patient
    stage.tell(Asked(Ask(id="p", kind="permission", title="?")))
    stage.next(ApprovalRequest).approve()
    stage.driver.expect(AnswerAsk)
    # The process counts from its last line, long before it was answered.
    stage.tell(ProviderSilent(1000.0), IdleTimePassed())
    stage.driver.expect(SayHowSilent)
    stage.tell(OK)
    assert stage.result().text == "hello"


def test_a_run_that_ended_is_not_watched_any_more(stage: Stage) -> None:
    stage.tell(OK)
    assert stage.result().text == "hello"
    assert all(not timer.pending for _, _, timer in stage.timers._heap)
