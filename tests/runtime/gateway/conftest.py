"""A real listener on a real port, and a client that can be as rude as it likes."""

from __future__ import annotations

import contextlib
import contextvars
import json
import select
import socket
import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import pytest

from toolcrib import tool
from toolcrib.runtime.gateway.front import Listener
from toolcrib.runtime.gateway.limits import Limits
from toolcrib.runtime.gateway.registration import Registration
from toolcrib.runtime.gateway.tokens import digest, new_token
from toolcrib.runtime.tools.catalog import Catalog

DEADLINE = 10.0  # seconds after which a test has waited too long
MODERN = "2026-07-28"


@dataclass
class Reply:
    """A response."""

    status: int
    fields: dict[str, str]
    body: bytes

    @property
    def json(self) -> Any:
        return json.loads(self.body)

    @property
    def result(self) -> Any:
        return self.json["result"]

    @property
    def failure(self) -> Any:
        """The code and message of a tool that failed."""
        assert self.result["isError"] is True
        assert "structuredContent" not in self.result
        (block,) = self.result["content"]
        return json.loads(block["text"])


class Client:
    """One connection, byte by byte."""

    def __init__(self, port: int) -> None:
        self.sock = socket.create_connection(("127.0.0.1", port), DEADLINE)
        self._data = b""

    def send(self, data: bytes) -> Client:
        # A server that refuses early may have closed its side already.
        with contextlib.suppress(ConnectionError):
            self.sock.sendall(data)
        return self

    def reply(self) -> Reply | None:
        """Return the next response; ``None`` when the server closed instead."""
        while b"\r\n\r\n" not in self._data:
            if not self._more():
                return None
        head, self._data = self._data.split(b"\r\n\r\n", 1)
        first, *lines = head.decode("latin-1").split("\r\n")
        fields = {name.lower(): value for name, value in (line.split(": ", 1) for line in lines)}
        length = int(fields.get("content-length", "0"))
        while len(self._data) < length:
            assert self._more(), "the server closed in the middle of a body"
        body, self._data = self._data[:length], self._data[length:]
        return Reply(int(first.split(" ")[1]), fields, body)

    def answer(self) -> Reply:
        """Return the next response, which has to come."""
        reply = self.reply()
        assert reply is not None, "the server closed without an answer"
        return reply

    def ended(self) -> bool:
        """Wait for the server to close."""
        while self._more():
            pass
        return True

    def silent(self, seconds: float) -> bool:
        """Whether nothing comes for a while."""
        return not self._data and not select.select([self.sock], [], [], seconds)[0]

    def close(self) -> None:
        self.sock.close()

    def _more(self) -> bool:
        try:
            data = self.sock.recv(65536)
        except ConnectionError:
            return False
        self._data += data
        return bool(data)


