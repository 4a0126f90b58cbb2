"""Opening and closing, tokens that come and go, and what runs meanwhile."""

from __future__ import annotations

import contextvars
import logging
import socket
import subprocess
import sys
import threading
import time

import pytest

from toolcrib import tool
from toolcrib.errors import GatewayError
from toolcrib.runtime.gateway.front import Listener
from toolcrib.runtime.gateway.registration import Registration
from toolcrib.runtime.gateway.tokens import digest, new_token
from toolcrib.runtime.tools.catalog import Catalog

from .conftest import DEADLINE, Client, Gate, Opener


def gateway_threads() -> list[str]:
    return [
        each.name for each in threading.enumerate() if each.name.startswith("toolcrib-gateway-")
    ]


def test_a_listener_is_loopback_only_and_says_where() -> None:
    listener = Listener()
    endpoint = listener.open()
    try:
        assert endpoint.url == f"http://127.0.0.1:{endpoint.port}/mcp"
        with pytest.raises(ConnectionRefusedError):
            socket.create_connection(("127.0.0.2", endpoint.port), DEADLINE)
    finally:
        assert listener.close(DEADLINE)


def test_all_threads_are_daemons_with_our_name(open_counter: Opener, echo: tool.Tool) -> None:
    before = set(threading.enumerate())
    counter = open_counter(echo)
    counter.call("echo", {"text": "hi"})

    started = set(threading.enumerate()) - before

    assert len(started) >= 2
    assert all(each.daemon for each in started)
    assert all(each.name.startswith("toolcrib-gateway-") for each in started)


def test_workers_are_started_when_needed_and_no_more(
    open_counter: Opener, echo: tool.Tool
) -> None:
    counter = open_counter(echo)
    for _ in range(20):
        counter.call("echo", {"text": "hi"})

    workers = [name for name in gateway_threads() if "worker" in name]

    assert 1 <= len(workers) <= 3


def test_close_frees_the_port_and_ends_the_threads(open_counter: Opener, echo: tool.Tool) -> None:
    counter = open_counter(echo)
    idle = counter.connect()
    counter.call("echo", {"text": "hi"})

    assert counter.listener.close(DEADLINE)

    assert gateway_threads() == []
    assert idle.ended()
    with pytest.raises(ConnectionRefusedError):
        Client(counter.port)
    assert counter.listener.close(DEADLINE), "a second close returns at once"


def test_one_listener_after_the_other_may_use_the_same_port(
    open_counter: Opener, echo: tool.Tool
) -> None:
    first = open_counter(echo)
    first.call("echo", {"text": "hi"})
    assert first.listener.close(DEADLINE)

    second = open_counter(echo, port=first.port)

    assert second.call("echo", {"text": "hi"}).status == 200
    assert second.call("echo", {"text": "hi"}, token=first.token).status == 401


def test_an_occupied_port_is_an_error_that_leaves_nothing_behind(
    open_counter: Opener, echo: tool.Tool
) -> None:
    with socket.create_server(("127.0.0.1", 0)) as occupied:
        port = occupied.getsockname()[1]
        listener = Listener()
        with pytest.raises(GatewayError, match=rf"127\.0\.0\.1:{port} .*port 0"):
            listener.open(port)
        assert gateway_threads() == []
        assert listener.close(DEADLINE), "there is nothing to close"

    assert open_counter(echo, port=port).call("echo", {"text": "hi"}).status == 200


def test_a_port_that_is_none_is_an_error() -> None:
    with pytest.raises(GatewayError, match="127.0.0.1:70000"):
        Listener().open(70000)


def test_a_listener_opens_once(open_counter: Opener) -> None:
    counter = open_counter()

    with pytest.raises(GatewayError, match="new Listener"):
        counter.listener.open()


def test_a_token_that_is_swapped_out_is_refused_at_once(
    open_counter: Opener, echo: tool.Tool
) -> None:
    counter = open_counter(echo)
    client = counter.connect()
    request = counter.call_bytes("echo", {"text": "hi"})
    assert client.send(request).answer().status == 200

    counter.listener.publish({})

    assert client.send(request).answer().status == 401


def test_a_token_that_goes_while_the_body_comes_is_refused(
    open_counter: Opener, echo: tool.Tool
) -> None:
    counter = open_counter(echo)
    request = counter.call_bytes("echo", {"text": "hi"}, extra=["Expect: 100-continue"])
    head, body = request.split(b"\r\n\r\n", 1)
    client = counter.connect().send(head + b"\r\n\r\n")
    assert client.answer().status == 100, "the head has been checked"

    counter.listener.publish({})

    assert client.send(body).answer().status == 401


def test_a_table_that_the_host_changes_later_stays_as_it_was(
    open_counter: Opener, echo: tool.Tool
) -> None:
    counter = open_counter(echo)
    table = {digest(counter.token): counter.registration}
    counter.listener.publish(table)

    table.clear()

    assert counter.call("echo", {"text": "hi"}).status == 200


def test_a_cancelled_registration_begins_nothing_and_cancels_what_runs(
    open_counter: Opener, gate: Gate
) -> None:
    counter = open_counter(gate.tool())
    running = counter.connect().send(counter.call_bytes("wait"))
    gate.wait_entered()
    idle = threading.Event()

    counter.registration.cancel()
    counter.registration.when_idle(idle.set)

    assert gate.contexts[0].cancelled
    assert counter.registration.running == ("wait",)
    assert not idle.is_set()
    assert counter.call("wait").status == 401
    assert counter.message("tools/list").status == 401

    gate.opened.set()

    assert idle.wait(DEADLINE)
    assert running.answer().failure["code"] == "canceled"
    assert not counter.registration.running


