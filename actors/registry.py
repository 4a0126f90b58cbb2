"""The tool registry: which token lends which catalog."""

from __future__ import annotations

from dataclasses import dataclass, field
from types import MappingProxyType

from ..errors import GatewayError
from ..messages.base import Address, Message, RequestFailed, Undelivered
from ..messages.gateway import (
    CloseListener,
    ListenerClosed,
    PublishTable,
    TablePublished,
    TableRefused,
)
from ..messages.registry import (
    HandlersDrained,
    MintToken,
    RetireToken,
    TokenMinted,
    TokenRefused,
    TokenRetired,
    TokenRetiring,
)
from ..messages.secret import Secret
from ..runtime.gateway.registration import Registration
from ..runtime.gateway.tokens import digest, new_token
from ..runtime.tools.catalog import Catalog
from .base import Actor, Services

__all__ = ["RegistryActor"]


@dataclass(slots=True)
class _Holder:
    """One Agent at the counter."""

    registration: Registration
    token: Secret
    minted_by: int
    minted_for: list[Address]
    published: bool = False
    retired_by: int | None = None
    retired_for: list[Address] = field(default_factory=list)


class RegistryActor(Actor):
    """Mints and retires tokens; tells the gateway which ones count.

    A token is refused from the moment that the gateway has published a table
    without it; only then are its handlers cancelled, and then drained.

    Args:
        services: What all actors share.
        gateway: The gateway actor.
    """

    def __init__(self, services: Services, gateway: Address) -> None:
        super().__init__("system-registry", services)
        self._gateway = gateway
        self._holders: dict[str, _Holder] = {}
        self._version = 0
        self._url = ""
        self._await_close: dict[str, list[Address]] = {}

    def receive(self, message: Message) -> None:
        match message:
            case MintToken():
                self._mint(message)
            case RetireToken(agent, asker):
                self._retire(agent, asker)
            case TablePublished(version, url):
                self._url = url or self._url
                self._published(version)
            case TableRefused(version, error):
                self._refused(version, error)
            case HandlersDrained(agent):
                self._drained(agent)
            case ListenerClosed():
                self._listener_closed()

    def bounced(self, message: Undelivered | RequestFailed) -> None:
        super().bounced(message)
        why = GatewayError("The gateway has failed; its log has the reason. Make a new Agent.")
        if message.request == PublishTable.__name__:
            self._refused(self._version, why)
        elif message.request == CloseListener.__name__:
            self._listener_closed()

    def _mint(self, request: MintToken) -> None:
        holder = self._holders.get(request.agent)
        if holder is None:
            self._mint_new(request)
        elif holder.retired_by is not None:
            why = GatewayError(f"The token of {request.agent} is being retired.")
            self.send(request.reply_to, TokenRefused(why))
        elif holder.published:
            self.send(request.reply_to, TokenMinted(self._url, holder.token))
        else:
            holder.minted_for.append(request.reply_to)

    def _mint_new(self, request: MintToken) -> None:
        catalog = request.catalog
        if not isinstance(catalog, Catalog):
            msg = f"{type(catalog).__name__} is not a Catalog of toolcrib."
            raise TypeError(msg)
        self._holders[request.agent] = _Holder(
            Registration(request.agent, catalog, request.context),
            Secret(new_token()),
            self._version + 1,
            [request.reply_to],
        )
        self._publish()

    def _retire(self, agent: str, asker: Address) -> None:
        holder = self._holders.get(agent)
        if holder is None:
            if agent in self._await_close:
                self._await_close[agent].append(asker)
            else:
                self.send(asker, TokenRetired(agent))
            return
        holder.retired_for.append(asker)
        if holder.retired_by is None:
            holder.retired_by = self._version + 1
            self._publish()

    def _publish(self) -> None:
        self._version += 1
        table = {
            digest(holder.token.reveal()): holder.registration
            for holder in self._holders.values()
            if holder.retired_by is None
        }
        self.send(
            self._gateway, PublishTable(self._version, MappingProxyType(table), self.address)
        )

    def _published(self, version: int) -> None:
        for agent, holder in list(self._holders.items()):
            if holder.minted_by == version:
                holder.published = True
                for asker in holder.minted_for:
                    self.send(asker, TokenMinted(self._url, holder.token))
            if holder.retired_by == version:
                self._drain(agent, holder)

    def _drain(self, agent: str, holder: _Holder) -> None:
        registration = holder.registration
        registration.cancel()
        if running := registration.running:
            for asker in holder.retired_for:
                self.send(asker, TokenRetiring(running))
        drained = HandlersDrained(agent)
        registration.when_idle(lambda: self.address.deliver(drained, "tool handlers"))

    def _drained(self, agent: str) -> None:
        holder = self._holders.pop(agent, None)
        if holder is None:
            return
        if self._holders:
            for asker in holder.retired_for:
                self.send(asker, TokenRetired(agent))
            return
        self._await_close[agent] = holder.retired_for
        self.send(self._gateway, CloseListener(self.address))

    def _listener_closed(self) -> None:
        waiting, self._await_close = self._await_close, {}
        for agent, askers in waiting.items():
            for asker in askers:
                self.send(asker, TokenRetired(agent))

    def _refused(self, version: int, error: Exception) -> None:
        for agent, holder in list(self._holders.items()):
            if holder.minted_by <= version and not holder.published:
                # Nothing was opened, so whoever waited holds no usable token.
                del self._holders[agent]
                for asker in holder.minted_for:
                    self.send(asker, TokenRefused(error))
                for asker in holder.retired_for:
                    self.send(asker, TokenRetired(agent))
            elif holder.retired_by is not None and holder.retired_by <= version:
                # A gateway that can't publish serves nobody either.
                self._drain(agent, holder)
