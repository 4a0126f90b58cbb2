"""Ten thousand generated hostile requests against a listener in a process of its own.

A state machine opens connections, sends requests whole, in pieces and many at a
time, changed at random, half-closes, resets and never reads. After every example
as many calls as may run and wait have to run and wait: what holds a place that
nobody uses would show. After all of them threads, descriptors and memory are
those of the beginning.
"""

from __future__ import annotations

import contextlib
import re
import socket
import struct
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field

import psutil
import pytest
from hypothesis import HealthCheck, settings
from hypothesis import strategies as st
from hypothesis.stateful import (
    RuleBasedStateMachine,
    precondition,
    rule,
    run_state_machine_as_test,
)

from .conftest import DEADLINE

REQUESTS = 10_000
RUNNING, WAITING = 4, 4
STATUSES = {100, 200, 202, 400, 401, 403, 404, 405, 408, 411, 413, 415, 421, 431, 503, 505}
TOKEN = "x" * 43
GROWTH = 48 * 1024 * 1024  # bytes; the SDK's own caches and the allocator's slack

HOST = f"""
import contextvars, sys, threading
import toolcrib.runtime.gateway.protocol  # its import would hold the clocks up
from toolcrib import tool
from toolcrib.runtime.gateway.front import Listener
from toolcrib.runtime.gateway.limits import Limits
from toolcrib.runtime.gateway.registration import Registration
from toolcrib.runtime.gateway.tokens import digest
from toolcrib.runtime.tools.catalog import Catalog

barrier = threading.Barrier({RUNNING})

def echo(text: str) -> str:
    return text

def much() -> str:
    return "x" * 1_000_000

def meet() -> str:
    try:
        barrier.wait(2)
    except threading.BrokenBarrierError:
        barrier.reset()
        raise
    return "met"

tools = [tool.define(each.__name__, "A tool.", each) for each in (echo, much, meet)]
limits = Limits(
    running={RUNNING}, waiting={WAITING}, connections=24, body_bytes=65536,
    head_timeout=1.0, body_timeout=1.0, write_timeout=1.0, idle_timeout=5.0,
)
listener = Listener(limits)
port = listener.open().port
registration = Registration("agent", Catalog(tools), contextvars.copy_context())
listener.publish({{digest({TOKEN!r}): registration}})
print(port, flush=True)
sys.stdin.read()
assert listener.close(10)
"""

RIGHT = f"Host: {{host}}\r\nAuthorization: Bearer {TOKEN}\r\nContent-Type: application/json\r\n"


def post(body: str, *lines: str, first: str = "POST /mcp HTTP/1.1", right: str = RIGHT) -> bytes:
    more = "".join(f"{line}\r\n" for line in lines)
    return f"{first}\r\n{right}{more}Content-Length: {len(body)}\r\n\r\n{body}".encode("latin-1")


def call(name: str, arguments: str = "{}") -> str:
    params = f'{{"name":"{name}","arguments":{arguments}}}'
    return f'{{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{params}}}'


ECHO = call("echo", '{"text":"hi"}')
MODERN = ("MCP-Protocol-Version: 2026-07-28", "Mcp-Method: tools/call", "Mcp-Name: echo")
BASES = (
    post(ECHO),
    post(call("much")),
    post(call("nope")),
    post(ECHO, *MODERN),
    post(ECHO, "Expect: 100-continue"),
    post(ECHO, "Connection: close"),
    post(ECHO, "MCP-Protocol-Version: 1999-01-01"),
    post('{"jsonrpc":"2.0","id":1,"method":"tools/list"}'),
    post('{"jsonrpc":"2.0","id":1,"method":"initialize","params":{}}'),
    post('{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":1}}'),
    post("[" * 3000),
    post('{"a":1e999}'),
    post(""),
    post(ECHO, "Origin: http://evil.example"),
    post(ECHO, right="Host: {host}\r\n"),
    post(ECHO, right=RIGHT.replace("{host}", "evil.example")),
    post(ECHO, right=RIGHT.replace(TOKEN, "y" * 43)),
    post(ECHO, first="GET /.well-known/oauth-protected-resource HTTP/1.1"),
    post(ECHO, first="DELETE /mcp HTTP/1.1"),
    post(ECHO, first="POST http://evil.example/mcp HTTP/1.1"),
    post(ECHO, "Transfer-Encoding: chunked"),
    post(ECHO, "Content-Length: 5"),
    post(ECHO, "X: a\r\n b"),
    post(ECHO, f"X: {'a' * 17000}"),
    post(ECHO, *["X: 1"] * 70),
    f"POST /mcp HTTP/1.1\r\n{RIGHT}Content-Length: 70000\r\n\r\n".encode(),
    f"POST /mcp HTTP/1.1\r\n{RIGHT}\r\n".encode(),
    b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03\r\n\r\n",
)
NOISE = (b"\r\n", b"\n", b"\0", b"\r\n\r\n", b"\xff\xfe", b"{", b'"', b": ", b"0" * 100, b" ")


