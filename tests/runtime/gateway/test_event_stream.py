"""A call that takes long is answered as a stream of events, to clients that accept one."""

from __future__ import annotations

import asyncio
import json
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, Literal

import pytest
from mcp import Client as McpClient
from mcp.client.streamable_http import streamable_http_client
from mcp.shared._httpx_utils import create_mcp_http_client

from toolcrib import tool

from .conftest import DEADLINE, MODERN, Client, Counter, Gate, Opener

BOTH = "Accept: application/json, text/event-stream"
AT_ONCE = 0.05  # seconds, for `stream_after`
NEVER = 60.0


class Stream:
    """Reads a chunked answer, event by event."""

    def __init__(self, client: Client) -> None:
        self.client = client
        self._data = b""
        head = self._until(b"\r\n\r\n").decode().split("\r\n")
        self.status = int(head[0].split(" ")[1])
        self.fields = dict(line.lower().split(": ", 1) for line in head[1:])
        assert self.fields["transfer-encoding"] == "chunked"
        assert "content-length" not in self.fields

    def next(self) -> str | None:
        """Return the next chunk; ``None`` at the end of the stream."""
        size = int(self._until(b"\r\n"), 16)
        while len(self._data) < size + 2:
            self._more()
        chunk, self._data = self._data[:size], self._data[size + 2 :]
        return chunk.decode() if size else None

    def message(self) -> Any:
        """Return the next message, past any comment."""
        while (chunk := self.next()) is not None:
            if not chunk.startswith(":"):
                first, second, *rest = chunk.split("\n")
                assert (first, rest) == ("event: message", ["", ""])
                return json.loads(second.removeprefix("data: "))
        pytest.fail("the stream ended without a message")

    def rest(self) -> list[Any]:
        """Return all messages that are still to come."""
        chunks = iter(self.next, None)
        return [json.loads(each.split("data: ")[1]) for each in chunks if each.startswith("event")]

    def _until(self, end: bytes) -> bytes:
        while end not in self._data:
            self._more()
        before, self._data = self._data.split(end, 1)
        return before

    def _more(self) -> None:
        data = self.client.sock.recv(65536)
        assert data, "the server closed in the middle of a stream"
        self._data += data


def failure(message: Any) -> Any:
    assert message["result"]["isError"] is True
    return json.loads(message["result"]["content"][0]["text"])["code"]


def call_with_token(counter: Counter, name: str, token: Any, **head: Any) -> bytes:
    params = {"name": name, "arguments": {}, "_meta": {"progressToken": token}}
    message = {"jsonrpc": "2.0", "id": 7, "method": "tools/call", "params": params}
    return counter.request(json.dumps(message).encode(), **{"extra": [BOTH], **head})


@dataclass
class Reporter:
    """A tool that reports what the test says, when the test says so."""

    context: tool.Context | None = None
    entered: threading.Event = field(default_factory=threading.Event)
    done: threading.Event = field(default_factory=threading.Event)

    def tool(self) -> tool.Tool:
        def work(context: tool.Context) -> str:
            self.context = context
            self.entered.set()
            assert self.done.wait(DEADLINE)
            return "done"

        return tool.define("work", "Work.", work, deadline=NEVER)

    def report(self, *numbers: float) -> None:
        assert self.entered.wait(DEADLINE)
        assert self.context is not None
        for number in numbers:
            self.context.progress(number, 10, f"at {number}")


@pytest.fixture
def reporter() -> Any:
    made = Reporter()
    yield made
    made.done.set()


def test_a_long_call_is_kept_alive_and_answered_as_an_event(
    open_counter: Opener, gate: Gate
) -> None:
    counter = open_counter(gate.tool(), stream_after=AT_ONCE, stream_pause=0.05)
    client = counter.connect().send(counter.call_bytes("wait", id="x", extra=[BOTH]))

    stream = Stream(client)
    comments = [stream.next() for _ in range(3)]
    gate.opened.set()
    (last,) = stream.rest()

    assert (stream.status, stream.fields["content-type"]) == (200, "text/event-stream")
    assert all(comment is not None and comment.startswith(":") for comment in comments)
    assert last["id"] == "x"
    assert last["result"]["structuredContent"] == {"result": "done"}


def test_a_connection_goes_on_after_a_stream(open_counter: Opener, gate: Gate) -> None:
    counter = open_counter(gate.tool(), stream_after=AT_ONCE)
    client = counter.connect().send(counter.call_bytes("wait", extra=[BOTH]))
    stream = Stream(client)
    gate.opened.set()
    stream.rest()

    assert client.send(counter.call_bytes("wait", id=2)).answer().json["id"] == 2


def test_a_short_call_is_answered_as_json(open_counter: Opener, echo: tool.Tool) -> None:
    reply = open_counter(echo).call("echo", {"text": "hi"}, extra=[BOTH])

    assert reply.fields["content-type"] == "application/json"


