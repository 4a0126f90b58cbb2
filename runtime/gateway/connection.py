"""One client's connection: its socket, its buffers and its clock."""

from __future__ import annotations

import socket
import threading
import time
from collections.abc import Callable
from enum import Enum, auto

from . import events, http
from .checks import Admitted
from .exchange import FAILURES, Exchange
from .heads import Heads
from .limits import Limits

__all__ = ["Connection", "Phase"]

_CHUNK = 64 * 1024
_NOTHING = memoryview(b"")


class Phase(Enum):
    """What the front waits for on a connection."""

    HEAD = auto()
    """The rest of a head; a new connection begins here."""
    BODY = auto()
    """The rest of a body."""
    BUSY = auto()
    """An exchange's answer."""
    IDLE = auto()
    """Another request."""
    ENDING = auto()
    """The client's end: all is said, and what it still sends is thrown away."""


class Connection:
    """A client's connection.

    The front thread owns it: it alone reads and closes. Whoever has claimed the
    exchange replies, from any thread.

    Args:
        sock: The accepted socket, non-blocking.
        limits: The clock is set by these.
        wake: Tells the front that this connection needs it.
    """

    def __init__(
        self, sock: socket.socket, limits: Limits, wake: Callable[[Connection], None]
    ) -> None:
        self.sock = sock
        self.phase = Phase.HEAD
        self.due = time.monotonic() + limits.head_timeout
        self.inbound = bytearray()
        self.searched = 0
        self.heads = Heads()
        # A view, since each cut of what is left would copy megabytes.
        self.outbound = _NOTHING
        self.admitted: Admitted | None = None
        self.exchange: Exchange | None = None
        self.streaming = False
        self.authenticated = False
        self.ending = False
        # The rest of the request may still be on its way.
        self.refused = False
        # Its answer is sent by the front, with others: the first wakes the clients'
        # process, and the rest find it awake, which saves most of what sending costs.
        self.held = False
        self.closed = False
        self._limits = limits
        self._wake = wake
        # Held around every send and close: a descriptor that is closed while a
        # worker sends may be another client's by the time the bytes leave.
        self._lock = threading.Lock()

    @property
    def waits(self) -> bool:
        """Whether it neither runs an exchange nor has an answer to send."""
        return self.exchange is None and not self.outbound

    def receive(self) -> bool:
        """Read what is there; ``False`` when the client is gone."""
        try:
            data = self.sock.recv(_CHUNK)
        except BlockingIOError:
            return True
        except OSError:
            return False
        if not data:
            return False
        with self._lock:
            if self.phase is not Phase.ENDING:
                self.inbound += data
        return True

    def take(self, size: int) -> bytes:
        """Take so many bytes from what has come."""
        if size == len(self.inbound):
            data = bytes(self.inbound)
            self.inbound.clear()
            return data
        with memoryview(self.inbound) as whole, whole[:size] as view:
            data = bytes(view)
        del self.inbound[:size]
        return data

    def reply(self, answer: http.Answer, *, close: bool = False) -> None:
        """Send an answer without blocking; the front sends what is left, or held."""
        with self._lock:
            if self.closed:
                return
            self.ending = self.ending or close
            if self.streaming:
                self._write(self._last_event(answer) + events.END)
            else:
                self._write(http.encode(answer, close=self.ending))
            self.exchange = None
            self.streaming = False
            self.phase = Phase.IDLE
            seconds = self._limits.write_timeout if self.outbound else self._limits.idle_timeout
            self.due = time.monotonic() + seconds
            attention = bool(self.outbound or self.ending or self.inbound)
        if attention:
            self._wake(self)

    def push(self, exchange: Exchange, data: bytes) -> None:
        """Send a piece of an event stream, which begins with the first one.

        It is dropped when its exchange is over, and when the client has not yet
        read what came before: nobody waits here, and nothing piles up.
        """
        with self._lock:
            if self.closed or self.exchange is not exchange or self.outbound:
                return
            # What listens to a call's progress should hear of it while it goes on.
            self.held = False
            if not self.streaming:
                self.streaming = True
                data = http.stream_head(close=self.ending) + data
            self._write(data)
            self.due = time.monotonic() + self._limits.write_timeout
            attention = bool(self.outbound)
        if attention:
            self._wake(self)

    def flush(self) -> None:
        """Send an answer that was held, or more of one that did not fit."""
        with self._lock:
            self.held = False
            if not self.outbound:
                return
            self._send()
            if not self.outbound:
                self.due = time.monotonic() + self._limits.idle_timeout

    def proceed(self) -> None:
        """Tell a client that asked first to send its body."""
        with self._lock:
            self._write(http.CONTINUE)

    def hurry(self) -> None:
        """Have the answer that is due be the last one here."""
        with self._lock:
            self.ending = True

    def end(self, seconds: float) -> None:
        """Send nothing more, and give the client a moment to read it all.

        Closing with unread data would reset the connection, and the client
        could lose the answer that is on its way.
        """
        with self._lock:
            self.phase = Phase.ENDING
            self.inbound.clear()
            self.due = time.monotonic() + seconds
            try:
                self.sock.shutdown(socket.SHUT_WR)
            except OSError:
                self.due = 0.0

    def close(self) -> None:
        """Close the socket."""
        with self._lock:
            self.closed = True
            self.sock.close()

    def _last_event(self, answer: http.Answer) -> bytes:
        if answer.status == 200 or self.exchange is None or self.exchange.call is None:
            return events.event(answer.body)
        # The stream's own status has been sent, and a refusal names no request.
        code = "canceled" if answer.status == 401 else "internal_error"
        return events.event(self.exchange.call.failed(code, FAILURES[code]).body)

    def _write(self, data: bytes) -> None:
        self.outbound = memoryview(bytes(self.outbound) + data if self.outbound else data)
        if not self.held:
            self._send()

    def _send(self) -> None:
        try:
            sent = self.sock.send(self.outbound)
        except BlockingIOError:
            return
        except OSError:
            self.outbound, self.ending = _NOTHING, True
            return
        # An empty view of megabytes would keep them.
        self.outbound = self.outbound[sent:] if sent < len(self.outbound) else _NOTHING
