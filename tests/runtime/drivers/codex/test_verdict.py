from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any

import pytest

from toolcrib.messages.events import Notice
from toolcrib.messages.results import RunReason, Usage
from toolcrib.messages.turn import ProcessExit, TurnOutcome
from toolcrib.runtime.drivers.codex import Codex

from .conftest import World, put
from .play import DONE, START, THREAD, dialect, events, item, play

CLEAN = ProcessExit(code=0, stderr="")
SAID = item("i0", type="agent_message", text="It is ")
FAILED = {"type": "turn.failed", "error": {"message": "no quota"}}
NEVER = "Error: thread/start failed: required MCP servers failed to initialize: "


def failed(stderr: str = "", code: int = 1) -> ProcessExit:
    return ProcessExit(code=code, stderr=stderr)


def outcome_of(
    lines: Sequence[str | Mapping[str, Any]], exit: ProcessExit = CLEAN, **about: Any
) -> TurnOutcome:
    reader = dialect(**about)
    play(reader, lines)
    return reader.ended(exit)


def test_a_success_has_the_messages_as_paragraphs() -> None:
    second = item("i1", type="agent_message", text="open.")

    outcome = outcome_of([START, SAID, second, DONE])

    assert outcome == TurnOutcome(
        ok=True,
        text="It is \n\nopen.",
        usage=Usage(input_tokens=44, output_tokens=20, cached_tokens=12),
        session_id=THREAD,
        terminal=DONE,
    )


def test_a_process_that_was_ended_after_its_success_has_succeeded() -> None:
    exit = ProcessExit(code=-15, stderr="", forced=True)

    assert outcome_of([START, SAID, DONE], exit).ok


def test_a_lost_connection_that_it_got_over_is_a_notice() -> None:
    record = {"type": "error", "message": "Reconnecting... 1/5"}
    reader = dialect()

    found = events(play(reader, [START, record, SAID, DONE]))

    assert Notice(kind="provider.error", message="Reconnecting... 1/5", data=record) in found
    assert reader.ended(CLEAN).ok


@pytest.mark.parametrize(
    ("lines", "exit", "reason", "said"),
    [
        ([START, SAID, FAILED], failed(), RunReason.PROVIDER_FAILED, "no quota"),
        ([START, SAID, FAILED], CLEAN, RunReason.PROVIDER_FAILED, "no quota"),
        ([START, SAID, DONE], failed("boom"), RunReason.PROVIDER_FAILED, "boom"),
        ([START, SAID], failed("a\nlast words\n"), RunReason.PROVIDER_DIED, "last words"),
        ([START, SAID], failed(code=-9), RunReason.PROVIDER_DIED, "signal 9"),
        ([START, SAID], CLEAN, RunReason.PROVIDER_DIED, "exit code 0"),
        (
            [START, SAID, {"type": "error", "message": "lost"}],
            failed(),
            RunReason.PROVIDER_DIED,
            "lost",
        ),
        ([SAID, DONE], CLEAN, RunReason.PROTOCOL_ERROR, "named no conversation"),
        ([START, SAID, DONE, DONE], CLEAN, RunReason.PROTOCOL_ERROR, "after its turn"),
        ([START, SAID, "{", DONE], CLEAN, RunReason.PROTOCOL_ERROR, "not valid JSON"),
        ([START, SAID, DONE, "{"], CLEAN, RunReason.PROTOCOL_ERROR, "not valid JSON"),
        ([START, SAID, '{"torn'], failed(code=-9), RunReason.PROVIDER_DIED, "signal 9"),
        (
            [START, {**START, "thread_id": "x"}, SAID, DONE],
            CLEAN,
            RunReason.PROTOCOL_ERROR,
            "different threads",
        ),
        ([{**START, "thread_id": 3}, SAID, DONE], CLEAN, RunReason.PROTOCOL_ERROR, "no text"),
    ],
)
def test_records_and_exit_code_are_judged_together(
    lines: list[Any], exit: ProcessExit, reason: RunReason, said: str
) -> None:
    outcome = outcome_of(lines, exit)

    assert (outcome.ok, outcome.reason) == (False, reason)
    assert outcome.message.startswith("codex: ")
    assert said in outcome.message
    assert outcome.text == "It is "


def test_a_failure_is_told_in_the_words_of_the_models_server() -> None:
    inner = json.dumps({"error": {"message": "bad thing", "type": "x"}})
    failure = {"type": "turn.failed", "error": {"message": inner}}

    assert "a failure: bad thing (exit" in outcome_of([START, failure], failed()).message