def changed(base: int, change: str, place: int, noise: int) -> bytes:
    """Return a request with one thing changed at some place."""
    data = BASES[base]
    at = place * len(data) // 1000
    match change:
        case "insert":
            return data[:at] + NOISE[noise] + data[at:]
        case "replace":
            return data[:at] + NOISE[noise] + data[at + len(NOISE[noise]) :]
        case "remove":
            return data[:at] + data[at + 1 + noise :]
        case "repeat":
            return data[:at] + data[at : at + 40] * 2 + data[at + 40 :]
    return data


HOSTILE = st.builds(
    changed,
    st.integers(0, len(BASES) - 1),
    st.sampled_from(("nothing", "insert", "replace", "remove", "repeat")),
    st.integers(0, 999),
    st.integers(0, len(NOISE) - 1),
)


@dataclass
class Host:
    """The listener's process."""

    process: psutil.Process
    port: int
    sent: int = 0
    statuses: set[int] = field(default_factory=set)

    def connect(self) -> socket.socket:
        return socket.create_connection(("127.0.0.1", self.port), DEADLINE)

    def send(self, sock: socket.socket, data: bytes) -> None:
        """Send what the other side still takes; it may have refused and closed."""
        self.sent += 1
        sock.settimeout(0.05)
        with contextlib.suppress(ConnectionError, TimeoutError):
            sock.sendall(data.replace(b"{host}", f"127.0.0.1:{self.port}".encode()))

    def judge(self, received: bytes) -> list[int]:
        """Check every status in what came back."""
        found = [int(each) for each in re.findall(rb"^HTTP/1\.1 (\d+) ", received, re.MULTILINE)]
        assert set(found) <= STATUSES, received[:2000]
        assert found.count(503) == received.count(b"\r\nRetry-After: 1\r\n")
        self.statuses.update(found)
        return found

    def calls(self, name: str, count: int) -> list[bytes]:
        """Call a tool on so many connections at a time; return the answers."""
        socks = [self.connect() for _ in range(count)]
        for sock in socks:
            sock.sendall(post(call(name)).replace(b"{host}", f"127.0.0.1:{self.port}".encode()))
        answers = []
        for sock in socks:
            data = b""
            # A refused connection ends; one that is served says the end by a brace.
            with contextlib.suppress(ConnectionError):
                while not data.endswith(b"}") and (more := sock.recv(65536)):
                    data += more
            answers.append(data)
            sock.close()
        return answers

    def refuse(self, data: bytes) -> None:
        """Send a request and what ends its connection; read all that comes back."""
        with self.connect() as sock:
            self.send(sock, data)
            # The last word: whatever came before, this one ends the connection.
            self.send(sock, b"\r\n\r\n\0\r\n\r\n" + b"\0" * 17000)
            self.judge(read_to_the_end(sock))

    def meet(self) -> None:
        """Have as many calls as may run and wait do so, all at a time.

        They meet only where all of the first run together, and then all that waited.
        What came before may still be on its way out, so this is tried for a while.
        """
        end = time.monotonic() + 2 * DEADLINE
        while True:
            answers = self.calls("meet", RUNNING + WAITING)
            if all(b'"met\\"' in each for each in answers):
                return
            assert time.monotonic() < end, answers

    def figures(self) -> tuple[int, int, int]:
        """Threads, descriptors and bytes."""
        with self.process.oneshot():
            memory = self.process.memory_info().rss
            return self.process.num_threads(), self.process.num_fds(), memory

    def settled(self, reached: Callable[[tuple[int, int, int]], bool]) -> tuple[int, int, int]:
        """Wait until the figures are as they should be; return the last ones."""
        end = time.monotonic() + DEADLINE
        while not reached(self.figures()) and time.monotonic() < end:
            # The only way to ask another process again; nobody would tell.
            self.calls("echo", 1)
        return self.figures()