@dataclass
class Counter:
    """An open listener, and what its tokens open."""

    listener: Listener
    port: int
    registrations: dict[str, Registration] = field(default_factory=dict)
    clients: list[Client] = field(default_factory=list)

    @property
    def token(self) -> str:
        return next(iter(self.registrations))

    @property
    def registration(self) -> Registration:
        return self.registrations[self.token]

    def register(self, *tools: tool.Tool, agent: str = "agent") -> str:
        """Put tools on the counter; return their token."""
        token = new_token()
        context = contextvars.copy_context()
        self.registrations[token] = Registration(agent, Catalog(tools), context)
        self.publish()
        return token

    def publish(self) -> None:
        """Publish what is registered."""
        self.listener.publish({digest(token): each for token, each in self.registrations.items()})

    def connect(self) -> Client:
        """Open a connection."""
        client = Client(self.port)
        self.clients.append(client)
        return client

    def head(
        self,
        length: int | None = 0,
        *,
        method: str = "POST",
        target: str = "/mcp",
        host: str | None = "",
        token: str | None = "",
        content_type: str | None = "application/json",
        extra: Sequence[str] = (),
    ) -> bytes:
        """Build a head; an empty string means the right value, None no field."""
        lines = [f"{method} {target} HTTP/1.1"]
        if host is not None:
            lines.append(f"Host: {host or f'127.0.0.1:{self.port}'}")
        if token is not None:
            lines.append(f"Authorization: Bearer {token or self.token}")
        if content_type is not None:
            lines.append(f"Content-Type: {content_type}")
        lines += extra
        if length is not None:
            lines.append(f"Content-Length: {length}")
        return "\r\n".join([*lines, "", ""]).encode("latin-1")

    def request(self, body: bytes, **head: Any) -> bytes:
        """Build a request."""
        return self.head(len(body), **head) + body

    def call_bytes(
        self, name: str, arguments: Mapping[str, Any] | None = None, *, id: Any = 1, **head: Any
    ) -> bytes:
        """Build the request that calls a tool."""
        params = {"name": name, "arguments": dict(arguments or {})}
        message = {"jsonrpc": "2.0", "id": id, "method": "tools/call", "params": params}
        return self.request(json.dumps(message).encode(), **head)

    def ask(self, data: bytes) -> Reply:
        """Send bytes on a new connection and return the answer."""
        return self.connect().send(data).answer()

    def call(self, name: str, arguments: Mapping[str, Any] | None = None, **more: Any) -> Reply:
        """Call a tool on a new connection."""
        return self.ask(self.call_bytes(name, arguments, **more))

    def message(self, method: str, params: Any = None, **head: Any) -> Reply:
        """Send a JSON-RPC request of the handshake era on a new connection."""
        body: dict[str, Any] = {"jsonrpc": "2.0", "id": 1, "method": method}
        if params is not None:
            body["params"] = params
        return self.ask(self.request(json.dumps(body).encode(), **head))

    def modern(
        self, method: str, params: Mapping[str, Any] | None = None, fields: Sequence[str] = ()
    ) -> Reply:
        """Send a JSON-RPC request of the modern era on a new connection."""
        meta = {
            "io.modelcontextprotocol/protocolVersion": MODERN,
            "io.modelcontextprotocol/clientCapabilities": {},
        }
        given = dict(params or {})
        extra = [f"MCP-Protocol-Version: {MODERN}", f"Mcp-Method: {method}", *fields]
        if "name" in given:
            extra.append(f"Mcp-Name: {given['name']}")
        return self.message(method, {**given, "_meta": meta}, extra=extra)


Opener = Callable[..., Counter]


@pytest.fixture
def open_counter() -> Iterator[Opener]:
    """Open a listener with tools: ``open_counter(tools, limit=...)``."""
    counters: list[Counter] = []

    def open_one(*tools: tool.Tool, port: int = 0, **limits: Any) -> Counter:
        listener = Listener(Limits(**limits))
        counter = Counter(listener, listener.open(port).port)
        counters.append(counter)
        counter.register(*tools)
        return counter

    yield open_one
    for counter in counters:
        for client in counter.clients:
            client.close()
        assert counter.listener.close(DEADLINE)


@dataclass
class Gate:
    """A tool whose handler waits until the test lets it go."""

    entered: threading.Semaphore = field(default_factory=lambda: threading.Semaphore(0))
    opened: threading.Event = field(default_factory=threading.Event)
    contexts: list[tool.Context] = field(default_factory=list)

    def tool(self, name: str = "wait", deadline: float | None = None) -> tool.Tool:
        def wait(context: tool.Context) -> str:
            self.contexts.append(context)
            self.entered.release()
            self.opened.wait()
            return "done"

        return tool.define(name, "Wait.", wait, deadline=deadline)

    def wait_entered(self, count: int = 1) -> None:
        for _ in range(count):
            assert self.entered.acquire(timeout=DEADLINE), "the handler was not called"


@pytest.fixture
def gate() -> Iterator[Gate]:
    """A gate that opens at the test's end at the latest."""
    made = Gate()
    yield made
    made.opened.set()


@pytest.fixture
def echo() -> tool.Tool:
    def echo(text: str) -> dict[str, str]:
        return {"text": text}

    return tool.define("echo", "Echo the text.", echo)
