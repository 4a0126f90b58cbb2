"""Every timeout, every bound, and who gets through when it is full."""

from __future__ import annotations

import asyncio
import json
import socket
import struct
import threading
import time
from collections.abc import Callable

import pytest

from toolcrib import tool
from toolcrib.runtime.gateway.connection import Connection
from toolcrib.runtime.gateway.limits import Limits

from .conftest import DEADLINE, Client, Gate, Opener, Reply


def test_a_head_that_does_not_come_is_timed_out(open_counter: Opener) -> None:
    client = open_counter(head_timeout=0.2).connect().send(b"POST /mcp HTTP/1.1\r\nHost: x")

    assert client.answer().status == 408
    assert client.ended()


def test_a_head_that_trickles_is_timed_out_all_the_same(open_counter: Opener) -> None:
    client = open_counter(head_timeout=0.3).connect()
    began = time.monotonic()
    while client.silent(0.02):
        assert time.monotonic() - began < DEADLINE
        client.send(b"X")

    assert client.answer().status == 408


def test_a_connection_that_says_nothing_is_closed_without_a_word(open_counter: Opener) -> None:
    assert open_counter(head_timeout=0.2).connect().reply() is None


def test_a_body_that_does_not_come_is_timed_out(open_counter: Opener) -> None:
    counter = open_counter(body_timeout=0.2)
    client = counter.connect().send(counter.head(100) + b"{")

    assert client.answer().status == 408
    assert client.ended()


def test_a_connection_may_idle_for_a_while_only(open_counter: Opener, echo: tool.Tool) -> None:
    counter = open_counter(echo, idle_timeout=0.3, head_timeout=0.1)
    client = counter.connect()
    request = counter.call_bytes("echo", {"text": "hi"})
    assert client.send(request).answer().status == 200
    assert client.silent(0.15), "it may idle for longer than a head may take"
    assert client.send(request).answer().status == 200

    assert client.reply() is None


def test_a_client_that_does_not_read_is_cut(open_counter: Opener) -> None:
    entered = threading.Event()

    def much() -> str:
        entered.set()
        return "x" * 3_000_000

    # One connection only, so that the next gets in when this one is cut.
    counter = open_counter(tool.define("much", "Much.", much), connections=1, write_timeout=0.3)
    counter.connect().send(counter.call_bytes("much"))
    assert entered.wait(DEADLINE)

    began = time.monotonic()
    while (
        reply := counter.connect().send(counter.head(token="wrong")).reply()
    ) is None or reply.status == 503:
        assert time.monotonic() - began < DEADLINE
    assert time.monotonic() - began > 0.2, "until then it keeps its connection"


def test_a_large_answer_arrives_whole(open_counter: Opener) -> None:
    def much() -> str:
        return "é" * 1_000_000

    counter = open_counter(tool.define("much", "Much.", much))
    client = counter.connect()
    for _ in range(3):
        result = client.send(counter.call_bytes("much")).answer().result
        assert result["structuredContent"]["result"] == "é" * 1_000_000


def test_a_call_past_its_deadline_is_answered_and_its_handler_told(
    open_counter: Opener, gate: Gate
) -> None:
    counter = open_counter(gate.tool(), deadline=0.3)
    client = counter.connect().send(counter.call_bytes("wait", id="x"))

    reply = client.answer()

    assert (reply.status, reply.json["id"]) == (200, "x")
    assert reply.failure["code"] == "deadline_exceeded"
    assert gate.contexts[0].reason == "deadline_exceeded"
    assert counter.registration.running == ("wait",), "it runs until it returns"


def test_a_connection_goes_on_after_a_deadline(open_counter: Opener, gate: Gate) -> None:
    counter = open_counter(gate.tool(), deadline=0.2)
    client = counter.connect()

    assert client.send(counter.call_bytes("wait")).answer().failure["code"] == "deadline_exceeded"
    gate.opened.set()
    assert client.send(counter.call_bytes("wait", id=2)).answer().json["id"] == 2
    assert client.silent(0.1), "the late result of the first call is dropped"


@pytest.mark.parametrize(("own", "general"), [(0.2, 60.0), (60.0, 0.1)])
def test_a_tools_own_deadline_counts(
    open_counter: Opener, gate: Gate, own: float, general: float
) -> None:
    counter = open_counter(gate.tool(deadline=own), deadline=general)
    client = counter.connect().send(counter.call_bytes("wait"))
    gate.wait_entered()

    if own < general:
        assert client.answer().failure["code"] == "deadline_exceeded"
    else:
        assert client.silent(0.4)
        gate.opened.set()
        assert client.answer().result["isError"] is False


def test_an_async_handler_is_cancelled_by_its_deadline(open_counter: Opener) -> None:
    cancelled = threading.Event()

    async def sleep() -> None:
        try:
            await asyncio.sleep(60)
        finally:
            cancelled.set()

    counter = open_counter(tool.define("sleep", "Sleep.", sleep), deadline=0.2)

    assert counter.call("sleep").failure["code"] == "deadline_exceeded"
    assert cancelled.wait(DEADLINE)


def close_orderly(client: Client) -> None:
    client.close()


def reset(client: Client) -> None:
    client.sock.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
    client.close()


@pytest.mark.parametrize("leave", [close_orderly, reset])
def test_a_client_that_leaves_cancels_its_call(
    open_counter: Opener, gate: Gate, leave: Callable[[Client], None]
) -> None:
    counter = open_counter(gate.tool())
    client = counter.connect().send(counter.call_bytes("wait"))
    gate.wait_entered()

    leave(client)

    assert gate.contexts[0].wait_cancelled(DEADLINE)
    assert gate.contexts[0].reason == "canceled"
    gate.opened.set()
    assert counter.call("wait").status == 200