@pytest.mark.parametrize(
    "accept",
    [
        [],
        ["Accept: application/json"],
        ["Accept: */*"],
        ["Accept: application/json, text/event-stream;q=0"],
    ],
)
def test_a_client_that_does_not_name_streams_gets_json_however_long_it_takes(
    open_counter: Opener, gate: Gate, accept: list[str]
) -> None:
    counter = open_counter(gate.tool(), stream_after=AT_ONCE)
    client = counter.connect().send(counter.call_bytes("wait", extra=accept))
    gate.wait_entered()
    assert client.silent(0.3)
    gate.opened.set()

    reply = client.answer()

    assert (reply.status, reply.fields["content-type"]) == (200, "application/json")


def test_what_is_no_call_never_becomes_a_stream(open_counter: Opener, echo: tool.Tool) -> None:
    counter = open_counter(echo, stream_after=0.0001)

    for method in ("tools/list", "ping"):
        for _ in range(2):
            reply = counter.message(method, extra=[BOTH])
            assert reply.fields["content-type"] == "application/json"


@pytest.mark.parametrize("token", ["job", 0, 7])
def test_progress_comes_as_it_is_reported(
    open_counter: Opener, reporter: Reporter, token: Any
) -> None:
    counter = open_counter(reporter.tool(), stream_after=NEVER)
    client = counter.connect().send(call_with_token(counter, "work", token))

    reporter.report(1)
    first = Stream(client)
    notification = first.message()
    reporter.report(2.5)
    second = first.message()
    reporter.done.set()

    assert notification == {
        "jsonrpc": "2.0",
        "method": "notifications/progress",
        "params": {"progressToken": token, "progress": 1, "total": 10, "message": "at 1"},
    }
    assert second["params"]["progress"] == 2.5
    assert first.rest()[-1]["result"]["isError"] is False


def test_progress_only_grows(open_counter: Opener, reporter: Reporter) -> None:
    counter = open_counter(reporter.tool(), stream_after=NEVER)
    client = counter.connect().send(call_with_token(counter, "work", "t"))
    reporter.report(1)
    stream = Stream(client)
    seen = [stream.message()["params"]["progress"]]

    reporter.report(1, 0, -5, 0.5, 2)
    seen.append(stream.message()["params"]["progress"])
    reporter.done.set()

    assert seen == [1, 2]
    assert len(stream.rest()) == 1


def test_progress_that_nobody_asked_for_is_not_sent(
    open_counter: Opener, reporter: Reporter
) -> None:
    counter = open_counter(reporter.tool(), stream_after=NEVER)
    asking_no = counter.connect().send(counter.call_bytes("work", extra=[BOTH]))
    reporter.report(1, 2)
    reporter.done.set()
    assert asking_no.answer().result["isError"] is False

    reporter.done.clear()
    reporter.entered.clear()
    accepting_no = counter.connect().send(call_with_token(counter, "work", "t", extra=[]))
    reporter.report(1, 2)
    reporter.done.set()
    assert accepting_no.answer().result["isError"] is False


def test_progress_after_the_answer_is_dropped(open_counter: Opener, reporter: Reporter) -> None:
    counter = open_counter(reporter.tool(), stream_after=NEVER)
    client = counter.connect().send(call_with_token(counter, "work", "t"))
    reporter.report(1)
    reporter.done.set()
    Stream(client).rest()

    reporter.report(2)

    assert client.send(counter.request(b'{"jsonrpc":"2.0","id":5,"method":"ping"}')).answer().json
    assert client.silent(0.05)


def test_a_stream_may_outlast_what_a_silent_client_bears(open_counter: Opener, gate: Gate) -> None:
    counter = open_counter(gate.tool(deadline=NEVER), stream_after=AT_ONCE, silence=0.3)
    streaming = counter.connect().send(counter.call_bytes("wait", extra=[BOTH]))
    silent = counter.connect().send(counter.call_bytes("wait"))
    gate.wait_entered(2)

    assert silent.answer().failure["code"] == "deadline_exceeded"
    assert sorted(str(each.reason) for each in gate.contexts) == ["None", "deadline_exceeded"]
    gate.opened.set()
    assert Stream(streaming).message()["result"]["isError"] is False


def test_a_client_without_streams_is_answered_before_it_gives_up_whatever_the_limit(
    open_counter: Opener, gate: Gate
) -> None:
    counter = open_counter(gate.tool(), silence=0.2, deadline=NEVER)

    assert counter.call("wait").failure["code"] == "deadline_exceeded"


def test_a_deadline_ends_a_stream(open_counter: Opener, gate: Gate) -> None:
    counter = open_counter(gate.tool(deadline=0.3), stream_after=AT_ONCE)
    stream = Stream(counter.connect().send(counter.call_bytes("wait", extra=[BOTH])))

    (last,) = stream.rest()

    assert failure(last) == "deadline_exceeded"
    assert gate.contexts[0].reason == "deadline_exceeded"


def test_a_client_that_leaves_a_stream_cancels_its_call(open_counter: Opener, gate: Gate) -> None:
    counter = open_counter(gate.tool(), stream_after=AT_ONCE)
    client = counter.connect().send(counter.call_bytes("wait", extra=[BOTH]))
    gate.wait_entered()
    Stream(client).next()

    client.close()

    assert gate.contexts[0].wait_cancelled(DEADLINE)
    assert gate.contexts[0].reason == "canceled"


