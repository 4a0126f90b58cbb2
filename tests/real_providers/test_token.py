"""The token: where it is, and where it never is."""

from __future__ import annotations

import json

import pytest

from toolcrib import MemoryStore

from .conftest import Scene

pytestmark = [pytest.mark.slow, pytest.mark.timeout(200)]

# Whose shell tool passes the token on to the commands that the model runs.
SHELL_HAS_TOKEN = {"codex": False, "claude": True, "codebuddy": True}


def test_the_token_is_in_no_argument_and_no_file_while_a_tool_runs(whole: Scene) -> None:
    looks = [line for host in whole.hosts for line in host.all("call")]
    assert len(looks) == 2
    assert all(
        line["token"] and line["token"] == host.token
        for host in whole.hosts
        for line in host.all("call")
    )
    assert [line["leaks"] for line in looks] == [[], []]


def test_the_token_is_in_no_file_after_a_turn_nor_after_close(whole: Scene) -> None:
    # Among the files is all that the provider wrote to standard output and error.
    assert [turn["leaks"] for host in whole.hosts for turn in host.turns] == [[]] * 4
    assert [host.leaks for host in whole.hosts] == [[], []]
    assert (whole.folder / "record" / "provider.out").stat().st_size > 0


def test_the_token_is_in_no_file_when_the_provider_was_killed(broken: Scene) -> None:
    host = broken.host
    assert [line["leaks"] for line in host.all("call")] == [[], [], []]
    assert [turn["leaks"] for turn in host.turns] == [[], [], []]
    assert host.leaks == []


def test_the_token_is_in_no_file_when_the_host_was_killed(broken: Scene) -> None:
    dead = broken.hosts[1]
    assert dead.token
    assert dead.leaks == []


def test_what_the_models_shell_sees_of_the_token_is_what_the_page_says(told: Scene) -> None:
    (printed,) = told.asked("Print.")[-1]["results"]
    assert "TOOLCRIB_HOST" in printed  # it is an environment, and whole
    assert (told.host.token in printed) == SHELL_HAS_TOKEN[told.provider]
    assert (told.host.variable in printed) == SHELL_HAS_TOKEN[told.provider]


def test_a_printed_token_is_masked_in_events_result_and_kept_conversation(told: Scene) -> None:
    turn = told.host.turns[1]
    assert turn["error"] is None, turn["error"]
    assert "TOOLCRIB_HOST" in turn["result"]["text"]
    assert told.host.token not in json.dumps(turn)
    record = MemoryStore.load_from(told.folder / "threads.json").load("t")
    assert record is not None
    kept = b"".join(file.data for file in record.files)
    assert b"TOOLCRIB_HOST" in kept
    assert told.host.token.encode() not in kept
    assert told.host.token not in told.host.stderr
