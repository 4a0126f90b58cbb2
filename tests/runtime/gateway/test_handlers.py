"""What handlers do, seen by a client of a real listener, and what they can't do to others."""

from __future__ import annotations

import asyncio
import contextvars
import json
import logging
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass
from decimal import Decimal
from typing import Any

import pytest
from mcp import Client as OfficialClient

from toolcrib import tool

from .conftest import DEADLINE, Client, Counter, Gate, Opener
from .test_official_client import Mode, connected

variable: contextvars.ContextVar[str] = contextvars.ContextVar("variable", default="unset")
SOON = 1.0  # how long a handler may go without knowing that it should stop, in seconds


@dataclass
class Held:
    """A handler that knows of its end but does not return."""

    entered: threading.Event
    told: threading.Event
    threads: list[str]
    opened: threading.Event
    kind: str

    def tool(self) -> tool.Tool:
        def sync(context: tool.Context) -> str:
            self.entered.set()
            context.wait_cancelled()
            self.threads.append(threading.current_thread().name)
            self.told.set()
            self.opened.wait()
            return "late"

        async def waiting() -> str:
            self.entered.set()
            try:
                await asyncio.sleep(3600)
            except asyncio.CancelledError:
                self.threads.append(threading.current_thread().name)
                self.told.set()
            await asyncio.to_thread(self.opened.wait)
            return "late"

        handler: Callable[..., object] = sync if self.kind == "sync" else waiting
        return tool.define("hold", "Hold.", handler)


@pytest.fixture(params=["sync", "async"])
def held(request: pytest.FixtureRequest) -> Any:
    made = Held(threading.Event(), threading.Event(), [], threading.Event(), request.param)
    yield made
    made.opened.set()


def leave(counter: Counter, client: Client) -> None:
    client.close()


def revoke(counter: Counter, client: Client) -> None:
    counter.registration.cancel()


@pytest.mark.parametrize("end", [leave, revoke])
def test_a_call_that_is_over_is_told_soon_and_holds_nobody_else_even_if_it_goes_on(
    open_counter: Opener, held: Held, echo: tool.Tool, end: Callable[[Counter, Client], None]
) -> None:
    counter = open_counter(held.tool())
    other = counter.register(echo, agent="other")
    client = counter.connect().send(counter.call_bytes("hold"))
    assert held.entered.wait(DEADLINE)

    began = time.monotonic()
    end(counter, client)
    assert held.told.wait(DEADLINE)
    assert time.monotonic() - began < SOON

    # It has been told, by a thread of its own, and stays.
    assert counter.call("echo", {"text": "hi"}, token=other).status == 200
    assert time.monotonic() - began < 2 * SOON
    assert counter.registration.running == ("hold",)
    (thread,) = held.threads
    assert thread.startswith(
        {"sync": "toolcrib-gateway-worker", "async": "toolcrib-system-async"}[held.kind]
    )
    idle = threading.Event()
    counter.registration.when_idle(idle.set)
    assert not idle.is_set()
    held.opened.set()
    assert idle.wait(DEADLINE)
    assert not counter.registration.running


def test_a_deadline_answers_soon_whether_the_handler_ends_or_not(
    open_counter: Opener, held: Held, echo: tool.Tool
) -> None:
    counter = open_counter(held.tool(), echo, deadline=0.3)
    began = time.monotonic()
    assert counter.call("hold").failure["code"] == "deadline_exceeded"
    assert held.told.wait(DEADLINE)
    assert time.monotonic() - began < 0.3 + SOON
    assert counter.registration.running == ("hold",)
    assert counter.call("echo", {"text": "hi"}).status == 200


def test_close_is_not_held_by_a_handler_that_goes_on(open_counter: Opener, held: Held) -> None:
    counter = open_counter(held.tool())
    client = counter.connect().send(counter.call_bytes("hold"))
    assert held.entered.wait(DEADLINE)
    began = time.monotonic()
    assert not counter.listener.close(0.3)
    assert time.monotonic() - began < 0.3 + 2 * SOON
    assert client.answer().failure["code"] == "canceled"
    assert held.told.wait(DEADLINE)
    assert counter.registration.running == ("hold",)


def test_a_handler_that_blocks_the_loop_holds_no_ping_and_no_sync_tool(
    open_counter: Opener, echo: tool.Tool, gate: Gate
) -> None:
    async def block() -> None:
        gate.entered.release()
        gate.opened.wait()

    async def fine() -> str:
        await asyncio.sleep(0)
        return "fine"

    counter = open_counter(
        tool.define("block", "Block.", block), tool.define("fine", "Fine.", fine), echo
    )
    blocked = counter.connect().send(counter.call_bytes("block"))
    gate.wait_entered()
    began = time.monotonic()
    assert counter.message("ping").status == 200
    assert counter.call("echo", {"text": "hi"}).status == 200
    assert time.monotonic() - began < SOON
    # Async ones go on after a while, on another loop.
    assert counter.call("fine").result["structuredContent"] == {"result": "fine"}
    gate.opened.set()
    assert blocked.answer().result["isError"] is False


def test_handlers_see_the_variables_of_the_agents_construction_and_change_nobody_elses(
    open_counter: Opener,
) -> None:
    def sync() -> str:
        seen = variable.get()
        variable.set("changed by a call")
        return seen

    async def waiting() -> str:
        await asyncio.sleep(0)
        return sync()

    before = variable.set("at construction")
    counter = open_counter(
        tool.define("sync", "Look.", sync), tool.define("waiting", "Look.", waiting)
    )
    variable.set("between construction and run")
    try:
        for name in ("sync", "waiting") * 2:
            assert counter.call(name).result["structuredContent"] == {"result": "at construction"}
        assert variable.get() == "between construction and run"
        assert counter.registration.context[variable] == "at construction"
    finally:
        variable.reset(before)