def test_a_close_cuts_a_held_stream_within_its_deadline(open_counter: Opener, gate: Gate) -> None:
    counter = open_counter(gate.tool(), stream_after=AT_ONCE)
    stream = Stream(counter.connect().send(counter.call_bytes("wait", extra=[BOTH])))
    gate.wait_entered()

    began = time.monotonic()
    assert not counter.listener.close(0.5), "the handler hangs on"
    took = time.monotonic() - began

    assert took < 2
    assert failure(stream.rest()[-1]) == "canceled"
    assert stream.client.ended()
    gate.opened.set()


def test_a_stream_whose_agent_goes_ends_with_an_answer_to_its_request(
    open_counter: Opener, gate: Gate
) -> None:
    counter = open_counter(gate.tool(), running=1, stream_after=AT_ONCE)
    counter.connect().send(counter.call_bytes("wait"))
    gate.wait_entered()
    waiting = Stream(counter.connect().send(counter.call_bytes("wait", id="w", extra=[BOTH])))
    assert waiting.next() is not None

    counter.registration.cancel()
    gate.opened.set()

    (last,) = waiting.rest()
    assert (last["id"], failure(last)) == ("w", "canceled")


def test_a_client_that_does_not_read_its_stream_holds_nobody_up(open_counter: Opener) -> None:
    stopped = threading.Event()
    longest = 0.0

    def chatter(context: tool.Context) -> None:
        nonlocal longest
        number = 0
        while not context.cancelled:
            number += 1
            began = time.monotonic()
            context.progress(number, message="x" * 100_000)
            longest = max(longest, time.monotonic() - began)
        stopped.set()

    chatty = tool.define("chatter", "Talk.", chatter, deadline=NEVER)
    counter = open_counter(chatty, write_timeout=0.5)
    client = counter.connect().send(call_with_token(counter, "chatter", "t"))

    assert stopped.wait(DEADLINE), "the connection is cut, which cancels the call"
    assert longest < 0.4, "no report waited for the client"
    assert client.ended()


def test_line_ends_of_unicode_do_not_cut_an_event(open_counter: Opener, gate: Gate) -> None:
    text = "one\u2028two\u2029three\u0085four\r\nfive"

    def lines() -> str:
        gate.entered.release()
        gate.opened.wait()
        return text

    counter = open_counter(tool.define("lines", "Lines.", lines), stream_after=AT_ONCE)
    stream = Stream(counter.connect().send(counter.call_bytes("lines", extra=[BOTH])))
    gate.opened.set()
    chunk = next(each for each in iter(stream.next, None) if each.startswith("event"))

    assert len(chunk.splitlines()) == 3
    assert json.loads(chunk.split("data: ")[1])["result"]["structuredContent"] == {"result": text}


def test_a_large_result_comes_whole_as_an_event(open_counter: Opener, gate: Gate) -> None:
    def much() -> str:
        gate.opened.wait()
        return "é" * 1_000_000

    counter = open_counter(tool.define("much", "Much.", much), stream_after=AT_ONCE)
    stream = Stream(counter.connect().send(counter.call_bytes("much", extra=[BOTH])))
    gate.opened.set()

    assert stream.message()["result"]["structuredContent"]["result"] == "é" * 1_000_000
    assert stream.next() is None


@pytest.mark.parametrize(("mode", "version"), [("legacy", "2025-11-25"), ("auto", MODERN)])
def test_the_official_client_gets_progress_and_a_late_answer(
    open_counter: Opener, mode: Literal["legacy", "auto"], version: str
) -> None:
    # The handler goes on when its report has arrived, and ends after some silence.
    arrived = threading.Event()

    def work(context: tool.Context) -> str:
        context.progress(1, 2, "half")
        assert arrived.wait(DEADLINE)
        assert not context.wait_cancelled(0.3)
        return "line\u2028end"

    counter = open_counter(
        tool.define("work", "Work.", work), stream_after=AT_ONCE, stream_pause=0.05
    )
    seen: list[Any] = []

    async def hear(progress: float, total: float | None, message: str | None) -> None:
        seen.append((progress, total, message))
        arrived.set()

    async def run(client: McpClient) -> Any:
        assert client.protocol_version == version
        return await client.call_tool("work", {}, progress_callback=hear)

    result = _connected(counter, mode, run)

    assert seen == [(1, 2, "half")]
    assert result.structured_content == {"result": "line\u2028end"}


def _connected(
    counter: Counter, mode: Literal["legacy", "auto"], use: Callable[[McpClient], Any]
) -> Any:
    async def run() -> Any:
        headers = {"Authorization": f"Bearer {counter.token}"}
        async with create_mcp_http_client(headers=headers) as http:
            url = f"http://127.0.0.1:{counter.port}/mcp"
            transport = streamable_http_client(url, http_client=http)
            async with McpClient(transport, mode=mode) as client:
                return await use(client)

    return asyncio.run(run())
