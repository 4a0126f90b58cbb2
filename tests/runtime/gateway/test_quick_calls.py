"""Quick calls run on the front thread; one that is not quick after all holds nobody up."""

from __future__ import annotations

import threading
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field

import pytest

from toolcrib import tool
from toolcrib.runtime.gateway.paces import Paces

from .conftest import DEADLINE, Client, Counter, Opener

FRONT = "toolcrib-gateway-front-"


@dataclass
class Moody:
    """A tool that is quick, until it is told to wait."""

    waits: bool = False
    entered: threading.Semaphore = field(default_factory=lambda: threading.Semaphore(0))
    opened: threading.Event = field(default_factory=threading.Event)

    def tool(self, name: str = "moody") -> tool.Tool:
        def where(context: tool.Context, wait: bool = False) -> str:
            if wait or self.waits:
                context.progress(1)
                self.entered.release()
                self.opened.wait()
            return threading.current_thread().name

        return tool.define(name, "Tell the thread.", where)

    def wait_entered(self) -> None:
        assert self.entered.acquire(timeout=DEADLINE), "the handler was not called"


@pytest.fixture
def moody() -> Iterator[Moody]:
    made = Moody()
    yield made
    made.opened.set()


def ask(counter: Counter, client: Client, name: str = "moody") -> str:
    """Call the tool; return the thread that ran it."""
    answer = client.send(counter.call_bytes(name)).answer()
    thread: str = answer.result["structuredContent"]["result"]
    return thread


def warmed(counter: Counter, name: str = "moody") -> Client:
    """Call a tool until the front runs it itself."""
    client = counter.connect()
    give_up = time.monotonic() + DEADLINE
    while not ask(counter, client, name).startswith(FRONT):
        assert time.monotonic() < give_up, "it never ran on the front thread"
    return client


def fronts() -> set[str]:
    return {each.name for each in threading.enumerate() if each.name.startswith(FRONT)}


def test_a_tool_that_has_shown_to_be_quick_runs_where_its_calls_arrive(
    open_counter: Opener, moody: Moody
) -> None:
    counter = open_counter(moody.tool())
    client = counter.connect()
    assert not ask(counter, client).startswith(FRONT), "nothing is known of it yet"
    client = warmed(counter)
    assert ask(counter, client) in fronts()


def test_a_quick_tool_that_waits_after_all_holds_nobody_up(
    open_counter: Opener, moody: Moody, echo: tool.Tool
) -> None:
    counter = open_counter(moody.tool(), echo)
    client = warmed(counter)
    before = fronts()
    moody.waits = True
    client.send(counter.call_bytes("moody"))
    moody.wait_entered()

    assert counter.message("ping").status == 200
    assert counter.call("echo", {"text": "hi"}).status == 200
    assert counter.registration.running == ("moody",)
    assert client.silent(0)

    moody.opened.set()
    name = client.answer().result["structuredContent"]["result"]
    assert name in before
    moody.waits = False
    again = warmed(counter)
    assert ask(counter, again) != name, "whoever was held up is no longer the front"


def test_one_that_waits_again_and_again_is_soon_left_to_the_workers(
    open_counter: Opener, moody: Moody
) -> None:
    counter = open_counter(moody.tool())
    warmed(counter)
    moody.waits = True
    clients = [counter.connect() for _ in range(6)]
    for client in clients:
        client.send(counter.call_bytes("moody"))
        moody.wait_entered()
    moody.opened.set()
    names = [client.answer().result["structuredContent"]["result"] for client in clients]
    assert names[0].startswith(FRONT)
    assert not names[-1].startswith(FRONT)


def test_a_client_that_leaves_a_call_on_the_front_cancels_it(
    open_counter: Opener, moody: Moody
) -> None:
    told = threading.Event()

    def patient(context: tool.Context, wait: bool = False) -> str:
        if wait:
            moody.entered.release()
            if context.wait_cancelled(DEADLINE):
                told.set()
        return threading.current_thread().name

    counter = open_counter(tool.define("moody", "Wait.", patient))
    client = warmed(counter)
    client.send(counter.call_bytes("moody", {"wait": True}))
    moody.wait_entered()
    client.close()
    assert told.wait(DEADLINE)