def test_the_error_that_it_ended_with_is_shown_without_its_backtrace() -> None:
    stderr = "x\nError loading config.toml:\n/c.toml:3:1: bad\n\nStack backtrace:\n 9: <unknown>"

    message = outcome_of([], failed(stderr)).message

    assert message.endswith("Its standard error ends: Error loading config.toml: /c.toml:3:1: bad")


@pytest.mark.parametrize(
    "servers",
    [
        "toolcrib: Environment variable X is not set",
        "other: refused (a: b); toolcrib: Environment variable X is not set",
        "toolcrib: Environment variable X is not set; other: refused",
    ],
)
def test_a_run_that_misses_its_tools_says_so_with_the_cause(servers: str) -> None:
    outcome = outcome_of([], failed(NEVER + servers))

    assert outcome.reason is RunReason.TOOLS_UNAVAILABLE
    assert "the Agent's tools: Environment variable X is not set" in outcome.message


@pytest.mark.parametrize(
    ("stderr", "about"),
    [
        (NEVER + "other: refused", {}),
        (NEVER + "other: toolcrib: refused", {}),
        (NEVER + "toolcrib: refused", {"server_key": None}),
        ("toolcrib: refused", {}),
    ],
)
def test_another_failure_is_not_taken_for_missing_tools(
    stderr: str, about: dict[str, Any]
) -> None:
    assert outcome_of([], failed(stderr), **about).reason is RunReason.PROVIDER_DIED


def test_a_conversation_that_it_does_not_know_is_rejected() -> None:
    stderr = f"Error: thread/resume failed: no rollout found for thread id {THREAD} (code -32600)"

    for exit in (failed(stderr), ProcessExit(code=0, stderr=stderr, known=False)):
        outcome = outcome_of([], exit, resume=THREAD)

        assert outcome.reason is RunReason.RESUME_REJECTED
        assert THREAD in outcome.message


@pytest.mark.parametrize(
    ("lines", "stderr", "about"),
    [
        ([], f"no rollout found for thread id {THREAD}", {}),
        ([], "no rollout found for thread id 01a22fa8-0000", {"resume": THREAD}),
        ([], f"401 Unauthorized for thread {THREAD}", {"resume": THREAD}),
        ([], "connection refused", {"resume": THREAD}),
        ([START], f"no rollout found for thread id {THREAD}", {"resume": THREAD}),
    ],
)
def test_another_failure_does_not_cost_a_conversation(
    lines: list[Any], stderr: str, about: dict[str, Any]
) -> None:
    assert outcome_of(lines, failed(stderr), **about).reason is RunReason.PROVIDER_DIED


def test_an_answer_in_another_conversation_is_no_success() -> None:
    outcome = outcome_of([{**START, "thread_id": "other"}, DONE], resume=THREAD)

    assert outcome.reason is RunReason.PROTOCOL_ERROR
    assert "other" in outcome.message


def counts(*total: int) -> str:
    names = ("input_tokens", "cached_input_tokens", "output_tokens")
    info = {"total_token_usage": dict(zip(names, total, strict=True))}
    return json.dumps({"type": "event_msg", "payload": {"type": "token_count", "info": info}})


@pytest.mark.parametrize(
    ("lines", "usage"),
    [
        (
            [
                counts(1, 0, 1),
                '{"payload": {"text": "\\"token_count\\""}}',
                counts(30, 9, 15),
                "{",
            ],
            Usage(input_tokens=14, output_tokens=5, cached_tokens=3),
        ),
        (
            [counts(30, 9, 15), '{"payload": {"type": "token_count", "info": null}}'],
            Usage(input_tokens=14, output_tokens=5, cached_tokens=3),
        ),
        ([counts(99, 0, 15)], Usage(output_tokens=5, cached_tokens=12)),
        (['{"token_count": "token_count"}'], None),
        ([], None),
    ],
)
def test_the_usage_of_a_turn_is_what_the_conversation_did_not_use_before(
    world: World, lines: list[str], usage: Usage | None
) -> None:
    clone = world.clone(Codex())
    put(clone.profile / "sessions" / f"rollout-x-{THREAD}.jsonl", "\n".join(lines))

    reader = Codex().dialect(world.request(clone, resume=THREAD))
    play(reader, [START, SAID, DONE])

    assert reader.ended(CLEAN).usage == usage


@pytest.mark.parametrize("usage", [None, 3, {}, {"input_tokens": "x", "output_tokens": True}])
def test_counts_that_are_none_are_unknown(usage: Any) -> None:
    assert outcome_of([START, {**DONE, "usage": usage}]).usage is None
