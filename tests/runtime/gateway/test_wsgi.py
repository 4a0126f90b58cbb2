"""The tools as a WSGI application: the same checks and answers as the listener's."""

from __future__ import annotations

import itertools
import json
import socket
import threading
from collections.abc import Callable, Iterator
from typing import Any
from wsgiref.simple_server import WSGIRequestHandler, WSGIServer

import pytest
from werkzeug.test import Client

from toolcrib import tool
from toolcrib.runtime.gateway.limits import Limits
from toolcrib.testing import WsgiApp, wsgi_app

from .conftest import DEADLINE, Counter, Gate, Opener

TOKEN = "t0ken"
Opening = Callable[..., WsgiApp]


@pytest.fixture
def opened() -> Iterator[Opening]:
    apps: list[WsgiApp] = []

    def opening(*tools: tool.Tool, authority: str = "localhost", **limits: Any) -> WsgiApp:
        apps.append(wsgi_app(tools, TOKEN, authority=authority, limits=Limits(**limits)))
        return apps[-1]

    yield opening
    for app in apps:
        assert app.close(DEADLINE)


def post(app: WsgiApp, message: Any, **more: Any) -> Any:
    headers = {"Authorization": f"Bearer {TOKEN}", **more.pop("headers", {})}
    data = message if isinstance(message, bytes) else json.dumps(message)
    given = {"data": data, "content_type": "application/json", "method": "POST", **more}
    return Client(app).open(given.pop("path", "/mcp"), **{**given, "headers": headers})


def request(method: str, **params: Any) -> dict[str, Any]:
    return {"jsonrpc": "2.0", "id": 1, "method": method, "params": params}


def call(name: str, **arguments: Any) -> dict[str, Any]:
    return request("tools/call", name=name, arguments=arguments)


def test_a_test_client_lists_and_calls(opened: Opening, echo: tool.Tool) -> None:
    app = opened(echo)

    listed = post(app, request("tools/list")).json["result"]["tools"]
    called = post(app, call("echo", text="é")).json["result"]
    notified = post(app, {"jsonrpc": "2.0", "method": "notifications/initialized"})

    assert [each["name"] for each in listed] == ["echo"]
    assert called["structuredContent"] == {"text": "é"}
    assert (notified.status_code, notified.data) == (202, b"")
    assert "Content-Type" not in notified.headers


def test_its_answers_are_those_of_the_listener(
    opened: Opening, open_counter: Opener, echo: tool.Tool
) -> None:
    app, counter = opened(echo), open_counter(echo)
    messages = [
        *[request("ping"), request("tools/list"), request("nope"), call("echo", text="hi")],
        *[call("echo"), call("nope"), b"{", b"[]", b'{"a":1,"a":2}', {"jsonrpc": "2.0"}],
        b'{"jsonrpc":"2.0","id":1,"method":"ping"}'.ljust(9000),
    ]

    for message in messages:
        body = message if isinstance(message, bytes) else json.dumps(message).encode()
        theirs, ours = counter.ask(counter.request(body)), post(app, body)
        assert (ours.status_code, ours.data) == (theirs.status, theirs.body)
        assert ours.headers["Content-Type"] == theirs.fields["content-type"]


FAULTS: list[tuple[int, dict[str, Any]]] = [
    (431, {"headers": {f"X-{number}": "1" for number in range(64)}}),
    (421, {"base_url": "http://evil.example"}),
    (403, {"headers": {"Origin": "http://evil.example"}}),
    (401, {"headers": {"Authorization": "Bearer wrong"}}),
    (404, {"path": "/other"}),
    (405, {"method": "PUT"}),
    (415, {"content_type": "text/plain"}),
    (406, {"headers": {"Accept": "text/html"}}),
    (413, {"data": b"x" * 1001}),
]


@pytest.mark.parametrize(
    ("first", "second"),
    [*itertools.combinations_with_replacement(FAULTS, 2)],
    ids=lambda fault: str(fault[0]),
)
def test_the_checks_have_their_order_and_their_statuses(
    opened: Opening, first: tuple[int, dict[str, Any]], second: tuple[int, dict[str, Any]]
) -> None:
    headers = {**second[1].get("headers", {}), **first[1].get("headers", {})}
    more = {**second[1], **first[1], "headers": headers}

    reply = post(opened(body_bytes=1000), b"{}", **more)

    assert reply.status_code == first[0]
    assert reply.json["id"] is None