def test_a_client_that_leaves_cancels_its_async_call(open_counter: Opener) -> None:
    entered, cancelled = threading.Event(), threading.Event()

    async def sleep() -> None:
        entered.set()
        try:
            await asyncio.sleep(60)
        finally:
            cancelled.set()

    counter = open_counter(tool.define("sleep", "Sleep.", sleep))
    client = counter.connect().send(counter.call_bytes("sleep"))
    assert entered.wait(DEADLINE)

    client.close()

    assert cancelled.wait(DEADLINE)


def test_so_many_run_so_many_wait_and_the_rest_is_refused(
    open_counter: Opener, gate: Gate
) -> None:
    counter = open_counter(gate.tool(), running=2, waiting=3)
    clients = [counter.connect().send(counter.call_bytes("wait")) for _ in range(5)]
    gate.wait_entered(2)
    # The others are in: the front answers in order of arrival, per connection.
    refused = _until_refused(lambda: counter.connect().send(counter.head(10)))

    assert refused.status == 503
    assert refused.fields["retry-after"] == "1"
    assert not gate.entered.acquire(blocking=False), "no third one runs"

    gate.opened.set()
    assert all(client.answer().result["isError"] is False for client in clients)
    assert counter.call("wait").status == 200, "the places are free again"


def _until_refused(attempt: Callable[[], Client]) -> Reply:
    """Ask until there is no place: the earlier requests may still be on their way."""
    for _ in range(10):
        client = attempt()
        if not client.silent(0.3):
            return client.answer()
    pytest.fail("there was always a place")


def test_listing_goes_on_while_every_slot_hangs(open_counter: Opener, gate: Gate) -> None:
    counter = open_counter(gate.tool(), running=2, waiting=10)
    for _ in range(4):
        counter.connect().send(counter.call_bytes("wait"))
    gate.wait_entered(2)

    assert counter.message("tools/list").status == 200


def test_a_call_that_waits_too_long_is_answered_by_its_deadline(
    open_counter: Opener, gate: Gate
) -> None:
    counter = open_counter(gate.tool("wait"), gate.tool("short", deadline=0.2), running=1)
    counter.connect().send(counter.call_bytes("wait"))
    gate.wait_entered()

    assert counter.call("short").failure["code"] == "deadline_exceeded"

    gate.opened.set()
    assert counter.call("short").result["isError"] is False
    assert len(gate.contexts) == 2, "the call that waited in vain never ran"


def test_calls_that_gave_up_waiting_leave_their_place(open_counter: Opener, gate: Gate) -> None:
    tools = gate.tool("wait"), gate.tool("short", deadline=0.1)
    counter = open_counter(*tools, running=1, waiting=1)
    counter.connect().send(counter.call_bytes("wait"))
    gate.wait_entered()

    for _ in range(5):
        assert counter.call("short").failure["code"] == "deadline_exceeded"


def test_no_agent_can_take_every_place(open_counter: Opener, gate: Gate) -> None:
    counter = open_counter(gate.tool(), running=4, waiting=4)
    modest = counter.register(gate.tool("modest"), agent="modest")
    greedy = [counter.connect().send(counter.call_bytes("wait")) for _ in range(8)]
    gate.wait_entered(3)

    client = counter.connect().send(counter.call_bytes("modest", token=modest))
    gate.wait_entered()

    assert sorted(each.tool_name for each in gate.contexts) == ["modest", "wait", "wait", "wait"]
    gate.opened.set()
    assert client.answer().status == 200
    assert {each.answer().status for each in greedy} == {200, 503}


def test_strangers_make_room_for_those_with_a_token(open_counter: Opener, echo: tool.Tool) -> None:
    counter = open_counter(echo, connections=4, head_timeout=60)
    known = counter.connect()
    request = counter.call_bytes("echo", {"text": "hi"})
    assert known.send(request).answer().status == 200
    strangers = [counter.connect() for _ in range(12)]

    assert counter.call("echo", {"text": "hi"}).status == 200
    assert known.send(request).answer().status == 200
    assert strangers[0].ended()


def test_a_running_call_is_never_evicted(open_counter: Opener, gate: Gate) -> None:
    counter = open_counter(gate.tool(), connections=2, head_timeout=60)
    running = [counter.connect().send(counter.call_bytes("wait")) for _ in range(2)]
    gate.wait_entered(2)

    assert counter.connect().ended(), "there is no room for a third"

    gate.opened.set()
    assert all(each.answer().status == 200 for each in running)


def test_many_clients_at_a_time_get_their_own_answers(
    open_counter: Opener, echo: tool.Tool
) -> None:
    counter = open_counter(echo)
    wrong: list[object] = []

    def work(number: int) -> None:
        client = Client(counter.port)
        for round_ in range(20):
            text = f"{number}/{round_}"
            client.send(counter.call_bytes("echo", {"text": text}, id=text))
            reply = client.answer()
            if json.loads(reply.body)["id"] != text or reply.result["structuredContent"] != {
                "text": text
            }:
                wrong.append(reply)
        client.close()

    threads = [threading.Thread(target=work, args=(number,)) for number in range(16)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(DEADLINE * 2)
    assert not any(thread.is_alive() for thread in threads)
    assert wrong == []


def test_a_connection_that_has_nothing_to_send_keeps_its_clock() -> None:
    ours, theirs = socket.socketpair()
    with ours, theirs:
        ours.setblocking(False)
        connection = Connection(ours, Limits(head_timeout=1.0, idle_timeout=500.0), lambda _: None)
        due = connection.due
        connection.flush()
        assert connection.due == due
