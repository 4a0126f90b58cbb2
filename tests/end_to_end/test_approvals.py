"""Approvals through the public API, with a process that asks as Claude Code does."""

from __future__ import annotations

import asyncio
import copy
import pickle
import queue
import threading
from pathlib import Path

import pytest
from asking_claude import (
    BASH,
    CALL,
    PLAN,
    QUESTION,
    Make,
    check,
    maker,
    nothing,
    outcomes,
    read,
    refusal,
    requests,
)

from toolcrib import (
    ApprovalDetachedError,
    ApprovalExpiredError,
    ApprovalKindError,
    ApprovalRequest,
    ApprovalResolvedError,
    Approvals,
    ApprovalSettled,
    Event,
    Policy,
    RunError,
    RunReason,
    System,
    Tracer,
    tool,
)

from .conftest import WAIT, left_of


@pytest.fixture
def make(system: System, workspace: Path, tmp_path: Path) -> Make:
    return maker(system, workspace, tmp_path)


@pytest.mark.parametrize(
    ("arguments", "said"),
    [(None, "ran rm notes.txt"), ({"command": "ls"}, "ran ls"), ({}, None)],
    ids=["as asked", "edited", "emptied"],
)
def test_an_approval_lets_the_provider_go_on_with_its_arguments(
    make: Make, arguments: dict[str, str] | None, said: str | None
) -> None:
    step = BASH if said else {**BASH, "on_allow": [{"say": "{{results.run.arguments}}"}]}
    with make(step) as agent:
        stream = agent.stream("hello")
        events = read(stream, lambda request: request.approve(arguments))
        assert stream.result().text == (said or "{}")

    (request,) = requests(events)
    assert (request.kind, request.tool, request.hosted) == ("permission", "Bash", False)
    assert request.arguments == {"command": "rm notes.txt"}
    assert outcomes(events) == [("approved", "application")]


@pytest.mark.parametrize("rule", ["abort", "continue", "retry"])
def test_a_denial_is_followed_as_the_policy_says(make: Make, system: System, rule: str) -> None:
    with make(rules={"on_reject": rule, "max_retries": 2}) as agent:
        stream = agent.stream("hello")
        events = read(stream, lambda request: request.deny("not on Sundays"))
        if rule == "continue":
            assert stream.result().text == "denied: not on Sundays"
        else:
            error = refusal(stream)
            assert error.reason is RunReason.APPROVAL_DENIED
            assert "Bash" in str(error)
            assert "not on Sundays" in str(error)

    attempts = 3 if rule == "retry" else 1
    assert outcomes(events) == [("denied", "application")] * attempts
    assert [request.attempt for request in requests(events)] == list(range(1, attempts + 1))
    assert len({request.request_id for request in requests(events)}) == attempts
    assert left_of(system.host) == []


@pytest.mark.parametrize("rule", ["abort", "continue", "retry"])
def test_a_deadline_that_passes_is_followed_as_the_policy_says(make: Make, rule: str) -> None:
    with make(rules={"on_timeout": rule, "timeout": 0.2, "max_retries": 1}) as agent:
        stream = agent.stream("hello")
        events = read(stream, nothing)
        if rule == "continue":
            assert "nobody decided" in stream.result().text
        else:
            assert refusal(stream).reason is RunReason.APPROVAL_TIMED_OUT

    assert outcomes(events) == [("timed_out", "deadline")] * (2 if rule == "retry" else 1)
    for request in requests(events):
        with pytest.raises(ApprovalExpiredError):
            request.approve()


def test_what_is_asked_again_may_be_approved(make: Make) -> None:
    with make(rules={"on_reject": "retry", "on_timeout": "retry"}) as agent:
        stream = agent.stream("hello")
        events = read(
            stream, lambda request: request.approve() if request.attempt == 3 else request.deny()
        )
        assert stream.result().text == "ran rm notes.txt"
    assert outcomes(events) == [
        ("denied", "application"),
        ("denied", "application"),
        ("approved", "application"),
    ]


@pytest.mark.parametrize("rule", ["abort", "continue"])
def test_with_nobody_there_it_is_denied(make: Make, rule: str) -> None:
    with make(rules={"on_reject": rule}) as agent:
        if rule == "continue":
            assert agent.run("hello").text.startswith("denied: Nobody is here")
            return
        with pytest.raises(RunError, match="Nobody is here") as caught:
            agent.run("hello")
    assert caught.value.reason is RunReason.APPROVAL_DENIED


def test_another_thread_decides(make: Make) -> None:
    waiting: queue.SimpleQueue[ApprovalRequest] = queue.SimpleQueue()
    decider = threading.Thread(target=lambda: waiting.get(timeout=WAIT).approve())
    decider.start()
    with make() as agent:
        stream = agent.stream("hello")
        read(stream, waiting.put)
        assert stream.result().text == "ran rm notes.txt"
    decider.join(WAIT)


