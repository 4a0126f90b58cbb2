"""The loopback listener, as the rest of toolcrib sees it."""

from __future__ import annotations

import socket
import threading
import time
from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import Final

from ...errors import GatewayError
from .checks import PATH, Table
from .limits import Limits
from .reactor import Reactor
from .registration import Registration
from .service import Service

__all__ = ["Endpoint", "Listener"]

_ADDRESS: Final = "127.0.0.1"
_BACKLOG: Final = 128
_LAST_WORDS_SECONDS: Final = 0.5


@dataclass(frozen=True, slots=True)
class Endpoint:
    """Where a listener listens."""

    url: str
    """The address of the tools, such as ``http://127.0.0.1:40123/mcp``."""
    port: int
    """The TCP port."""


class Listener:
    """Lends tools over HTTP on the loopback interface; opens once.

    Every method may be called from any thread. The threads are daemons whose
    names begin with ``toolcrib-gateway-``.

    Args:
        limits: What it accepts.
    """

    def __init__(self, limits: Limits | None = None) -> None:
        self._limits = limits or Limits()
        self._lock = threading.Lock()
        self._table: Table = MappingProxyType({})
        self._service: Service | None = None
        self._reactor: Reactor | None = None

    def open(self, port: int = 0) -> Endpoint:
        """Bind and serve; clients can connect when this returns.

        Args:
            port: The TCP port; 0 lets the system choose.

        Raises:
            GatewayError: The address can't be bound, or the listener was opened
                before. Nothing is left behind; a new listener may try again.
        """
        with self._lock:
            if self._reactor is not None:
                msg = "This listener was opened before; make a new Listener instead."
                raise GatewayError(msg)
            listening = _bind(port)
            try:
                self._serve(listening)
            except BaseException:
                listening.close()
                raise
            number = listening.getsockname()[1]
        return Endpoint(f"http://{_ADDRESS}:{number}{PATH}", number)

    def publish(self, table: Mapping[bytes, Registration]) -> None:
        """Let these tokens count, and no others, from this moment.

        Args:
            table: The registrations by the digests of their tokens.
        """
        frozen: Table = MappingProxyType(dict(table))
        self._table = frozen
        if self._service is not None:
            self._service.share(len(set(frozen.values())))

    def close(self, timeout: float) -> bool:
        """Stop accepting, cancel what runs, and end every thread of its own.

        Running calls may answer until shortly before the timeout; then they are
        answered with ``canceled`` and cut. Calling it again waits again for what
        was left.

        Args:
            timeout: The longest to wait, in seconds.

        Returns:
            Whether every thread has ended. ``False`` means that a handler has
            not returned; the port is free all the same.
        """
        deadline = time.monotonic() + timeout
        with self._lock:
            reactor, service = self._reactor, self._service
        if reactor is None or service is None:
            return True
        reactor.close(deadline - min(_LAST_WORDS_SECONDS, timeout / 4))
        reactor.join(deadline)
        ended = service.close(deadline)
        return reactor.join(deadline) and ended

    def _serve(self, listening: socket.socket) -> None:
        service = Service(self._limits)
        reactor = Reactor(listening, self._limits, lambda: self._table, service)
        try:
            reactor.start()
        except RuntimeError as error:
            msg = "The tools' listener can't start a thread; end some of the process's threads."
            raise GatewayError(msg) from error
        self._service, self._reactor = service, reactor
        service.warm_up()


def _bind(port: int) -> socket.socket:
    # asyncio and others ask a socket for its protocol before they set
    # TCP_NODELAY, and without that each answer may wait 40 ms.
    listening = socket.socket(socket.AF_INET, socket.SOCK_STREAM, socket.IPPROTO_TCP)
    try:
        listening.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        listening.bind((_ADDRESS, port))
        listening.listen(_BACKLOG)
    except (OSError, OverflowError) as error:
        listening.close()
        msg = (
            f"The tools' listener can't bind {_ADDRESS}:{port} ({error}). "
            "Free the port, or let the system choose one with port 0."
        )
        raise GatewayError(msg) from error
    return listening
