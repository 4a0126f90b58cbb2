"""What is known already is answered where it arrives, without waiting for a worker."""

from __future__ import annotations

import json
import threading

import pytest

from toolcrib import tool

from .conftest import Gate, Opener

PING = b'{"jsonrpc":"2.0","id":1,"method":"ping"}'


def workers() -> int:
    return sum(each.name.startswith("toolcrib-gateway-worker-") for each in threading.enumerate())


def test_what_is_known_wakes_no_worker(open_counter: Opener, gate: Gate) -> None:
    bodies = [PING, PING.replace(b"ping", b"tools/list"), PING.replace(b'"id":1,', b"")]
    counter = open_counter(gate.tool())
    client = counter.connect()
    for body in bodies:  # loads the SDK, and keeps the answers
        client.send(counter.request(body)).answer()
    already = workers()
    for _ in range(already):
        counter.connect().send(counter.call_bytes("wait"))
    gate.wait_entered(already)

    for body in bodies:
        assert client.send(counter.request(body)).answer().status in {200, 202}

    assert workers() == already, "each of them is busy, and no further one was needed"
    client.send(counter.request(PING.ljust(10_000))).answer()
    assert workers() == already + 1, "large messages are not for the front thread"


def test_known_answers_give_their_place_back(open_counter: Opener, echo: tool.Tool) -> None:
    counter = open_counter(echo, running=1, waiting=1)
    client = counter.connect()

    for _ in range(20):
        assert client.send(counter.request(PING)).answer().json["result"] == {}
        assert client.send(counter.request(b'{"jsonrpc":"2.0"}')).answer().status == 400
    assert counter.call("echo", {"text": "hi"}).status == 200


def test_many_requests_in_one_packet_are_answered_in_order(
    open_counter: Opener, echo: tool.Tool
) -> None:
    counter = open_counter(echo)
    client = counter.connect()
    counter.message("ping")
    requests = [
        counter.call_bytes("echo", {"text": "hi"}, id=id)
        if id % 3 == 0
        else counter.request(PING.replace(b'"id":1', b'"id":%d' % id))
        for id in range(1, 40)
    ]

    client.send(b"".join(requests))

    assert [client.answer().json["id"] for _ in requests] == [*range(1, 40)]


@pytest.mark.parametrize("size", [100, 8 * 1024, 8 * 1024 + 1, 70_000])
def test_a_request_of_any_size_gets_the_same_answer(open_counter: Opener, size: int) -> None:
    counter = open_counter()
    small = counter.message("tools/list", {}).body
    body = json.dumps({"jsonrpc": "2.0", "id": 1, "method": "tools/list", "params": {}}).encode()

    for _ in range(2):
        assert counter.ask(counter.request(body.ljust(size))).body == small


def test_a_token_that_was_retired_gets_no_known_answer(open_counter: Opener) -> None:
    counter = open_counter()
    client = counter.connect()
    assert client.send(counter.request(PING)).answer().status == 200
    request = counter.request(PING)

    counter.listener.publish({})

    assert client.send(request).answer().status == 401