def test_another_task_decides(make: Make) -> None:
    async def main() -> str:
        waiting: asyncio.Queue[ApprovalRequest] = asyncio.Queue()

        async def decide() -> None:
            await (await waiting.get()).aapprove({"command": "ls"})

        async with make() as agent, asyncio.TaskGroup() as tasks:
            tasks.create_task(decide())
            stream = agent.stream("hello")
            async for event in stream:
                if isinstance(event, ApprovalRequest):
                    waiting.put_nowait(event)
            return (await stream.aresult()).text

    assert asyncio.run(main()) == "ran ls"


@pytest.mark.parametrize("kind", ["sync", "async", "handed on"])
def test_a_callback_decides(make: Make, kind: str) -> None:
    waiting: queue.SimpleQueue[ApprovalRequest] = queue.SimpleQueue()

    async def later(request: ApprovalRequest) -> None:
        await asyncio.sleep(0)
        await request.aapprove()

    callbacks = {"sync": ApprovalRequest.approve, "async": later, "handed on": waiting.put}
    with make(on_approval=callbacks[kind]) as agent:
        stream = agent.stream("hello")
        if kind == "handed on":
            waiting.get(timeout=WAIT).approve()
        events = read(stream, nothing)
        assert stream.result().text == "ran rm notes.txt"
    assert outcomes(events) == [("approved", "application")]


@pytest.mark.parametrize("kind", ["sync", "async"])
def test_a_callback_that_raises_fails_the_run(make: Make, kind: str) -> None:
    def decide(request: ApprovalRequest) -> None:
        raise RuntimeError("no database")

    async def adecide(request: ApprovalRequest) -> None:
        raise RuntimeError("no database")

    with make(on_approval=decide if kind == "sync" else adecide) as agent:
        stream = agent.stream("hello")
        events = read(stream, nothing)
        error = refusal(stream)
    assert error.reason is RunReason.INFRASTRUCTURE
    assert isinstance(error.__cause__, RuntimeError)
    assert outcomes(events) == [("denied", "application")]


def test_a_callback_that_decides_too_late_does_not_fail_the_run(
    make: Make, tracer: Tracer, workspace: Path
) -> None:
    over = threading.Event()

    def decide(request: ApprovalRequest) -> None:
        assert over.wait(WAIT)
        request.approve()

    step = {**BASH, "on_deny": [{"wait_for_file": "go"}, {"say": "without it"}]}
    rules = {"on_timeout": "continue", "timeout": 0.2}
    with make(step, on_approval=decide, rules=rules) as agent:
        stream = agent.stream("hello")
        for event in stream:
            if isinstance(event, ApprovalSettled):
                over.set()
                tracer.wait_for(lambda entry: entry.kind == "CallbackFailed", WAIT)
                (workspace / "go").touch()
        assert stream.result(WAIT).text == "without it"


def test_a_callback_that_decides_after_somebody_else_does_not_fail_the_run(
    make: Make, tracer: Tracer, workspace: Path
) -> None:
    def decide(request: ApprovalRequest) -> None:
        request.approve()
        request.deny("a second thought")

    step = {**BASH, "on_allow": [{"wait_for_file": "go"}, {"say": "allowed"}]}
    with make(step, on_approval=decide) as agent:
        stream = agent.stream("hello")
        tracer.wait_for(lambda entry: entry.kind == "CallbackFailed", WAIT)
        (workspace / "go").touch()
        assert stream.result(WAIT).text == "allowed"


@pytest.mark.parametrize(
    ("answer", "heard"),
    [("Red", "Red"), ("Blue", "Blue"), ("Something between", "Something between")],
    ids=["by key", "by label", "in free text"],
)
def test_a_question_is_answered(make: Make, answer: str, heard: str) -> None:
    with make(QUESTION) as agent:
        stream = agent.stream("hello")
        events = read(stream, lambda request: request.answer(answer))
        assert stream.result().text == f"painted {heard}"

    (request,) = requests(events)
    assert (request.kind, request.title) == ("question", "Which colour?")
    assert [(c.key, c.label, c.description) for c in request.choices] == [
        ("Red", "Red", ""),
        ("Blue", "Blue", "cold"),
    ]
    assert outcomes(events) == [("answered", "application")]


def test_a_question_that_nobody_wants_to_answer_is_denied(make: Make) -> None:
    with make(QUESTION, rules={"on_reject": "continue"}) as agent:
        stream = agent.stream("hello")
        events = read(stream, lambda request: request.deny("Ask nobody."))
        assert stream.result().text == "denied: Ask nobody."
    assert outcomes(events) == [("denied", "application")]


def test_a_plan_is_approved_or_sent_back(make: Make) -> None:
    with make(PLAN, PLAN, rules={"on_reject": "continue"}) as agent:
        stream = agent.stream("hello")
        shorter = iter((True, False))
        events = read(stream, lambda r: r.deny("Shorter.") if next(shorter) else r.approve())
        assert stream.result().text == "denied: Shorter.\n\npainted"
    assert [request.arguments for request in requests(events)] == [{"plan": "# Paint it"}] * 2
    assert [request.kind for request in requests(events)] == ["plan_review"] * 2
    assert outcomes(events) == [("denied", "application"), ("approved", "application")]


