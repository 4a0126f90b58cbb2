"""The gateway actor alone, with real listeners."""

from __future__ import annotations

import contextvars
import http.client
import socket
from collections.abc import Callable, Mapping

import pytest

from toolcrib import GatewayError, Limits
from toolcrib.actors.base import Ref, Services
from toolcrib.actors.gateway import GatewayActor
from toolcrib.messages.gateway import (
    CloseListener,
    ListenerClosed,
    PublishTable,
    TablePublished,
    TableRefused,
)
from toolcrib.runtime.gateway.front import Listener
from toolcrib.runtime.gateway.registration import Registration
from toolcrib.runtime.gateway.tokens import digest
from toolcrib.runtime.tools.catalog import Catalog

from .conftest import Probe


def table(token: str) -> Mapping[bytes, Registration]:
    registration = Registration("agent-1", Catalog([]), contextvars.copy_context())
    return {digest(token): registration}


def status(url: str | None, token: str) -> int:
    assert url is not None
    host = url.removeprefix("http://").removesuffix("/mcp")
    connection = http.client.HTTPConnection(host, timeout=10)
    headers = {"Authorization": f"Bearer {token}", "Content-Type": "application/json"}
    connection.request("GET", "/mcp", headers=headers)
    answer = connection.getresponse().status
    connection.close()
    return answer


@pytest.fixture
def registry() -> Probe:
    return Probe("registry")


@pytest.fixture
def gateway(services: Services, launch: Callable[..., Ref]) -> Ref:
    return launch(GatewayActor, services, lambda: Listener(Limits()))


def test_the_first_entry_opens_the_listener_and_a_new_table_counts_at_once(
    gateway: Ref, registry: Probe
) -> None:
    gateway.deliver(PublishTable(1, {}, registry), "test")
    assert registry.expect(TablePublished).url is None
    gateway.deliver(PublishTable(2, table("good"), registry), "test")
    url = registry.expect(TablePublished).url
    assert (status(url, "good"), status(url, "bad")) == (405, 401)
    gateway.deliver(PublishTable(3, table("other"), registry), "test")
    assert registry.expect(TablePublished).url == url
    assert (status(url, "good"), status(url, "other")) == (401, 405)
    gateway.deliver(CloseListener(registry), "test")
    registry.expect(ListenerClosed)
    with pytest.raises(ConnectionRefusedError):
        status(url, "other")


def test_a_listener_that_closes_is_gone_before_the_next_opens(
    gateway: Ref, registry: Probe
) -> None:
    gateway.deliver(PublishTable(1, table("a"), registry), "test")
    first = registry.expect(TablePublished).url
    gateway.deliver(CloseListener(registry), "test")
    gateway.deliver(PublishTable(2, table("b"), registry), "test")
    registry.expect(ListenerClosed)
    second = registry.expect(TablePublished).url
    assert status(second, "b") == 405
    if first != second:
        with pytest.raises(ConnectionRefusedError):
            status(first, "a")
    gateway.deliver(CloseListener(registry), "test")
    registry.expect(ListenerClosed)


def test_closing_without_a_listener_is_answered_at_once(gateway: Ref, registry: Probe) -> None:
    gateway.deliver(CloseListener(registry), "test")
    registry.expect(ListenerClosed)


def test_a_port_that_is_taken_is_told_and_poisons_nothing(
    services: Services, launch: Callable[..., Ref], registry: Probe
) -> None:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        port = taken.getsockname()[1]
        gateway = launch(GatewayActor, services, lambda: Listener(Limits()), port)
        gateway.deliver(PublishTable(1, table("a"), registry), "test")
        error = registry.expect(TableRefused).error
        assert isinstance(error, GatewayError)
        assert str(port) in str(error)
    gateway.deliver(PublishTable(2, table("a"), registry), "test")
    assert status(registry.expect(TablePublished).url, "a") == 405
    gateway.deliver(CloseListener(registry), "test")
    registry.expect(ListenerClosed)
