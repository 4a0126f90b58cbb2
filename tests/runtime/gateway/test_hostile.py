"""Odd but honest requests, and what follows a dishonest one on its connection."""

from __future__ import annotations

import pytest

from toolcrib import tool

from .conftest import Client, Counter, Opener


@pytest.fixture
def counter(open_counter: Opener, echo: tool.Tool) -> Counter:
    return open_counter(echo)


def test_the_largest_ordinary_head_is_read(counter: Counter) -> None:
    extra = [f"X-{number}: {'a' * 200}" for number in range(60)]

    assert counter.call("echo", {"text": "hi"}, extra=extra).status == 200


def test_an_offer_of_another_protocol_is_ignored(counter: Counter) -> None:
    extra = ["Connection: Upgrade, HTTP2-Settings", "Upgrade: h2c", "HTTP2-Settings: AAMAAABk"]

    assert counter.call("echo", {"text": "hi"}, extra=extra).status == 200


def test_a_request_may_come_one_byte_at_a_time(counter: Counter) -> None:
    client = counter.connect()
    for byte in counter.call_bytes("echo", {"text": "hi"}):
        client.send(bytes([byte]))

    assert client.answer().status == 200


def test_pipelined_requests_are_answered_in_order(counter: Counter) -> None:
    requests = [counter.call_bytes("echo", {"text": str(id)}, id=id) for id in range(5)]
    client = counter.connect().send(b"".join(requests))

    assert [client.answer().json["id"] for _ in range(5)] == [0, 1, 2, 3, 4]


def test_what_follows_a_refused_request_is_not_served(counter: Counter) -> None:
    smuggled = counter.call_bytes("echo", {"text": "hi"})
    client = counter.connect().send(counter.head(token="wrong") + smuggled)

    assert client.answer().status == 401
    assert client.reply() is None


def test_a_client_that_asks_first_is_told_to_go_on(counter: Counter) -> None:
    request = counter.call_bytes("echo", {"text": "hi"}, extra=["Expect: 100-continue"])
    head, body = request.split(b"\r\n\r\n", 1)
    client = counter.connect().send(head + b"\r\n\r\n")

    assert client.answer().status == 100
    assert client.send(body).answer().status == 200


def test_a_client_that_asks_first_is_refused_before_it_sends(counter: Counter) -> None:
    head = counter.head(10, token="wrong", extra=["Expect: 100-continue"])

    assert counter.ask(head).status == 401


def test_a_client_that_wants_to_close_is_closed(counter: Counter) -> None:
    client: Client = counter.connect()
    client.send(counter.call_bytes("echo", {"text": "hi"}, extra=["Connection: close"]))

    reply = client.answer()

    assert (reply.status, reply.fields["connection"]) == (200, "close")
    assert client.ended()
