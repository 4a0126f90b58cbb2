"""Requests that no honest client sends, byte by byte."""

from __future__ import annotations

import pytest

from toolcrib import tool

from .conftest import Client, Counter, Opener


@pytest.fixture
def counter(open_counter: Opener, echo: tool.Tool) -> Counter:
    return open_counter(echo)


def build(counter: Counter, raw: str) -> bytes:
    """Fill in the parts of a request that are right."""
    right = (
        f"Host: 127.0.0.1:{counter.port}\r\nAuthorization: Bearer {counter.token}\r\n"
        "Content-Type: application/json\r\n"
    )
    return raw.replace("{right}", right).encode("latin-1")


HEADS = {
    "bare line feeds": (400, "POST /mcp HTTP/1.1\nHost: x\n\n"),
    "one bare line feed": (400, "POST /mcp HTTP/1.1\r\n{right}X: a\nContent-Length: 0\r\n\r\n"),
    "a bare carriage return": (400, "POST /mcp HTTP/1.1\r\n{right}X: a\rY: b\r\n\r\n"),
    "a folded field": (400, "POST /mcp HTTP/1.1\r\n{right}X: a\r\n b\r\n\r\n"),
    "a blank before the colon": (400, "POST /mcp HTTP/1.1\r\n{right}X : a\r\n\r\n"),
    "a NUL in a value": (400, "POST /mcp HTTP/1.1\r\n{right}X: a\0b\r\n\r\n"),
    "a control character": (400, "POST /mcp HTTP/1.1\r\n{right}X: a\x01b\r\n\r\n"),
    "no field name": (400, "POST /mcp HTTP/1.1\r\n{right}: a\r\n\r\n"),
    "absolute form": (400, "POST http://evil.example/mcp HTTP/1.1\r\n{right}\r\n"),
    "asterisk form": (400, "OPTIONS * HTTP/1.1\r\n{right}\r\n"),
    "a tunnel": (400, "CONNECT evil.example:80 HTTP/1.1\r\n{right}\r\n"),
    "two hosts": (400, "POST /mcp HTTP/1.1\r\n{right}Host: evil.example\r\n\r\n"),
    "an unknown method": (400, "WOBBLE /mcp HTTP/1.1\r\n{right}\r\n"),
    "no version": (505, "POST /mcp\r\n{right}\r\n"),
    "HTTP/1.0": (505, "POST /mcp HTTP/1.0\r\n{right}Content-Length: 0\r\n\r\n"),
    "HTTP/2 without an upgrade": (400, "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n"),
    "another protocol": (505, "DESCRIBE /mcp RTSP/1.0\r\n{right}\r\n"),
    "a TLS greeting": (400, "\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03\r\n\r\n"),
    "an empty line first": (400, "\r\n\r\n"),
    "both lengths": (
        400,
        "POST /mcp HTTP/1.1\r\n{right}Transfer-Encoding: chunked\r\nContent-Length: 3\r\n\r\n",
    ),
    "an unknown coding": (400, "POST /mcp HTTP/1.1\r\n{right}Transfer-Encoding: gzip\r\n\r\n"),
    "chunks": (
        411,
        "POST /mcp HTTP/1.1\r\n{right}Transfer-Encoding: chunked\r\n\r\n2\r\n{}\r\n0\r\n\r\n",
    ),
    "two lengths": (
        400,
        "POST /mcp HTTP/1.1\r\n{right}Content-Length: 2\r\nContent-Length: 3\r\n\r\n",
    ),
    "two equal lengths": (
        400,
        "POST /mcp HTTP/1.1\r\n{right}Content-Length: 2\r\nContent-Length: 2\r\n\r\n",
    ),
    "a list of lengths": (400, "POST /mcp HTTP/1.1\r\n{right}Content-Length: 2, 2\r\n\r\n"),
    "a negative length": (400, "POST /mcp HTTP/1.1\r\n{right}Content-Length: -1\r\n\r\n"),
    "a signed length": (400, "POST /mcp HTTP/1.1\r\n{right}Content-Length: +2\r\n\r\n"),
    "a length in words": (400, "POST /mcp HTTP/1.1\r\n{right}Content-Length: two\r\n\r\n"),
    "a hexadecimal length": (400, "POST /mcp HTTP/1.1\r\n{right}Content-Length: 0x2\r\n\r\n"),
    "a length beyond 64 bits": (
        400,
        "POST /mcp HTTP/1.1\r\n{right}Content-Length: 99999999999999999999\r\n\r\n",
    ),
    "ten gigabytes to come": (
        413,
        "POST /mcp HTTP/1.1\r\n{right}Content-Length: 10000000000\r\n\r\n",
    ),
    "a field of 20 KB": (431, "POST /mcp HTTP/1.1\r\n{right}X: " + "a" * 20000 + "\r\n\r\n"),
    "a head without an end": (431, "POST /mcp HTTP/1.1\r\n{right}X: " + "a" * 20000),
    "65 fields": (431, "POST /mcp HTTP/1.1\r\n{right}" + "X: 1\r\n" * 62 + "\r\n"),
}


