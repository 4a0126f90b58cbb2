"""An actor alone: probes stand in for its peers."""

from __future__ import annotations

import queue
from collections.abc import Callable, Iterator
from typing import TypeVar

import pytest

from toolcrib.actors.base import Actor, Ref, Services
from toolcrib.messages.base import Message
from toolcrib.runtime.timers import Timers
from toolcrib.runtime.tracing import Tracer
from toolcrib.runtime.workers import Workers

M = TypeVar("M", bound=Message)
WAIT = 10.0


class Probe:
    """An address that keeps what it gets."""

    def __init__(self, name: str) -> None:
        self.name = name
        self._got: queue.Queue[Message] = queue.Queue()

    def deliver(self, message: Message, sender: str) -> None:
        self._got.put(message)

    def expect(self, kind: type[M]) -> M:
        """Return the next message, which must be of this kind."""
        message = self._got.get(timeout=WAIT)
        assert isinstance(message, kind), f"{self.name} got {message!r}"
        return message

    def skip_to(self, kind: type[M]) -> M:
        """Return the next message of this kind."""
        while True:
            message = self._got.get(timeout=WAIT)
            if isinstance(message, kind):
                return message

    def drain(self) -> None:
        """Forget what has come so far."""
        while not self._got.empty():
            self._got.get_nowait()

    def assert_silent(self) -> None:
        """Fail if something came; the sender must have been waited for before."""
        assert self._got.empty(), f"{self.name} got {self._got.get_nowait()!r}"


Launch = Callable[..., Ref]


@pytest.fixture
def tracer() -> Tracer:
    return Tracer()


@pytest.fixture
def services(tracer: Tracer) -> Iterator[Services]:
    services = Services(Workers("toolcrib-test-worker", idle=0.1), Timers(), tracer)
    yield services
    services.workers.close()
    services.timers.close()


@pytest.fixture
def launch() -> Iterator[Launch]:
    """Start actors of which none outlives the test."""
    started: list[Ref] = []

    def start(kind: type[Actor], *args: object, **kwargs: object) -> Ref:
        ref = kind.launch(*args, **kwargs)
        started.append(ref)
        return ref

    yield start
    for ref in started:
        ref.close()
    for ref in started:
        assert ref.join(WAIT), f"{ref.name} did not stop"


@pytest.fixture
def probe() -> Callable[[str], Probe]:
    return Probe
