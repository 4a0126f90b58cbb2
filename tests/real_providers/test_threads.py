"""A conversation goes on: in the same host, and in another one."""

from __future__ import annotations

import pytest

from .conftest import UNKNOWN, Scene

pytestmark = [pytest.mark.slow, pytest.mark.timeout(200)]


def test_the_second_turn_of_a_host_resumes_the_conversation(whole: Scene) -> None:
    first, second = whole.host.turns
    assert second["error"] is None, second["error"]
    assert second["result"]["session_id"] == first["result"]["session_id"]
    history = str(whole.asked("milk")[0]["messages"])
    assert "ISSUE-42" in history
    assert "open-7731" in history


def test_another_host_goes_on_from_nothing_but_the_stored_thread(whole: Scene) -> None:
    one, two = whole.hosts
    turn = two.turns[0]
    assert turn["error"] is None, turn["error"]
    assert turn["result"]["session_id"] == one.turns[0]["result"]["session_id"]
    history = str(whole.asked("ISSUE-43")[0]["messages"])
    assert "ISSUE-42" in history
    assert "noted: milk" in history
    assert "Title of ISSUE-43" in turn["result"]["text"]


def test_the_next_host_has_an_endpoint_token_variable_and_clone_of_its_own(whole: Scene) -> None:
    one, two = whole.hosts
    assert one.token != two.token
    assert one.variable != two.variable
    assert {request["host"] for request in whole.of(one)}.isdisjoint(
        request["host"] for request in whole.of(two)
    )
    assert one.clones
    assert set(one.clones).isdisjoint(two.clones)
    # Both turns of the first host were in the same clone.
    assert len(one.clones) == 1


def test_an_unknown_conversation_is_told_apart_from_other_failures(whole: Scene) -> None:
    error = whole.hosts[1].turns[1]["error"]
    assert error is not None
    assert error["type"] == "ResumeRejectedError"
    assert error["reason"] == "resume_rejected"
    assert UNKNOWN in error["message"]
    assert not whole.asked("Who are you?")