@pytest.fixture
def host() -> Iterator[Host]:
    with subprocess.Popen(
        [sys.executable, "-c", HOST], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    ) as process:
        assert process.stdin is not None
        assert process.stdout is not None
        yield Host(psutil.Process(process.pid), int(process.stdout.readline()))
        process.stdin.close()
        assert process.wait(DEADLINE * 2) == 0


class Clients(RuleBasedStateMachine):
    """Connections of clients that mean no good."""

    host: Host

    def __init__(self) -> None:
        super().__init__()
        self.open: list[socket.socket] = []
        self.rests: dict[socket.socket, bytes] = {}
        self.timed = 0

    def some(self, which: int) -> socket.socket:
        return self.open[which % len(self.open)]

    @rule(data=HOSTILE)
    def opens_and_sends(self, data: bytes) -> None:
        self.open.append(self.host.connect())
        self.host.send(self.open[-1], data)

    @precondition(lambda self: self.open)
    @rule(data=HOSTILE, which=st.integers(0, 99), cut=st.integers(0, 999))
    def sends_a_piece(self, data: bytes, which: int, cut: int) -> None:
        self.host.send(self.some(which), data[: 1 + cut * len(data) // 1000])

    @precondition(lambda self: self.open)
    @rule(pipelined=st.lists(HOSTILE, min_size=2, max_size=12), which=st.integers(0, 99))
    def sends_many_at_once(self, pipelined: list[bytes], which: int) -> None:
        self.host.send(self.some(which), b"".join(pipelined))
        self.host.sent += len(pipelined) - 1

    @rule(many=st.lists(HOSTILE, min_size=1, max_size=16))
    def asks_and_reads_to_the_end(self, many: list[bytes]) -> None:
        for data in many:
            self.host.refuse(data)

    @precondition(lambda self: self.open)
    @rule(which=st.integers(0, 99))
    def half_closes(self, which: int) -> None:
        with contextlib.suppress(OSError):
            self.some(which).shutdown(socket.SHUT_WR)

    @precondition(lambda self: self.open)
    @rule(which=st.integers(0, 99), reset=st.booleans())
    def leaves(self, which: int, reset: bool) -> None:
        sock = self.open.pop(which % len(self.open))
        if reset:
            sock.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
        sock.close()

    @precondition(lambda self: self.open)
    @rule(which=st.integers(0, 99))
    def reads_what_is_there(self, which: int) -> None:
        sock = self.some(which)
        sock.setblocking(False)
        with contextlib.suppress(OSError):
            # What is there may end anywhere, also in the middle of a head.
            data = self.rests.pop(sock, b"") + sock.recv(1 << 20)
            whole, end, self.rests[sock] = data.rpartition(b"\r\n\r\n")
            self.host.judge(whole + end)

    def teardown(self) -> None:
        for sock in self.open:
            sock.close()
        self.host.meet()


def read_to_the_end(sock: socket.socket) -> bytes:
    """Read until the other side has closed, which it has to, in time."""
    sock.settimeout(DEADLINE)
    data = b""
    with contextlib.suppress(ConnectionError):
        while more := sock.recv(1 << 20):
            data += more
    return data


@pytest.mark.timeout(300)
def test_ten_thousand_hostile_requests_harm_nothing(host: Host) -> None:
    machine = type("HostileClients", (Clients,), {"host": host})
    rounds = settings(
        max_examples=20,
        stateful_step_count=30,
        deadline=None,
        suppress_health_check=[
            HealthCheck.too_slow,
            HealthCheck.data_too_large,
            HealthCheck.filter_too_much,
        ],
    )
    host.meet()
    run_state_machine_as_test(machine, settings=rounds)
    _, descriptors, memory = host.figures()

    while host.sent < REQUESTS:
        run_state_machine_as_test(machine, settings=rounds)

    # The workers: those of running and waiting calls at most, a few to spare, and the front.
    most = 2 * (RUNNING + WAITING)
    ended = host.settled(lambda now: now[0] <= most and now[1] <= descriptors)
    assert ended[0] <= most
    assert ended[1] <= descriptors
    assert ended[2] - memory < GROWTH
    assert host.statuses >= {200, 202, 400, 401, 403, 404, 405, 411, 413, 421, 431}
