"""What goes to the process's standard input, and when it is closed."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any

import pytest

from toolcrib import Claude, CodeBuddy
from toolcrib.runtime.drivers.interface import CloseInput, Finished, Step, Write

from .conftest import CLEAN, DONE, INIT, Either, dialect, play, said, system, use

OVER = system("task_notification", task_id="t1", status="completed")
STARTED = system("task_started", task_id="t1", task_type="local_bash")


def written(steps: Sequence[Step]) -> list[dict[str, Any]]:
    data = [step.data for step in steps if isinstance(step, Write)]
    assert all(part.endswith(b"\n") and part.count(b"\n") == 1 for part in data)
    return [json.loads(part) for part in data]


def endings(steps: Sequence[Step]) -> list[Step]:
    return [step for step in steps if isinstance(step, CloseInput | Finished)]


def answered(driver: Either, record: Mapping[str, Any]) -> dict[str, Any]:
    (frame,) = written(play(dialect(driver), [INIT, record]))
    assert frame["type"] == "control_response"
    assert frame["response"]["request_id"] == "r1"
    response: dict[str, Any] = frame["response"]
    return response


def test_claude_gets_the_prompt_at_once_and_keeps_its_input() -> None:
    steps = dialect(Claude(), prompt="Grüße\n \ud800").opening()

    (frame,) = written(steps)
    assert (frame["type"], frame["message"]["content"]) == ("user", "Grüße\n ?")
    assert endings(steps) == []


def test_codebuddy_gets_the_prompt_once_it_is_initialized() -> None:
    reader = dialect(CodeBuddy())
    response = {"subtype": "success", "request_id": "toolcrib-initialize", "response": {}}

    opening = written(reader.opening())
    others: list[dict[str, Any]] = [
        {"response": {**response, "request_id": "x"}},
        {"response": None},
        {},
    ]
    before = play(reader, [{"type": "control_response", **other} for other in others])
    then = written(play(reader, [{"type": "control_response", "response": response}]))

    assert [frame["request"]["subtype"] for frame in opening] == ["initialize"]
    assert before == []
    assert [frame["message"]["content"] for frame in then] == ["Hi"]


@pytest.mark.parametrize("request_", [None, {"subtype": "hook_callback"}, {}])
def test_a_request_that_is_not_known_is_answered_all_the_same(
    driver: Either, request_: Any
) -> None:
    record = {"type": "control_request", "request_id": "r1", "request": request_}

    assert answered(driver, record)["subtype"] == "error"


def test_the_input_closes_with_the_result(driver: Either) -> None:
    assert endings(play(dialect(driver), [INIT, said("a"), DONE])) == [Finished()]


@pytest.mark.parametrize(
    "ending",
    [
        OVER,
        system("task_updated", task_id="t1", patch={"status": "failed"}),
        system("background_tasks_changed", tasks=[]),
    ],
)
def test_the_input_stays_open_while_work_goes_on_behind_a_result(
    driver: Either, ending: dict[str, Any]
) -> None:
    reader = dialect(driver)

    first = play(reader, [INIT, STARTED, said("I wait."), DONE])
    between = play(reader, [system("task_updated", task_id="t1", patch={"status": "running"})])
    after = play(
        reader,
        [ending, said(use("c1", "mcp__toolcrib__lookup_issue"), "Done.", message="m2"), DONE],
    )

    assert endings([*first, *between]) == []
    assert endings(after) == [Finished()]
    assert reader.ended(CLEAN).text == "I wait.\n\nDone."


def test_turns_that_wait_keep_the_input_open() -> None:
    reader = dialect(Claude())

    assert endings(play(reader, [INIT, {**DONE, "queued_turn_count": 1}])) == []
    assert endings(play(reader, [{**DONE, "queued_turn_count": 0}])) == [Finished()]


def test_a_task_that_ended_before_the_result_leaves_it_to_the_provider(driver: Either) -> None:
    # It may go on about that task, or have done so; it ends by itself then.
    reader = dialect(driver)

    assert endings(play(reader, [INIT, STARTED, OVER, DONE])) == [CloseInput()]
    assert endings(play(reader, [said("More."), DONE])) == [Finished()]


@pytest.mark.parametrize(
    "started",
    [
        system("task_started", task_id="t1", task_type="Agent"),
        system("task_started", task_id="t1", is_backgrounded=False),
    ],
)
def test_agents_that_never_end_and_work_in_front_hold_nothing_up(
    driver: Either, started: dict[str, Any]
) -> None:
    assert endings(play(dialect(driver), [INIT, started, DONE])) == [Finished()]
