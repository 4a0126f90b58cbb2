"""Agents come and go at the same moment: nobody meets a listener that is going.

The registry and the gateway actor are the real ones, with real listeners; what an
Agent does in its life at the counter is here: it asks for a token, calls a tool with
it, and gives it back.
"""

from __future__ import annotations

import contextvars
import http.client
import itertools
import json
import queue
import random
import socket
import threading
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field

import pytest

from toolcrib import GatewayError, tool
from toolcrib.actors.base import Services
from toolcrib.actors.gateway import GatewayActor
from toolcrib.actors.registry import RegistryActor
from toolcrib.messages.base import Message
from toolcrib.messages.registry import (
    MintToken,
    RetireToken,
    TokenMinted,
    TokenRefused,
    TokenRetired,
    TokenRetiring,
)
from toolcrib.runtime.gateway.front import Endpoint, Listener
from toolcrib.runtime.gateway.limits import Limits
from toolcrib.runtime.timers import Timers
from toolcrib.runtime.tools.catalog import Catalog
from toolcrib.runtime.workers import Workers

from .conftest import DEADLINE

ROUNDS = 200
AGENTS = 6


def echo(text: str) -> str:
    return text


@dataclass
class Asker:
    """An address that keeps what it gets."""

    name: str
    got: queue.Queue[Message] = field(default_factory=queue.Queue)

    def deliver(self, message: Message, sender: str) -> None:
        self.got.put(message)


@dataclass
class Listeners:
    """Makes listeners, and remembers how many were ever open together."""

    open: int = 0
    most: int = 0
    opened: int = 0
    lock: threading.Lock = field(default_factory=threading.Lock)

    def make(self) -> Listener:
        return Counted(self)

    def count(self, change: int) -> None:
        with self.lock:
            self.open += change
            self.opened += change > 0
            self.most = max(self.most, self.open)


class Counted(Listener):
    """A real listener that is counted."""

    def __init__(self, listeners: Listeners) -> None:
        super().__init__(Limits())
        self._listeners = listeners

    def open(self, port: int = 0) -> Endpoint:
        endpoint = super().open(port)
        self._listeners.count(1)
        return endpoint

    def close(self, timeout: float) -> bool:
        ended = super().close(timeout)
        self._listeners.count(-1)
        return ended


class System:
    """The two actors of the counter."""

    def __init__(self, port: int = 0) -> None:
        self.listeners = Listeners()
        self._services = Services(Workers("toolcrib-test-worker", idle=0.1), Timers(), None)
        self._gateway = GatewayActor.launch(self._services, self.listeners.make, port)
        self._registry = RegistryActor.launch(self._services, self._gateway)
        self._catalog = Catalog([tool.define("echo", "Say it again.", echo)])

    def mint(self, agent: str) -> Message:
        asker = Asker(agent)
        context = contextvars.copy_context()
        mint = MintToken(agent=agent, catalog=self._catalog, context=context, reply_to=asker)
        self._registry.deliver(mint, agent)
        return asker.got.get(timeout=DEADLINE)

    def retire(self, agent: str) -> None:
        asker = Asker(agent)
        self._registry.deliver(RetireToken(agent, asker), agent)
        while isinstance(answer := asker.got.get(timeout=DEADLINE), TokenRetiring):
            pass
        assert isinstance(answer, TokenRetired)

    def close(self) -> None:
        for actor in (self._registry, self._gateway):
            actor.close()
            assert actor.join(DEADLINE)
        self._services.workers.close()
        self._services.timers.close()


@pytest.fixture
def system() -> Iterator[System]:
    made = System()
    yield made
    made.close()


def call(url: str, token: str, text: str) -> int:
    """Call the tool on a new connection; return the status."""
    host = url.removeprefix("http://").removesuffix("/mcp")
    params = {"name": "echo", "arguments": {"text": text}}
    body = json.dumps({"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": params})
    headers = {"Authorization": f"Bearer {token}", "Content-Type": "application/json"}
    connection = http.client.HTTPConnection(host, timeout=DEADLINE)
    try:
        connection.request("POST", "/mcp", body, headers)
        answer = connection.getresponse()
        assert answer.status != 200 or text in answer.read().decode()
        return answer.status
    finally:
        connection.close()


def live(system: System, agent: str, calls: int) -> str:
    """Come, call and go; return the URL."""
    minted = system.mint(agent)
    assert isinstance(minted, TokenMinted), minted
    token = minted.token.reveal()
    assert [call(minted.url, token, agent) for _ in range(calls)] == [200] * calls
    system.retire(agent)
    return minted.url


@pytest.mark.timeout(180)
def test_in_200_rounds_of_coming_and_going_no_agent_meets_a_dying_listener(
    system: System,
) -> None:
    chance = random.Random(5)  # noqa: S311 - a seed, so that a failure comes again
    names = itertools.count(1)

    with ThreadPoolExecutor(AGENTS) as pool:
        for _ in range(ROUNDS):
            started = [
                pool.submit(live, system, f"agent-{next(names)}", chance.randrange(3))
                for _ in range(AGENTS)
            ]
            for each in started:
                each.result(DEADLINE)

    assert system.listeners.most == 1
    assert system.listeners.open == 0
    assert system.listeners.opened >= ROUNDS, "a round's last Agent closes the listener"


def test_however_many_start_at_once_there_is_one_listener(system: System) -> None:
    barrier = threading.Barrier(AGENTS)

    def start(number: int) -> str:
        barrier.wait(DEADLINE)
        minted = system.mint(f"agent-{number}")
        assert isinstance(minted, TokenMinted)
        return minted.url

    with ThreadPoolExecutor(AGENTS) as pool:
        urls = set(pool.map(start, range(AGENTS)))

    assert len(urls) == system.listeners.opened == 1
    for number in range(AGENTS):
        system.retire(f"agent-{number}")
    assert system.listeners.open == 0


def test_failed_binds_between_rounds_poison_nothing() -> None:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        port = taken.getsockname()[1]
        system = System(port)
        taken.listen()
        for number in range(10):
            with ThreadPoolExecutor(AGENTS) as pool:
                agents = [f"agent-{number}-{each}" for each in range(AGENTS)]
                answers = list(pool.map(system.mint, agents))
            assert all(isinstance(each, TokenRefused) for each in answers)
            refused = answers[0]
            assert isinstance(refused, TokenRefused)
            assert isinstance(refused.error, GatewayError)
    assert live(system, "agent", 1) == f"http://127.0.0.1:{port}/mcp"
    system.close()


def test_a_token_that_was_given_back_opens_neither_the_old_nor_the_next_listener() -> None:
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    system = System(port)
    first = system.mint("first")
    assert isinstance(first, TokenMinted)
    system.retire("first")
    with pytest.raises(ConnectionRefusedError):
        call(first.url, first.token.reveal(), "late")

    second = system.mint("second")

    assert isinstance(second, TokenMinted)
    assert second.url == first.url
    assert call(second.url, first.token.reveal(), "late") == 401
    assert call(second.url, second.token.reveal(), "mine") == 200
    system.retire("second")
    system.close()