@pytest.mark.parametrize("path", ["/", "/mcp/", "/mcp?x=1", "/x/../mcp", "/MCP"])
def test_only_the_exact_path_is_served(opened: Opening, path: str) -> None:
    assert post(opened(), request("ping"), path=path).status_code == 404


@pytest.mark.parametrize(
    ("length", "status"),
    [("", 411), ("-1", 400), ("x", 400), ("\u0661", 400), ("50", 400)],
)
def test_a_body_needs_the_length_that_it_has(opened: Opening, length: str, status: int) -> None:
    app = opened(running=1, waiting=1)

    for _ in range(4):  # a place that is not given back would make it 503
        reply = post(app, b"{}", environ_overrides={"CONTENT_LENGTH": length})
        assert reply.status_code == status


def test_a_head_has_a_size(opened: Opening) -> None:
    assert post(opened(), request("ping"), headers={"X": "x" * 20_000}).status_code == 431


def test_a_deadline_ends_a_call(opened: Opening, gate: Gate) -> None:
    app = opened(gate.tool(deadline=0.2))

    result = post(app, call("wait")).json["result"]

    assert json.loads(result["content"][0]["text"])["code"] == "deadline_exceeded"
    assert gate.contexts[0].reason == "deadline_exceeded"
    gate.opened.set()


def test_a_client_that_accepts_streams_gets_json_all_the_same(opened: Opening, gate: Gate) -> None:
    app = opened(gate.tool(deadline=60), silence=0.2, stream_after=0.05)
    accept = {"Accept": "application/json, text/event-stream"}

    reply = post(app, call("wait"), headers=accept)

    assert reply.headers["Content-Type"] == "application/json"
    assert "deadline_exceeded" in reply.json["result"]["content"][0]["text"]
    gate.opened.set()


def test_so_many_calls_have_a_place_and_the_rest_is_refused(opened: Opening, gate: Gate) -> None:
    app = opened(gate.tool(), running=1, waiting=1)
    threads = [threading.Thread(target=post, args=(app, call("wait"))) for _ in range(2)]
    threads[0].start()
    gate.wait_entered()
    threads[1].start()
    replies = iter(lambda: post(app, request("ping")), None)
    refused = next(reply for reply in replies if reply.status_code != 200)

    assert (refused.status_code, refused.headers["Retry-After"]) == (503, "1")
    gate.opened.set()
    for thread in threads:
        thread.join(DEADLINE)
        assert not thread.is_alive()
    assert post(app, request("ping")).status_code == 200


def test_a_close_cancels_what_runs(gate: Gate) -> None:
    app = wsgi_app([gate.tool()], TOKEN)
    thread = threading.Thread(target=post, args=(app, call("wait")))
    thread.start()
    gate.wait_entered()

    assert not app.close(0.1)

    assert gate.contexts[0].reason == "canceled"
    assert post(app, request("ping")).status_code == 401
    gate.opened.set()
    thread.join(DEADLINE)
    assert app.close(DEADLINE)


def test_a_host_with_a_wsgi_server_serves_it(opened: Opening, echo: tool.Tool) -> None:
    class Quiet(WSGIRequestHandler):
        def log_message(self, format: str, *args: object) -> None:
            pass

    with WSGIServer(("127.0.0.1", 0), Quiet) as server:
        server.set_app(opened(echo, authority=f"127.0.0.1:{server.server_port}"))
        thread = threading.Thread(target=server.handle_request)
        thread.start()
        counter = Counter(None, server.server_port)  # type: ignore[arg-type]
        data = counter.call_bytes("echo", {"text": "hi"}, token=TOKEN)
        with socket.create_connection(("127.0.0.1", server.server_port), DEADLINE) as sock:
            sock.sendall(data)
            answer = b"".join(iter(lambda: sock.recv(4096), b""))
        thread.join(DEADLINE)

    assert answer.startswith(b"HTTP/1.0 200 ")
    assert json.loads(answer.split(b"\r\n\r\n")[1])["result"]["isError"] is False
