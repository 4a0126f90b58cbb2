"""Requests that are odd in one place, and clients that ask for more than their share."""

from __future__ import annotations

import threading
from typing import Any

import pytest
from werkzeug.test import Client as WsgiClient

from toolcrib import tool
from toolcrib.runtime.gateway.limits import Limits
from toolcrib.testing import wsgi_app

from .conftest import DEADLINE, MODERN, Counter, Gate, Opener

BROKEN = "Mcp-Name: =?base64?\xe9?="


def broken(counter: Counter) -> bytes:
    meta = {
        "io.modelcontextprotocol/protocolVersion": MODERN,
        "io.modelcontextprotocol/clientCapabilities": {},
    }
    fields = [f"MCP-Protocol-Version: {MODERN}", "Mcp-Method: tools/call", BROKEN]
    return counter.call_bytes("echo", {"text": "x"}, _meta=meta, extra=fields)


def ping(counter: Counter) -> bytes:
    return counter.request(b'{"jsonrpc":"2.0","id":1,"method":"ping"}')


def test_a_routing_field_of_broken_base64_is_refused(
    open_counter: Opener, echo: tool.Tool
) -> None:
    counter = open_counter(echo)
    meta_name = counter.modern("tools/call", {"name": "echo", "arguments": {"text": "x"}})
    assert meta_name.status == 200

    reply = counter.modern("tools/call", {"arguments": {"text": "x"}}, [BROKEN])

    assert reply.status == 400
    assert "error" in reply.json


def test_a_request_never_shows_its_token(open_counter: Opener, echo: tool.Tool) -> None:
    from toolcrib.runtime.gateway import http
    from toolcrib.runtime.gateway.protocol import Protocol

    head = http.Head("POST", "/mcp", (("authorization", "Bearer s3cret"),), keep_alive=True)
    request: Any = Protocol().read(head, b'{"jsonrpc":"2.0","id":1,"method":"ping"}')

    assert request.method == "ping"
    assert "s3cret" not in repr(request)
    assert "s3cret" not in repr(request.head)


@pytest.mark.parametrize(
    ("field", "status"),
    [("Accept: " + "a/b," * 2000, 406), ("Accept: " + "*/*," * 2000 + "application/json", 406)],
)
def test_a_choice_of_kilobytes_is_not_weighed(
    open_counter: Opener, echo: tool.Tool, field: str, status: int
) -> None:
    counter = open_counter(echo)

    assert counter.ask(counter.head(extra=[field])).status == status
    assert counter.ask(counter.head(content_type="application/json;" + "a" * 2000)).status == 415


def test_who_left_half_a_head_makes_room_for_others(open_counter: Opener, echo: tool.Tool) -> None:
    counter = open_counter(echo, connections=2)
    for _ in range(2):
        client = counter.connect().send(ping(counter))
        assert client.answer().status == 200
        client.send(b"P")

    assert counter.call("echo", {"text": "x"}).status == 200


def test_where_all_are_at_work_a_newcomer_is_told_so(open_counter: Opener, gate: Gate) -> None:
    counter = open_counter(gate.tool(), connections=1)
    counter.connect().send(counter.call_bytes("wait"))
    gate.wait_entered()

    reply = counter.connect().answer()

    assert (reply.status, reply.fields["retry-after"]) == (503, "1")


def test_answers_that_nobody_reads_have_a_bound(open_counter: Opener) -> None:
    @tool.define
    def much() -> str:
        """Say much."""
        return "x" * 4_000_000

    counter = open_counter(much, unread_bytes=100_000, output_bytes=8_000_000)
    lazy = counter.connect().send(counter.call_bytes("much"))
    lazy.sock.settimeout(DEADLINE)
    assert lazy.sock.recv(1)  # its answer is under way, and stays so

    until = 200
    while counter.ask(ping(counter)).status != 503:
        until -= 1
        assert until, "the unread answer was never counted"


