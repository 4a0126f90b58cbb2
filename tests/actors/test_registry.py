"""The tool registry alone: gateway and Agents are probes."""

from __future__ import annotations

import contextvars
from collections.abc import Callable

import pytest

from toolcrib import GatewayError, tool
from toolcrib.actors.base import Ref, Services
from toolcrib.actors.registry import RegistryActor
from toolcrib.messages.base import Message, RequestFailed
from toolcrib.messages.gateway import (
    CloseListener,
    ListenerClosed,
    PublishTable,
    TablePublished,
    TableRefused,
)
from toolcrib.messages.registry import (
    MintToken,
    RetireToken,
    TokenMinted,
    TokenRefused,
    TokenRetired,
    TokenRetiring,
)
from toolcrib.runtime.gateway.registration import Registration
from toolcrib.runtime.gateway.tokens import digest
from toolcrib.runtime.tools.catalog import Catalog
from toolcrib.runtime.tools.context import Context

from .conftest import Probe

URL = "http://127.0.0.1:1/mcp"


def echo(text: str) -> str:
    return text


class Counter:
    """A registry actor between probes."""

    def __init__(self, services: Services, launch: Callable[..., Ref]) -> None:
        self.gateway = Probe("gateway")
        self.actor = launch(RegistryActor, services, self.gateway)

    def tell(self, message: Message) -> None:
        self.actor.deliver(message, "test")

    def mint(self, agent: str) -> tuple[Probe, PublishTable]:
        asker = Probe(agent)
        catalog = Catalog([tool.define("echo", "Say it again.", echo)])
        context = contextvars.copy_context()
        self.tell(MintToken(agent=agent, catalog=catalog, context=context, reply_to=asker))
        return asker, self.gateway.expect(PublishTable)

    def minted(self, agent: str) -> tuple[TokenMinted, Registration]:
        asker, published = self.mint(agent)
        self.tell(TablePublished(published.version, URL))
        answer = asker.expect(TokenMinted)
        registration = published.table[digest(answer.token.reveal())]
        assert isinstance(registration, Registration)
        return answer, registration


@pytest.fixture
def counter(services: Services, launch: Callable[..., Ref]) -> Counter:
    return Counter(services, launch)


def test_a_token_is_told_only_after_the_gateway_honours_it(counter: Counter) -> None:
    asker, published = counter.mint("agent-1")
    asker.assert_silent()
    counter.tell(TablePublished(published.version, URL))
    minted = asker.expect(TokenMinted)
    assert minted.url == URL
    assert digest(minted.token.reveal()) in published.table


def test_every_agent_gets_a_token_of_its_own(counter: Counter) -> None:
    first, _ = counter.minted("agent-1")
    second, _ = counter.minted("agent-2")
    assert first.token != second.token


def test_a_token_is_refused_before_its_handlers_are_cancelled(counter: Counter) -> None:
    _, registration = counter.minted("agent-1")
    asker = Probe("agent-1")
    counter.tell(RetireToken("agent-1", asker))
    published = counter.gateway.expect(PublishTable)
    assert published.table == {}
    assert not registration.cancelled
    counter.tell(TablePublished(published.version, URL))
    counter.gateway.expect(CloseListener)
    assert registration.cancelled


def test_a_handler_that_still_runs_holds_the_retirement_and_is_named(counter: Counter) -> None:
    _, registration = counter.minted("agent-1")
    call = Context("echo")
    assert registration.enter(call)
    asker = Probe("agent-1")
    counter.tell(RetireToken("agent-1", asker))
    counter.tell(TablePublished(counter.gateway.expect(PublishTable).version, URL))
    assert asker.expect(TokenRetiring).running == ("echo",)
    assert call.cancelled
    counter.gateway.assert_silent()
    registration.exit(call)
    counter.gateway.expect(CloseListener)
    asker.assert_silent()
    counter.tell(ListenerClosed())
    asker.expect(TokenRetired)


def test_the_listener_closes_with_the_last_token_only(counter: Counter) -> None:
    counter.minted("agent-1")
    counter.minted("agent-2")
    asker = Probe("agent-1")
    counter.tell(RetireToken("agent-1", asker))
    counter.tell(TablePublished(counter.gateway.expect(PublishTable).version, URL))
    asker.expect(TokenRetired)
    counter.gateway.assert_silent()


def test_a_refused_table_is_told_and_asking_again_is_allowed(counter: Counter) -> None:
    asker, published = counter.mint("agent-1")
    error = GatewayError("no port")
    counter.tell(TableRefused(published.version, error))
    assert asker.expect(TokenRefused).error is error
    counter.minted("agent-1")


def test_an_agent_without_a_token_is_retired_at_once(counter: Counter) -> None:
    asker = Probe("agent-1")
    counter.tell(RetireToken("agent-1", asker))
    asker.expect(TokenRetired)
    counter.gateway.assert_silent()


def test_a_second_mint_gives_the_same_token(counter: Counter) -> None:
    minted, _ = counter.minted("agent-1")
    asker = Probe("agent-1")
    catalog = Catalog([tool.define("echo", "Say it again.", echo)])
    context = contextvars.copy_context()
    counter.tell(MintToken(agent="agent-1", catalog=catalog, context=context, reply_to=asker))
    assert asker.expect(TokenMinted).token == minted.token


def test_something_that_is_no_catalog_is_refused(counter: Counter) -> None:
    class Pretender:
        names = ("x",)
        fingerprint = "y"

    asker = Probe("agent-1")
    context = contextvars.copy_context()
    counter.tell(MintToken(agent="a", catalog=Pretender(), context=context, reply_to=asker))
    assert isinstance(asker.expect(RequestFailed).error, TypeError)
    counter.gateway.assert_silent()