@pytest.mark.parametrize("name", HEADS)
def test_a_bad_head_is_refused_and_the_connection_closed(counter: Counter, name: str) -> None:
    status, raw = HEADS[name]
    client = counter.connect().send(build(counter, raw))

    assert client.answer().status == status
    assert client.ended()


BODIES = {
    "nothing": b"",
    "no JSON": b"{not json",
    "two values": b"{} {}",
    "a byte order mark": b"\xef\xbb\xbf{}",
    "UTF-16": '{"jsonrpc":"2.0","id":1,"method":"ping"}'.encode("utf-16"),
    "Latin-1": '{"jsonrpc":"2.0","id":1,"method":"é"}'.encode("latin-1"),
    "a lone surrogate": rb'{"jsonrpc":"2.0","id":1,"method":"\ud800"}',
    "an encoded surrogate": b'{"jsonrpc":"2.0","id":1,"method":"\xed\xa0\x80"}',
    "not a number": b'{"jsonrpc":"2.0","id":1,"method":"ping","params":{"a":NaN}}',
    "infinity": b'{"jsonrpc":"2.0","id":1,"method":"ping","params":{"a":-Infinity}}',
    "a number out of range": b'{"jsonrpc":"2.0","id":1,"method":"ping","params":{"a":1e999}}',
    "5,000 digits": b'{"jsonrpc":"2.0","id":1,"method":"ping","params":{"a":'
    + b"9" * 5000
    + b"}}",
    "a key twice": b'{"jsonrpc":"2.0","id":1,"method":"ping","params":{"a":1,"a":2}}',
    "10,000 brackets": b'{"jsonrpc":"2.0","id":1,"method":"ping","params":{"a":'
    + b"[" * 10000
    + b"]" * 10000
    + b"}}",
}
MESSAGES = {
    "a batch": b'[{"jsonrpc":"2.0","id":1,"method":"ping"}]',
    "an empty batch": b"[]",
    "a string": b'"ping"',
    "another version": b'{"jsonrpc":"1.0","id":1,"method":"ping"}',
    "no version": b'{"id":1,"method":"ping"}',
    "no method": b'{"jsonrpc":"2.0","id":1}',
    "a method that is no text": b'{"jsonrpc":"2.0","id":1,"method":1}',
    "a posted response": b'{"jsonrpc":"2.0","id":1,"result":{}}',
    "id null": b'{"jsonrpc":"2.0","id":null,"method":"ping"}',
    "id with a fraction": b'{"jsonrpc":"2.0","id":1.5,"method":"ping"}',
    "id true": b'{"jsonrpc":"2.0","id":true,"method":"ping"}',
    "params in a list": b'{"jsonrpc":"2.0","id":1,"method":"ping","params":[1]}',
}


@pytest.mark.parametrize("name", BODIES)
def test_a_body_that_is_no_honest_json_is_a_parse_error(counter: Counter, name: str) -> None:
    reply = counter.ask(counter.request(BODIES[name]))

    assert (reply.status, reply.json["error"]["code"]) == (400, -32700)
    assert reply.json["error"]["message"] == "Parse error"


@pytest.mark.parametrize("name", MESSAGES)
def test_json_that_is_no_request_is_invalid(counter: Counter, name: str) -> None:
    reply = counter.ask(counter.request(MESSAGES[name]))

    assert (reply.status, reply.json["error"]["code"]) == (400, -32600)


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