def large_call(counter: Counter, name: str) -> bytes:
    """Build a call that a worker reads; a small one the front reads itself."""
    call = f'{{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{{"name":"{name}"}}}}'
    return counter.request(call.encode().ljust(10_000))


def test_a_client_that_left_before_its_call_was_read_runs_nothing_long(
    open_counter: Opener, monkeypatch: pytest.MonkeyPatch
) -> None:
    from toolcrib.runtime.gateway.protocol import Protocol

    entered, left = threading.Event(), threading.Event()
    ran: list[bool] = []
    serve = Protocol.serve

    def slow(self: Protocol, *given: Any) -> Any:
        entered.set()
        assert left.wait(DEADLINE)
        return serve(self, *given)

    @tool.define
    def note() -> str:
        """Note."""
        ran.append(True)
        return "noted"

    counter = open_counter(note, running=1)
    assert counter.call("note").status == 200
    monkeypatch.setattr(Protocol, "serve", slow)
    client = counter.connect().send(large_call(counter, "note"))
    assert entered.wait(DEADLINE)
    client.close()
    for _ in range(2):  # the front sees who left before it answers who comes
        assert counter.ask(counter.head(token="wrong")).status == 401
    left.set()
    monkeypatch.setattr(Protocol, "serve", serve)

    assert counter.call("note").status == 200
    assert len(ran) == 2


def test_a_tools_own_deadline_counts_though_its_call_is_read_late(
    open_counter: Opener, monkeypatch: pytest.MonkeyPatch, gate: Gate
) -> None:
    from toolcrib.runtime.gateway.protocol import Protocol

    @tool.define(deadline=0.05)
    def quick() -> str:
        """Be quick."""
        return "x"

    counter = open_counter(quick, gate.tool(deadline=1.0))
    assert counter.call("quick").status == 200
    serve = Protocol.serve

    def late(self: Protocol, *given: Any) -> Any:
        threading.Event().wait(0.4)
        return serve(self, *given)

    monkeypatch.setattr(Protocol, "serve", late)

    answer = counter.ask(large_call(counter, "wait"))
    assert answer.failure["code"] == "deadline_exceeded"


class Broken:
    def read(self, length: int) -> bytes:
        raise ValueError(length)


def test_a_server_whose_input_fails_keeps_no_place(echo: tool.Tool) -> None:
    app = wsgi_app([echo], "t", limits=Limits(running=1, waiting=1))
    environ = {
        "REQUEST_METHOD": "POST",
        "PATH_INFO": "/mcp",
        "SCRIPT_NAME": "",
        "QUERY_STRING": "",
        "HTTP_HOST": "localhost",
        "HTTP_AUTHORIZATION": "Bearer t",
        "CONTENT_TYPE": "application/json",
        "CONTENT_LENGTH": "2",
        "wsgi.input": Broken(),
        "wsgi.url_scheme": "http",
    }
    for _ in range(5):
        with pytest.raises(ValueError, match="2"):
            app(environ, lambda *_: lambda _: None)
    sent = {"jsonrpc": "2.0", "id": 1, "method": "ping"}
    answer = WsgiClient(app).post("/mcp", json=sent, headers={"Authorization": "Bearer t"})
    assert answer.status_code == 200
    assert app.close(DEADLINE)


def test_a_close_answers_those_that_wait_too(gate: Gate) -> None:
    app = wsgi_app([gate.tool()], "t", limits=Limits(running=1, waiting=2))
    sent = {"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": {"name": "wait"}}
    answers: list[Any] = []

    def ask() -> None:
        headers = {"Authorization": "Bearer t"}
        answers.append(WsgiClient(app).post("/mcp", json=sent, headers=headers))

    threads = [threading.Thread(target=ask) for _ in range(3)]
    for thread in threads:
        thread.start()
    gate.wait_entered()

    app.close(0.5)

    for thread in threads:
        thread.join(DEADLINE)
    assert len(answers) == 3
