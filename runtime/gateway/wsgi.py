"""The tools behind a WSGI server of the host's own, with the same checks and answers."""

from __future__ import annotations

import threading
import time
from collections.abc import Iterable
from wsgiref.types import StartResponse, WSGIEnvironment

from ..signals import bounded
from . import http
from .checks import Admitted, Table, check
from .exchange import Exchange
from .limits import Limits
from .service import Service

__all__ = ["WsgiApp"]

_UNREAD_SECONDS = 0.2


class WsgiApp:
    """A WSGI application that lends tools, at ``/mcp`` under where it is mounted.

    A request has one of the server's threads until it is answered, and always in
    JSON; `Limits.silence` bounds its call. Connections, and the time that a client
    takes for its request, are the server's to bound. A client that leaves is noticed
    by no WSGI application, so that only its deadline cancels its call.

    Args:
        table: The registrations by the digests of their tokens.
        authority: The one Host that is right, such as ``tools.example:8080``.
        limits: What it accepts.
    """

    def __init__(self, table: Table, authority: str, limits: Limits | None = None) -> None:
        self._table = table
        self._authority = authority
        self._limits = limits or Limits()
        self._service = Service(self._limits)
        self._service.share(len(set(table.values())))
        self._open: set[Exchange] = set()
        self._closed = False

    def __call__(self, environ: WSGIEnvironment, start_response: StartResponse) -> Iterable[bytes]:
        """Answer a request; blocks until then."""
        return http.respond(self._answer(environ), environ, start_response)

    def close(self, timeout: float) -> bool:
        """Cancel what runs, and end every thread of its own.

        Args:
            timeout: The longest to wait, in seconds.

        Returns:
            Whether every thread has ended; ``False`` when a handler has not returned.

        Raises:
            TypeError: The timeout is no number.
            ValueError: It is negative, or not a number (NaN).
        """
        deadline = time.monotonic() + bounded(timeout)
        self._closed = True
        for registration in self._table.values():
            registration.cancel()
        ended = self._service.close(deadline)
        # Those that still wait, for a worker that will not come.
        for exchange in list(self._open):
            self._service.cut(exchange)
        return ended

    def _answer(self, environ: WSGIEnvironment) -> http.Answer:
        limits = self._limits
        try:
            head = http.from_environ(environ, limits.header_bytes, limits.header_fields)
        except http.BadRequest as error:
            return http.refusal(error.status)
        verdict = check(head, self._authority, self._table, limits)
        if isinstance(verdict, http.Answer):
            return verdict
        if not self._service.admit(verdict.registration):
            return http.busy()
        return self._exchange(verdict, environ)

    def _exchange(self, admitted: Admitted, environ: WSGIEnvironment) -> http.Answer:
        try:
            body = _body(environ, admitted.length)
        except BaseException:
            self._service.release(admitted.registration)
            raise
        if body is None:
            self._service.release(admitted.registration)
            return http.refusal(400)
        waiter = _Waiter()
        exchange = Exchange(admitted, body, waiter, self._limits, streams=False)
        self._open.add(exchange)
        try:
            if self._closed:
                self._service.cut(exchange)
            else:
                self._service.submit(exchange)
            self._wait(exchange, waiter)
        finally:
            self._open.discard(exchange)
        return waiter.answer

    def _wait(self, exchange: Exchange, waiter: _Waiter) -> None:
        # Its tool may have a shorter deadline, which is known once it is read.
        while not waiter.wait(
            exchange.deadline if exchange.call else time.monotonic() + _UNREAD_SECONDS
        ):
            if time.monotonic() >= exchange.deadline:
                self._service.expire(exchange)


class _Waiter:
    """Where an exchange's answer goes, and a thread of the server waits for it."""

    def __init__(self) -> None:
        self.answer = http.refusal(500)
        self._done = threading.Event()

    def wait(self, until: float) -> bool:
        return self._done.wait(max(0.0, until - time.monotonic()))

    def reply(self, answer: http.Answer, *, close: bool = False) -> None:
        self.answer = answer
        self._done.set()

    def push(self, exchange: Exchange, data: bytes) -> None:
        """Drop it: there is no stream."""


def _body(environ: WSGIEnvironment, length: int) -> bytes | None:
    """Return a request's body; ``None`` when it broke off."""
    try:
        body: bytes = environ["wsgi.input"].read(length)
    except OSError:
        return None
    return body if len(body) == length else None