def test_a_call_that_waits_when_its_registration_is_cancelled_never_runs(
    open_counter: Opener, gate: Gate
) -> None:
    counter = open_counter(gate.tool(), running=1)
    running = counter.connect().send(counter.call_bytes("wait"))
    gate.wait_entered()
    waiting = counter.connect().send(counter.call_bytes("wait"))
    assert waiting.silent(0.2)

    counter.registration.cancel()
    gate.opened.set()

    assert running.answer().failure["code"] == "canceled"
    assert waiting.answer().status == 401
    assert len(gate.contexts) == 1


def test_a_registration_is_idle_only_after_its_last_call() -> None:
    registration = Registration("agent", Catalog([]), contextvars.copy_context())
    first, second = tool.Context("first"), tool.Context("second")
    told: list[str] = []
    assert registration.enter(first)
    assert registration.enter(second)
    registration.when_idle(lambda: told.append("idle"))
    assert registration.running == ("first", "second")

    registration.exit(first)
    assert told == []
    registration.exit(second)

    assert told == ["idle"]


def test_when_idle_is_told_once_each_and_at_once_when_nothing_runs(
    open_counter: Opener, gate: Gate, caplog: pytest.LogCaptureFixture
) -> None:
    counter = open_counter(gate.tool())
    told: list[str] = []
    counter.registration.when_idle(lambda: told.append("at once"))
    assert told == ["at once"]

    def fail() -> None:
        told.append("failed")
        raise RuntimeError

    client = counter.connect().send(counter.call_bytes("wait") * 2)
    gate.wait_entered()
    counter.registration.when_idle(fail)
    counter.registration.when_idle(lambda: told.append("later"))
    gate.opened.set()
    for _ in range(2):
        assert client.answer().status == 200

    assert told == ["at once", "failed", "later"]
    assert "idle registration failed" in caplog.text


def test_a_handler_sees_the_context_variables_of_its_agent_as_a_copy(
    open_counter: Opener,
) -> None:
    variable: contextvars.ContextVar[str] = contextvars.ContextVar("variable", default="unset")

    def swap() -> str:
        seen = variable.get()
        variable.set("changed by a call")
        return seen

    variable.set("set by the host")
    counter = open_counter(tool.define("swap", "Swap.", swap))
    variable.set("changed by the host")

    for _ in range(2):
        assert counter.call("swap").result["structuredContent"] == {"result": "set by the host"}


def test_close_cancels_a_running_call_and_sends_its_answer(open_counter: Opener) -> None:
    entered = threading.Event()

    def patient(context: tool.Context) -> str:
        entered.set()
        assert context.wait_cancelled(DEADLINE)
        return "late"

    counter = open_counter(tool.define("patient", "Wait.", patient))
    client = counter.connect().send(counter.call_bytes("patient"))
    assert entered.wait(DEADLINE)

    began = time.monotonic()
    assert counter.listener.close(DEADLINE)
    assert time.monotonic() - began < DEADLINE / 2, "it is told at once, not at the end"

    reply = client.answer()
    assert (reply.failure["code"], reply.fields["connection"]) == ("canceled", "close")
    assert client.ended()


def test_a_handler_that_hangs_does_not_hold_close(open_counter: Opener, gate: Gate) -> None:
    counter = open_counter(gate.tool())
    client = counter.connect().send(counter.call_bytes("wait"))
    gate.wait_entered()

    began = time.monotonic()
    ended = counter.listener.close(0.4)

    assert not ended
    assert time.monotonic() - began < 5
    assert client.answer().failure["code"] == "canceled"
    with pytest.raises(ConnectionRefusedError):
        Client(counter.port)
    assert counter.registration.running == ("wait",)

    gate.opened.set()
    assert counter.listener.close(DEADLINE), "close goes on from where it was"


def test_the_host_ends_promptly_while_a_handler_hangs() -> None:
    script = """
import contextvars, socket, threading
from toolcrib import tool
from toolcrib.runtime.gateway.front import Listener
from toolcrib.runtime.gateway.registration import Registration
from toolcrib.runtime.gateway.tokens import digest
from toolcrib.runtime.tools.catalog import Catalog

entered = threading.Event()

def hang() -> None:
    entered.set()
    threading.Event().wait()

listener = Listener()
port = listener.open().port
catalog = Catalog([tool.define("hang", "Hang.", hang)])
registration = Registration("agent", catalog, contextvars.copy_context())
listener.publish({digest("token"): registration})
body = b'{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"hang"}}'
sock = socket.create_connection(("127.0.0.1", port), 10)
sock.sendall(
    b"POST /mcp HTTP/1.1\\r\\nHost: 127.0.0.1:%d\\r\\nAuthorization: Bearer token\\r\\n"
    b"Content-Type: application/json\\r\\nContent-Length: %d\\r\\n\\r\\n%b"
    % (port, len(body), body)
)
assert entered.wait(30)
"""
    subprocess.run([sys.executable, "-c", script], check=True, timeout=40)


def test_no_log_record_holds_a_token(
    open_counter: Opener, echo: tool.Tool, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.DEBUG)
    counter = open_counter(echo)
    wrong = new_token()

    counter.call("echo", {"text": "hi"})
    counter.modern("tools/list")
    counter.call("echo", {"text": 1})
    counter.call("echo", {"text": "hi"}, token=wrong)
    counter.ask(counter.head(extra=[f"Authorization: Bearer {counter.token}"]))
    counter.ask(counter.request(b"{bad"))
    assert counter.listener.close(DEADLINE)

    said = " ".join(f"{each.getMessage()} {each.exc_text}" for each in caplog.records)
    assert counter.token not in said
    assert wrong not in said
    assert counter.token not in repr(counter.registration) + repr(counter.listener)