def test_a_call_on_the_front_has_a_deadline(open_counter: Opener, moody: Moody) -> None:
    counter = open_counter(moody.tool(), deadline=0.3)
    client = warmed(counter)
    moody.waits = True
    answer = client.send(counter.call_bytes("moody")).answer()
    assert answer.failure["code"] == "deadline_exceeded"


def test_close_names_a_call_on_the_front_that_goes_on(open_counter: Opener, moody: Moody) -> None:
    counter = open_counter(moody.tool())
    client = warmed(counter)
    moody.waits = True
    client.send(counter.call_bytes("moody"))
    moody.wait_entered()
    assert not counter.listener.close(0.3)
    assert client.answer().failure["code"] == "canceled"
    assert counter.registration.running == ("moody",)
    moody.opened.set()
    assert counter.listener.close(DEADLINE)
    assert not fronts()


@pytest.mark.parametrize("timeout", [0, 0.001, 0.1])
def test_close_at_once_answers_a_call_that_holds_the_front(
    open_counter: Opener, moody: Moody, timeout: float
) -> None:
    counter = open_counter(moody.tool())
    client = warmed(counter)
    moody.waits = True
    client.send(counter.call_bytes("moody"))
    moody.wait_entered()
    counter.message("ping")  # another front has taken over
    assert not counter.listener.close(timeout)
    assert client.answer().failure["code"] == "canceled"


def test_a_handler_on_the_front_that_closes_its_own_gateway_is_told_that_it_runs(
    open_counter: Opener,
) -> None:
    ended = threading.Event()
    told: list[bool] = []
    closes = False

    def moody() -> str:
        if closes:
            told.append(counter.listener.close(0.2))
            ended.set()
        return threading.current_thread().name

    counter = open_counter(tool.define("moody", "Close, perhaps.", moody))
    client = warmed(counter)
    closes = True
    client.send(counter.call_bytes("moody"))
    assert ended.wait(DEADLINE)
    assert told == [False]
    assert counter.listener.close(DEADLINE)


def test_calls_that_came_while_their_tool_was_quick_are_judged_again(
    open_counter: Opener, moody: Moody
) -> None:
    """Those behind one that turns out slow must not hold the front up, each in its turn."""
    counter = open_counter(moody.tool())
    warmed(counter)
    ping = counter.request(b'{"jsonrpc":"2.0","id":1,"method":"ping"}')
    clients = [counter.connect() for _ in range(8)]
    for client in clients:
        client.send(ping).answer()
    moody.waits = True
    for client in clients:  # what is behind a ping is kept until all the pings are answered
        client.send(ping + counter.call_bytes("moody"))
    for client in clients:
        moody.wait_entered()
        assert client.answer().json["result"] == {}
    moody.opened.set()
    names = [client.answer().result["structuredContent"]["result"] for client in clients]
    assert sum(name.startswith(FRONT) for name in names) <= 2


def test_a_front_that_took_over_alone_runs_nothing_itself(
    open_counter: Opener, moody: Moody, monkeypatch: pytest.MonkeyPatch
) -> None:
    names = [f"moody{number}" for number in range(6)]
    counter = open_counter(*map(moody.tool, names))
    clients = [warmed(counter, name) for name in names]
    ping = counter.request(b'{"jsonrpc":"2.0","id":1,"method":"ping"}')
    start = threading.Thread.start

    def refuse(thread: threading.Thread) -> None:
        if thread.name.startswith(FRONT):
            msg = "can't start new thread"
            raise RuntimeError(msg)
        start(thread)

    monkeypatch.setattr(threading.Thread, "start", refuse)
    moody.waits = True
    for name, client in zip(names, clients, strict=True):
        # What is behind a ping has passed for quick before the first one is run.
        client.send(ping + counter.call_bytes(name))
    for _ in clients:
        moody.wait_entered()
    assert counter.message("ping").status == 200