def test_only_the_first_decision_of_the_right_kind_and_place_counts(make: Make) -> None:
    def decide(request: ApprovalRequest) -> None:
        for copied in (copy.deepcopy(request), pickle.loads(pickle.dumps(request))):  # noqa: S301
            with pytest.raises(ApprovalDetachedError):
                copied.approve()
        question = request.kind == "question"
        with pytest.raises(ApprovalKindError):
            request.approve() if question else request.answer("Red")
        request.answer("Red") if question else request.approve()
        for again in (request, copy.copy(request)):
            with pytest.raises(ApprovalResolvedError):
                again.deny()

    with make(BASH, QUESTION) as agent:
        stream = agent.stream("hello")
        events = read(stream, decide)
        assert stream.result().text == "ran rm notes.txt\n\npainted Red"
    for request in requests(events):
        with pytest.raises(ApprovalResolvedError):
            request.deny()


@pytest.mark.parametrize("way", ["cancel", "close"])
def test_a_run_that_ends_while_it_asks_expires_its_requests(
    make: Make, system: System, way: str
) -> None:
    both = {"together": [BASH, QUESTION]}
    with make(both) as agent:
        stream = agent.stream("hello")
        events: list[Event] = []
        for event in stream:
            events.append(event)
            if len(requests(events)) == 2 and isinstance(event, ApprovalRequest):
                stream.cancel() if way == "cancel" else agent.close(WAIT)
        check(events)
        assert refusal(stream).reason is RunReason.CANCELLED
    assert outcomes(events) == [("cancelled", "run")] * 2
    for request in requests(events):
        with pytest.raises(ApprovalExpiredError):
            request.deny()
    assert left_of(system.host) == []


def test_a_process_that_dies_while_it_asks_expires_its_request(make: Make, system: System) -> None:
    # The one that is answered first ends the process while the other waits.
    ends = {**BASH, "arguments": {"command": "first"}, "on_allow": [{"die": "SIGKILL"}]}
    with make({"together": [ends, QUESTION]}) as agent:
        stream = agent.stream("hello")
        events = read(stream, lambda r: r.approve() if r.kind == "permission" else None)
        assert refusal(stream).reason is RunReason.PROVIDER_DIED
    assert sorted(outcomes(events)) == [("approved", "application"), ("cancelled", "run")]
    assert left_of(system.host) == []


def test_a_request_that_the_provider_takes_back_is_over(make: Make, workspace: Path) -> None:
    step = {**BASH, "withdraw": "enough", "on_deny": [{"say": "{{error.code}}"}]}
    with make(step) as agent:
        stream = agent.stream("hello")
        events = read(stream, lambda _: (workspace / "enough").touch())
        assert stream.result().text == "withdrawn"
    assert outcomes(events) == [("cancelled", "run")]
    with pytest.raises(ApprovalExpiredError):
        requests(events)[0].approve()


@pytest.mark.parametrize("mode", ["ask", "auto_approve", "auto_reject", None])
def test_hosted_tools_follow_the_policy_as_anything_else(make: Make, mode: str | None) -> None:
    calls: list[str] = []

    @tool.define(read_only=True, destructive=False)
    def look_up(key: str) -> str:
        """Look one issue up.

        Args:
            key: The issue's key.
        """
        calls.append(key)
        return f"it of {key}"

    rules = Approvals(permission=mode, on_reject="continue")  # type: ignore[arg-type]
    with make(CALL, policy=Policy(approvals=rules), tools=[look_up]) as agent:
        stream = agent.stream("hello")
        events = read(stream, lambda request: request.approve({"key": "ISSUE-43"}))
        text = stream.result().text

    asked = [(r.tool, r.hosted, dict(r.arguments)) for r in requests(events)]
    assert asked == ([("look_up", True, {"key": "ISSUE-42"})] if mode == "ask" else [])
    used = {"ask": "ISSUE-43", "auto_approve": "ISSUE-42", None: "ISSUE-42"}.get(mode)
    assert calls == ([used] if used else [])
    assert text == f"found it of {used}" if used else text.startswith("denied: The policy")
    settled = {"ask": [("approved", "application")], "auto_reject": [("denied", "policy")]}
    assert outcomes(events) == settled.get(str(mode), [])


@pytest.mark.parametrize("mode", ["auto_approve", "auto_reject", None])
def test_what_the_policy_decides_asks_nobody(make: Make, mode: str | None) -> None:
    # That something else is asked has the provider ask at all.
    rules = {"permission": mode, "on_reject": "continue"}
    with make(rules=rules, on_approval=lambda request: request.deny()) as agent:
        stream = agent.stream("hello")
        events = read(stream, nothing)
        text = stream.result().text
    assert requests(events) == []
    if mode == "auto_approve":
        assert (text, outcomes(events)) == ("ran rm notes.txt", [("approved", "policy")])
    else:
        who = "policy" if mode else "nobody"
        assert text.startswith("denied: ")
        assert outcomes(events) == [("denied", who)]