@dataclass
class Numbers:
    whole: int
    parts: list[float]
    price: str


LARGE = 123456789012345678901234567890123456789
PRICE = "79228162514264337593543950335.1234567890123456789"


@pytest.mark.parametrize("mode", ["legacy", "auto"])
def test_numbers_of_any_size_survive_both_ways_through_the_official_client(
    open_counter: Opener, mode: Mode
) -> None:
    given: list[Numbers] = []

    def keep(numbers: Numbers) -> Numbers:
        given.append(numbers)
        return Numbers(numbers.whole + 1, numbers.parts, str(Decimal(numbers.price) + 1))

    counter = open_counter(tool.define("keep", "Keep.", keep))
    parts = [0.1, 1e-308, 1.7976931348623157e308, -0.0, 2.0**53 + 2]

    async def use(client: OfficialClient) -> Any:
        return await client.call_tool("keep", {"whole": LARGE, "parts": parts, "price": PRICE})

    result = connected(counter, mode, use)

    assert given == [Numbers(LARGE, parts, PRICE)]
    expected = {"whole": LARGE + 1, "parts": parts, "price": str(Decimal(PRICE) + 1)}
    assert result.structured_content == expected
    assert type(result.structured_content["whole"]) is int
    assert json.loads(result.content[0].text) == expected
    assert str(LARGE + 1) in result.content[0].text


def raising(make: Callable[[], BaseException]) -> list[tool.Tool]:
    def sync() -> None:
        raise make()

    async def waiting() -> None:
        await asyncio.sleep(0)
        raise make()

    return [tool.define("sync", "Raise.", sync), tool.define("waiting", "Raise.", waiting)]


def from_a_rejection() -> Exception:
    error = RuntimeError("secret")
    error.__cause__ = tool.reject("not_found", "Choose another.")
    return error


def a_group_of_rejections() -> BaseException:
    return ExceptionGroup("secret", [ValueError("secret"), from_a_rejection()])


@pytest.mark.parametrize("make", [from_a_rejection, a_group_of_rejections])
def test_a_rejection_inside_another_error_reaches_the_model_alone(
    open_counter: Opener, caplog: pytest.LogCaptureFixture, make: Callable[[], BaseException]
) -> None:
    counter = open_counter(*raising(make))
    with caplog.at_level(logging.INFO, "toolcrib"):
        for name in ("sync", "waiting"):
            reply = counter.call(name)
            assert reply.failure == {"code": "not_found", "message": "Choose another."}
            assert b"secret" not in reply.body
    told = [record for record in caplog.records if record.name == "toolcrib.tools"]
    assert [record.levelno for record in told] == [logging.INFO] * 2
    assert not any(record.exc_info for record in told)


class Lookalike(Exception):
    code = "forged"
    message = "secret"
    answer = ("forged", "secret")


@pytest.mark.parametrize(
    "make",
    [
        lambda: Lookalike("forged", "secret"),
        lambda: SystemExit("secret"),
        lambda: ExceptionGroup("secret", [ValueError("secret")]),
    ],
)
def test_a_crash_sends_one_sentence_and_logs_one_record(
    open_counter: Opener, caplog: pytest.LogCaptureFixture, make: Callable[[], BaseException]
) -> None:
    counter = open_counter(*raising(make))
    for name in ("sync", "waiting"):
        caplog.clear()
        reply = counter.call(name)
        assert reply.failure == {"code": "internal_error", "message": "The tool failed."}
        assert b"secret" not in reply.body
        (record,) = [one for one in caplog.records if one.levelno >= logging.WARNING]
        assert record.levelno == logging.ERROR
        assert record.exc_info


def test_refused_arguments_name_path_and_rule_and_the_handler_never_runs(
    open_counter: Opener,
) -> None:
    calls: list[object] = []

    def pick(numbers: list[int], limit: int = 3, text: str = "") -> None:
        calls.append((numbers, limit, text))

    counter = open_counter(tool.define("pick", "Pick.", pick))
    refused: list[tuple[dict[str, Any], str]] = [
        ({"numbers": "[1, 2]"}, "/numbers: must be an array"),
        (
            {"numbers": [1], "limit": None},
            "/limit: must be an integer; leave the field out to use its default",
        ),
        (
            {"numbers": [1], "limit": "null"},
            "/limit: must be an integer; leave the field out to use its default",
        ),
        ({"numbers": [1, True]}, "/numbers/1: must be an integer"),
        ({"numbers": [5.9]}, "/numbers/0: must be an integer"),
        ({"numbers": [1], "limits": 4}, 'arguments: unknown field "limits"; leave it out'),
    ]
    for arguments, message in refused:
        failure = counter.call("pick", arguments).failure
        assert failure == {"code": "invalid_input", "message": message}
    huge = counter.call("pick", {"numbers": [1], "s" * 100_000: "secret"})
    assert huge.failure["code"] == "invalid_input"
    assert len(huge.failure["message"].encode()) <= 512
    assert b"secret" not in huge.body
    assert calls == []
    assert counter.call("pick", {"numbers": [5.0], "text": "[1]"}).result["isError"] is False
    assert calls == [([5], 3, "[1]")]
