"""A head that repeats the last one is judged as it would be on its own."""

from __future__ import annotations

import contextvars
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from toolcrib import tool
from toolcrib.runtime.gateway.checks import Admitted
from toolcrib.runtime.gateway.heads import Heads
from toolcrib.runtime.gateway.limits import Limits
from toolcrib.runtime.gateway.registration import Registration
from toolcrib.runtime.gateway.tokens import digest, new_token
from toolcrib.runtime.tools.catalog import Catalog

from .conftest import Opener

AUTHORITY = "127.0.0.1:4000"
TOKEN = "a" * 43
REGISTRATION = Registration("agent", Catalog([]), contextvars.copy_context())
TABLE = {digest(TOKEN): REGISTRATION}
LIMITS = Limits(body_bytes=5000)

FIRST = (
    b"POST /mcp HTTP/1.1\r\nHost: 127.0.0.1:4000\r\n%b"
    b"Authorization: Bearer " + TOKEN.encode() + b"\r\n"
    b"Content-Type: application/json\r\nContent-Length: 12%b\r\n%b\r\n"
)
FIRSTS = (
    FIRST % (b"", b"", b""),
    FIRST % (b"Accept: application/json, text/event-stream\r\n", b"", b"MCP-Name: echo\r\n"),
    FIRST % (b"X: \r\n", b" ", b"Connection: close\r\n"),
    (FIRST % (b"", b"", b"")).replace(b"Content-Length: ", b"content-length:"),
    (FIRST % (b"", b"", b"")).replace(b": 12\r", b": 012\r"),
)
PIECES = (
    *(b"0", b"7", b"12", b"4999", b"5000", b"5001", b"999999999", b"1000000000", b"9" * 30),
    *(b" ", b"\t", b"\r\n", b"\n", b"+", b"-", b"x", b":", b",", b"\0", b"\xb2", b"_"),
    *(b"Content-Length: 3\r\n", b"\r\nContent-Length: 3", b"Transfer-Encoding: chunked\r\n"),
)


def what(verdict: Any) -> Any:
    """Say what a verdict says; the length in the head itself is of the first one."""
    if not isinstance(verdict, Admitted):
        return verdict
    head = verdict.head
    fields = [each for each in head.fields if each[0] != "content-length"]
    rest = (head.method, head.target, head.keep_alive, head.repeats, fields)
    return rest, verdict.token, verdict.registration, verdict.length, verdict.streams


@settings(max_examples=1500)
@given(
    st.sampled_from(FIRSTS),
    st.lists(st.sampled_from((*FIRSTS, None)), max_size=2),
    st.integers(0, 400),
    st.integers(0, 4),
    st.sampled_from((b"", *PIECES)),
    st.booleans(),
)
def test_whatever_comes_after_it_is_judged_as_on_a_new_connection(
    first: bytes, between: list[bytes | None], place: int, gone: int, piece: bytes, length: bool
) -> None:
    heads = Heads()
    assert isinstance(heads.judge(first, AUTHORITY, TABLE, LIMITS), Admitted)
    for other in between:
        heads.judge(other or first, AUTHORITY, TABLE, LIMITS)
    # At the length, as a rule; else anywhere.
    at = first.lower().index(b"content-length:") + 15 + place % 5 if length else place
    second = first[:at] + piece + first[at + gone :]

    assert what(heads.judge(second, AUTHORITY, TABLE, LIMITS)) == what(
        Heads().judge(second, AUTHORITY, TABLE, LIMITS)
    )


@pytest.mark.parametrize("first", FIRSTS)
def test_only_the_length_is_looked_at_again(first: bytes, monkeypatch: pytest.MonkeyPatch) -> None:
    heads = Heads()
    assert isinstance(heads.judge(first, AUTHORITY, TABLE, LIMITS), Admitted)
    blank = b": 12 \r" in first
    monkeypatch.setattr("toolcrib.runtime.gateway.heads.http.parse_head", None)
    if blank:  # which is more than a length, and so parsed each time
        with pytest.raises(TypeError):
            heads.judge(first, AUTHORITY, TABLE, LIMITS)
        return
    second = heads.judge(first.replace(b"12\r", b"4999\r"), AUTHORITY, TABLE, LIMITS)
    assert isinstance(second, Admitted)
    assert second.length == 4999


def test_a_token_that_counts_no_longer_is_refused_on_the_same_connection(
    open_counter: Opener, echo: tool.Tool
) -> None:
    counter = open_counter(echo)
    request = counter.request(b'{"jsonrpc":"2.0","id":1,"method":"ping"}')
    one, two = counter.connect(), counter.connect()
    for client in (one, two):
        assert client.send(request).answer().status == 200
        assert client.send(request).answer().status == 200
    registration = counter.registration
    registration.cancel()
    assert one.send(request).answer().status == 401
    counter.listener.publish({})
    assert two.send(request).answer().status == 401


def test_a_token_that_opens_another_catalog_by_now_opens_that(
    open_counter: Opener, echo: tool.Tool
) -> None:
    counter = open_counter(echo)
    client = counter.connect()
    request = counter.call_bytes("echo", {"text": "hi"})
    assert client.send(request).answer().result["isError"] is False
    empty = Registration("other", Catalog([]), contextvars.copy_context())
    counter.listener.publish({digest(counter.token): empty})
    assert client.send(request).answer().json["error"]["message"] == "Unknown tool"


def test_a_body_that_is_too_large_is_refused_in_a_repeated_head(
    open_counter: Opener, echo: tool.Tool
) -> None:
    counter = open_counter(echo, body_bytes=200)
    client = counter.connect()
    assert client.send(counter.call_bytes("echo", {"text": "hi"})).answer().status == 200
    assert client.send(counter.call_bytes("echo", {"text": "h" * 200})).answer().status == 413


def test_another_token_on_the_same_connection_counts_for_itself(
    open_counter: Opener, echo: tool.Tool
) -> None:
    counter = open_counter(echo)
    client = counter.connect()
    request = counter.call_bytes("echo", {"text": "hi"})
    assert client.send(request).answer().status == 200
    assert (
        client.send(request.replace(counter.token.encode(), new_token().encode())).answer().status
        == 401
    )
