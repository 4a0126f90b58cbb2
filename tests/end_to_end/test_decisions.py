"""Decisions through the handles: by events, by a callback, and by nobody."""

from __future__ import annotations

import asyncio
import copy
import pickle
import queue
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from asking_provider import PERMISSION, QUESTION, Asking

from toolcrib import (
    Agent,
    ApprovalDetachedError,
    ApprovalExpiredError,
    ApprovalKindError,
    ApprovalRequest,
    ApprovalResolvedError,
    Approvals,
    ApprovalSettled,
    Event,
    Options,
    Policy,
    RunError,
    RunFinished,
    RunReason,
    System,
    Tracer,
)

from .conftest import WAIT, left_of

PERMITTED = 'Bash {"command": "rm notes.txt"}'


def asks(**rules: Any) -> Options:
    return Options(policy=Policy(approvals=Approvals(permission="ask", question="ask", **rules)))


@pytest.fixture
def make(system: System, workspace: Path) -> Callable[..., Agent]:
    """Make Agents of a provider that asks."""

    def make(*asked: Any, **options: Any) -> Agent:
        driver = Asking(asked or (PERMISSION,))
        return Agent(driver, asks(), system=system, workspace=workspace, **options)

    return make


Make = Callable[..., Agent]


def settled(events: list[Event]) -> list[tuple[str, str]]:
    return [(e.outcome, e.by) for e in events if isinstance(e, ApprovalSettled)]


def test_a_request_is_an_event_and_its_reader_decides(make: Make) -> None:
    events: list[Event] = []
    with make(PERMISSION, QUESTION) as agent:
        stream = agent.stream("hello")
        for event in stream:
            events.append(event)
            if isinstance(event, ApprovalRequest) and event.kind == "permission":
                event.approve({"command": "ls"})
            elif isinstance(event, ApprovalRequest):
                event.answer("Blue")  # a label stands for its key
        text = stream.result().text
    assert text == 'Bash {"command": "ls"} and the answer is b'
    assert settled(events) == [("approved", "application"), ("answered", "application")]


def test_a_coroutine_decides_too(make: Make) -> None:
    async def main() -> str:
        async with make() as agent:
            stream = agent.stream("hello")
            async for event in stream:
                if isinstance(event, ApprovalRequest):
                    await event.aapprove()
            return (await stream.aresult()).text

    assert asyncio.run(main()) == PERMITTED


def test_another_thread_may_decide_later(make: Make) -> None:
    waiting: queue.SimpleQueue[ApprovalRequest] = queue.SimpleQueue()
    decider = threading.Thread(target=lambda: waiting.get(timeout=WAIT).approve())
    decider.start()
    with make(on_approval=waiting.put) as agent:
        assert agent.run("hello").text == PERMITTED
    decider.join(WAIT)


@pytest.mark.parametrize("kind", ["sync", "async"])
def test_a_callback_decides_although_nobody_reads_events(make: Make, kind: str) -> None:
    seen: list[str] = []

    def decide(request: ApprovalRequest) -> None:
        seen.append(threading.current_thread().name)
        request.approve()

    async def adecide(request: ApprovalRequest) -> None:
        await asyncio.sleep(0)
        await request.aapprove()
        seen.append(threading.current_thread().name)

    with make(on_approval=decide if kind == "sync" else adecide) as agent:
        assert agent.run("hello").text == PERMITTED
    assert seen != [threading.main_thread().name]


def test_where_nobody_reads_events_it_is_denied(make: Make) -> None:
    with make() as agent, pytest.raises(RunError, match="Nobody is here") as caught:
        agent.run("hello")
    assert caught.value.reason is RunReason.APPROVAL_DENIED


def test_a_request_that_waits_unread_is_denied_when_its_stream_is_left(
    make: Make, tracer: Tracer
) -> None:
    with make() as agent:
        stream = agent.stream("hello")
        tracer.wait_for(lambda entry: entry.kind == "Asked" and entry.receiver == "run-1", WAIT)
        stream.discard()
        with pytest.raises(RunError) as caught:
            stream.result(WAIT)
    assert caught.value.reason is RunReason.APPROVAL_DENIED


def test_a_reader_that_stops_reading_does_not_let_the_provider_wait(make: Make) -> None:
    with make() as agent:
        stream = agent.stream("hello", asks(on_reject="continue"))
        for event in stream:
            if isinstance(event, ApprovalRequest):
                event.deny("not today")
                stream.discard()
        assert stream.result(WAIT).text == "not Bash: not today"


def test_a_denial_ends_the_run_and_says_why(make: Make, system: System) -> None:
    with make() as agent:
        stream = agent.stream("hello")
        events: list[Event] = []
        for event in stream:
            events.append(event)
            if isinstance(event, ApprovalRequest):
                event.deny("not on Sundays")
        with pytest.raises(RunError, match="Bash.*not on Sundays") as caught:
            stream.result()
    assert caught.value.reason is RunReason.APPROVAL_DENIED
    assert settled(events) == [("denied", "application")]
    assert isinstance(events[-1], RunFinished)
    assert events[-1].reason == "approval_denied"
    assert left_of(system.host) == []


def test_nobody_answers_in_time(make: Make) -> None:
    with make() as agent:
        stream = agent.stream("hello", asks(timeout=0.2))
        events = list(stream)
        with pytest.raises(RunError) as caught:
            stream.result()
        (request,) = (e for e in events if isinstance(e, ApprovalRequest))
        with pytest.raises(ApprovalExpiredError):
            request.approve()
    assert caught.value.reason is RunReason.APPROVAL_TIMED_OUT
    assert settled(events) == [("timed_out", "deadline")]


def test_each_decision_counts_once(make: Make) -> None:
    with make(PERMISSION, QUESTION) as agent:
        stream = agent.stream("hello")
        for event in stream:
            if not isinstance(event, ApprovalRequest):
                continue
            for copied in (copy.deepcopy(event), pickle.loads(pickle.dumps(event))):  # noqa: S301
                with pytest.raises(ApprovalDetachedError):
                    copied.deny()
            with pytest.raises(ApprovalKindError):
                event.approve() if event.kind == "question" else event.answer("r")
            event.answer("r") if event.kind == "question" else event.approve()
            for again in (copy.copy(event), event):
                with pytest.raises(ApprovalResolvedError):
                    again.deny()
        assert stream.result().text == f"{PERMITTED} and the answer is r"


def test_a_callback_that_raises_fails_the_run(make: Make) -> None:
    def decide(request: ApprovalRequest) -> None:
        raise RuntimeError("no database")

    with make() as agent, pytest.raises(RunError, match="no database") as caught:
        agent.run("hello", on_approval=decide)
    assert caught.value.reason is RunReason.INFRASTRUCTURE


def test_a_run_that_is_cancelled_while_it_asks_expires_its_request(
    make: Make, system: System
) -> None:
    with make() as agent:
        stream = agent.stream("hello")
        request = next(event for event in stream if isinstance(event, ApprovalRequest))
        stream.cancel()
        events = list(stream)
        with pytest.raises(ApprovalExpiredError):
            request.approve()
    assert settled(events) == [("cancelled", "run")]
    assert left_of(system.host) == []


def test_an_agent_without_a_policy_needs_nobody(system: System, workspace: Path) -> None:
    with Agent(Asking(), system=system, workspace=workspace) as agent:
        assert agent.run("hello").text.startswith("not Bash: Nobody is here")
