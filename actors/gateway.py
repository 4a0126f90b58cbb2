"""The gateway actor: the listener's life, and the table that it reads."""

from __future__ import annotations

import logging
from collections import deque
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import cast

from ..messages.base import Message
from ..messages.gateway import (
    CloseListener,
    Counter,
    ListenerClosed,
    PublishTable,
    TablePublished,
    TableRefused,
)
from ..runtime.gateway.front import Listener
from ..runtime.gateway.registration import Registration
from .base import Actor, Services

__all__ = ["GatewayActor"]

_log = logging.getLogger("toolcrib.actors")


@dataclass(frozen=True, slots=True)
class _Opened(Message):
    """A worker has bound a listener."""

    url: str
    """Where it listens."""
    listener: Listener = field(repr=False)
    """The listener."""


@dataclass(frozen=True, slots=True)
class _OpenFailed(Message):
    """A worker could not bind a listener."""

    error: Exception
    """Why."""


@dataclass(frozen=True, slots=True)
class _Closed(Message):
    """A worker has closed the listener."""


class GatewayActor(Actor):
    """Opens the listener with the first token and closes it when asked.

    One request is handled after the other, so a listener that is closing is
    gone before the next one opens. Binding and closing run on a worker.

    Args:
        services: What all actors share.
        listener: Makes a listener that is not open yet.
        port: The port to bind; 0 lets the system choose.
        shutdown: How long a listener may take to close, in seconds.
    """

    def __init__(
        self,
        services: Services,
        listener: Callable[[], Listener],
        port: int = 0,
        shutdown: float = 10.0,
    ) -> None:
        super().__init__("system-gateway", services)
        self._make_listener = listener
        self._port = port
        self._shutdown = shutdown
        self._listener: Listener | None = None
        self._url: str | None = None
        self._waiting: deque[PublishTable | CloseListener] = deque()
        self._busy: PublishTable | CloseListener | None = None

    def receive(self, message: Message) -> None:
        match message:
            case PublishTable() | CloseListener():
                self._waiting.append(message)
            case _Opened(url, listener):
                self._listener, self._url = listener, url
                self._opened()
            case _OpenFailed(error):
                self._open_failed(error)
            case _Closed():
                self._closed()
        while self._waiting and self._busy is None:
            self._try(self._waiting.popleft())

    def _try(self, request: PublishTable | CloseListener) -> None:
        # The request may have waited, so what it raises is not the fault of the
        # message that is being handled.
        try:
            self._handle(request)
        except Exception as error:
            _log.exception("%s failed on %s", self.name, type(request).__name__)
            self.crashed(request, error)

    def _handle(self, request: PublishTable | CloseListener) -> None:
        match request:
            case PublishTable(version, table, asker):
                if self._listener is None and table:
                    self._busy = request
                    self.work(self._bind, lambda opened: opened, _OpenFailed)
                    return
                if self._listener is not None:
                    self._listener.publish(_registrations(table))
                self.send(asker, TablePublished(version, self._url))
            case CloseListener(asker):
                if self._listener is None:
                    self.send(asker, ListenerClosed())
                    return
                self._busy = request
                listener, seconds = self._listener, self._shutdown
                self._listener = self._url = None
                self.work(
                    lambda: listener.close(seconds), lambda _: _Closed(), lambda _: _Closed()
                )

    def _bind(self) -> _Opened:
        listener = self._make_listener()
        return _Opened(listener.open(self._port).url, listener)

    def _opened(self) -> None:
        request, self._busy = self._busy, None
        if isinstance(request, PublishTable):
            self._try(request)

    def _open_failed(self, error: Exception) -> None:
        request, self._busy = self._busy, None
        if isinstance(request, PublishTable):
            self.send(request.reply_to, TableRefused(request.version, error))

    def _closed(self) -> None:
        request, self._busy = self._busy, None
        if request is not None:
            self.send(request.reply_to, ListenerClosed())


def _registrations(table: Mapping[bytes, Counter]) -> Mapping[bytes, Registration]:
    # Messages can't name runtime's types; the registry puts nothing else in.
    return cast("Mapping[bytes, Registration]", table)
