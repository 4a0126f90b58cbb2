"""Several requests for approvals at once, and several who decide them."""

from __future__ import annotations

import queue
import threading
from collections import Counter
from concurrent.futures import Future, ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest
from asking_claude import (
    BASH,
    Make,
    check,
    maker,
    nothing,
    outcomes,
    read,
    refusal,
)

from toolcrib import (
    ApprovalExpiredError,
    ApprovalRequest,
    ApprovalResolvedError,
    ApprovalSettled,
    RunReason,
    System,
)

from .conftest import WAIT


@pytest.fixture
def make(system: System, workspace: Path, tmp_path: Path) -> Make:
    return maker(system, workspace, tmp_path)


def several(count: int) -> dict[str, Any]:
    """A step that asks for many things at once, and tells what each came to."""
    return {
        "together": [
            {**BASH, "arguments": {"command": f"{number}"}, "save": f"run{number}"}
            | {
                "on_allow": [
                    {"say": f"[{number} as {{{{results.run{number}.arguments.command}}}}]"}
                ]
            }
            for number in range(count)
        ]
    }


def test_several_open_requests_are_not_mixed_up(make: Make) -> None:
    with make(several(5)) as agent:
        stream = agent.stream("hello")
        waiting: list[ApprovalRequest] = []

        def decide(request: ApprovalRequest) -> None:
            waiting.append(request)
            if len(waiting) == 5:
                for each in (waiting[place] for place in (3, 0, 4, 2, 1)):
                    each.approve({"command": f"new {each.arguments['command']}"})

        events = read(stream, decide)
        text = stream.result().text
    for number in range(5):
        assert f"[{number} as new {number}]" in text
    ids = [request.request_id for request in waiting]
    settled = [event.request_id for event in events if isinstance(event, ApprovalSettled)]
    assert settled == [ids[place] for place in (3, 0, 4, 2, 1)]
    assert len({request.call_id for request in waiting}) == 5


def test_a_denial_that_ends_the_run_cancels_what_else_is_open(make: Make) -> None:
    with make(several(3)) as agent:
        stream = agent.stream("hello")
        waiting: list[ApprovalRequest] = []

        def decide(request: ApprovalRequest) -> None:
            waiting.append(request)
            if len(waiting) == 3:
                request.deny()

        events = read(stream, decide)
        assert refusal(stream).reason is RunReason.APPROVAL_DENIED
    assert Counter(outcomes(events)) == {("denied", "application"): 1, ("cancelled", "run"): 2}


def test_a_reader_who_does_not_read_keeps_no_approval_waiting(make: Make) -> None:
    flood = {"flood": 2000, "text": "x"}
    with make(flood, BASH, on_approval=ApprovalRequest.approve, event_buffer=16) as agent:
        stream = agent.stream("hello")
        assert stream.result(WAIT).text.endswith("ran rm notes.txt")
        events = list(stream)
    check(events)
    assert outcomes(events) == [("approved", "application")]


def test_of_many_threads_that_decide_one_wins(make: Make) -> None:
    with make() as agent, ThreadPoolExecutor(8) as pool:
        stream = agent.stream("hello")
        start = threading.Barrier(8)

        def approve(request: ApprovalRequest, number: int) -> str | None:
            start.wait(WAIT)
            try:
                request.approve({"command": f"{number}"})
            except ApprovalResolvedError:
                return None
            return f"ran {number}"

        tries: list[Future[str | None]] = []
        events = read(
            stream,
            lambda request: tries.extend(
                pool.submit(approve, request, number) for number in range(8)
            ),
        )
        won = [text for text in (each.result(WAIT) for each in tries) if text]
        assert [stream.result().text] == won
    assert outcomes(events) == [("approved", "application")]


def test_a_decision_that_races_with_the_deadline_counts_or_expires(make: Make) -> None:
    with make(rules={"timeout": 0.05, "on_timeout": "continue"}) as agent:
        stream = agent.stream("hello")
        told: list[str] = []

        def decide(request: ApprovalRequest) -> None:
            def approve() -> None:
                try:
                    request.approve()
                except ApprovalExpiredError:
                    told.append("expired")
                else:
                    told.append("counted")

            timer = threading.Timer(0.05, approve)
            timer.start()
            timer.join(WAIT)

        events = read(stream, decide)
        text = stream.result().text
    expected = {
        "counted": ([("approved", "application")], "ran rm notes.txt"),
        "expired": ([("timed_out", "deadline")], "denied: nobody decided within 0.05 s"),
    }
    assert (outcomes(events), text) == expected[told[0]]


def test_runs_that_ask_at_the_same_time_get_their_own_answers(make: Make) -> None:
    step = {**BASH, "arguments": {"command": "{{prompt}}"}}
    waiting: queue.SimpleQueue[ApprovalRequest | None] = queue.SimpleQueue()

    def work() -> None:
        while (request := waiting.get(timeout=WAIT)) is not None:
            request.approve({"command": f"{request.arguments['command']} indeed"})

    workers = [threading.Thread(target=work) for _ in range(3)]
    for worker in workers:
        worker.start()
    with make(step, on_approval=waiting.put) as agent:
        streams = [agent.stream(f"run {number}") for number in range(4)]
        events = [read(stream, nothing) for stream in streams]
        texts = [stream.result(WAIT).text for stream in streams]
    for _ in workers:
        waiting.put(None)
    for worker in workers:
        worker.join(WAIT)
    assert texts == [f"ran run {number} indeed" for number in range(4)]
    assert [outcomes(each) for each in events] == [[("approved", "application")]] * 4