def test_a_quick_call_reports_all_of_its_progress(open_counter: Opener) -> None:
    def moody(call: tool.Context) -> str:
        for done in range(3):
            call.progress(done)
        return threading.current_thread().name

    counter = open_counter(tool.define("moody", "Report.", moody))
    client = warmed(counter)
    body = (
        b'{"jsonrpc":"2.0","id":1,"method":"tools/call","params":'
        b'{"name":"moody","arguments":{},"_meta":{"progressToken":7}}}'
    )
    client.send(counter.request(body, extra=["Accept: application/json, text/event-stream"]))
    data = b""
    while b"structuredContent" not in data:
        data += client.sock.recv(65536)
    assert FRONT.encode() in data
    assert data.count(b"notifications/progress") == 3


def test_what_may_take_long_to_judge_is_not_for_the_front(open_counter: Opener) -> None:
    from toolcrib.runtime.gateway.http import Head
    from toolcrib.runtime.gateway.protocol import Protocol

    counter = open_counter(tool.define("echo", "Echo.", nothing))
    protocol, head = Protocol(), Head("POST", "/mcp", (), keep_alive=True)
    body = '{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"echo"%s}}'

    def at_once(more: str) -> object:
        request = protocol.read(head, (body % more).encode())
        return protocol.at_once(request, counter.registration)  # type: ignore[arg-type]

    assert at_once("") is not None
    assert at_once(',"arguments":{},"_meta":{}') is not None
    assert at_once(',"inputResponses":{}') is None
    protocol.close()


def nothing() -> None:
    """Do nothing."""


def test_progress_from_the_front_is_sent_while_the_call_goes_on(
    open_counter: Opener, moody: Moody
) -> None:
    counter = open_counter(moody.tool())
    client = warmed(counter)
    params = {"name": "moody", "arguments": {"wait": True}, "_meta": {"progressToken": 7}}
    body = b'{"jsonrpc":"2.0","id":1,"method":"tools/call","params":%b}'
    text = str(params).replace("'", '"').replace("True", "true").encode()
    accept = ["Accept: application/json, text/event-stream"]
    client.send(counter.request(body % text, extra=accept))
    moody.wait_entered()
    data = b""
    while b'"progressToken":7' not in data:
        data += client.sock.recv(65536)
    assert b"structuredContent" not in data


def test_many_that_wait_at_once_are_all_answered(open_counter: Opener) -> None:
    """Some calls of a quick tool wait, in any order; every answer finds its client."""

    def nap(number: int) -> int:
        if number % 7 == 0:
            threading.Event().wait(0.012)  # longer than a front has patience
        return number

    counter = open_counter(tool.define("nap", "Wait sometimes.", nap))

    def client(offset: int) -> None:
        mine = counter.connect()
        for number in range(offset, offset + 60):
            answer = mine.send(counter.call_bytes("nap", {"number": number}, id=number)).answer()
            assert answer.json["id"] == number
            assert answer.result["structuredContent"] == {"result": number}

    with ThreadPoolExecutor(8) as pool:
        for done in [pool.submit(client, 1000 * each + 1) for each in range(8)]:
            done.result(4 * DEADLINE)
    assert not counter.registration.running


def test_without_a_second_thread_workers_run_even_quick_calls(
    open_counter: Opener, moody: Moody, monkeypatch: pytest.MonkeyPatch
) -> None:
    start = threading.Thread.start

    def refuse(thread: threading.Thread) -> None:
        if thread.name.startswith(FRONT) and not thread.name.endswith("-1"):
            msg = "can't start new thread"
            raise RuntimeError(msg)
        start(thread)

    monkeypatch.setattr(threading.Thread, "start", refuse)
    counter = open_counter(moody.tool())
    client = counter.connect()
    for _ in range(50):
        assert ask(counter, client).startswith("toolcrib-gateway-worker-")
    monkeypatch.undo()
    warmed(counter)


def test_paces_follow_what_a_tool_does_lately() -> None:
    paces = Paces()
    assert not paces.quick("tool")
    paces.note("tool", 0.0001)
    assert not paces.quick("tool"), "one call shows little"
    for _ in range(10):
        paces.note("tool", 0.0001)
    assert paces.quick("tool")
    assert not paces.quick("other")
    paces.note("tool", 600.0)
    assert not paces.quick("tool")
    for _ in range(20):
        paces.note("tool", 0.0001)
    assert paces.quick("tool"), "a single slow call is not remembered for long"
