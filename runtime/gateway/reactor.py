"""The front: every socket, every clock."""

from __future__ import annotations

import contextlib
import logging
import selectors
import socket
import time
from collections import deque
from collections.abc import Callable
from functools import partial

from . import http
from .checks import Admitted, Table
from .connection import Connection, Phase
from .events import KEEP_ALIVE
from .exchange import Exchange
from .limits import Limits
from .relay import Relay
from .service import Service
from .workers import Job

__all__ = ["Reactor"]

_log = logging.getLogger("toolcrib.gateway")

_HEAD_END = b"\r\n\r\n"
_LINGER_SECONDS = 1.0
_ACCEPT_PAUSE_SECONDS = 0.1
_PIPELINED_BYTES = 64 * 1024
_UNREAD_SECONDS = 0.2
_HELD_ANSWERS = 8


class Reactor:
    """Accepts, reads, checks, times and closes.

    It calls only tools that answer at once, as a rule; another thread becomes the
    front when one does not. All but `start`, `wake`, `close` and `join` runs on the
    front thread.

    Args:
        listening: The bound and listening socket; the reactor closes it.
        limits: What to accept.
        table: Returns the registrations of this moment, by token digest.
        service: Who answers the requests that passed.
    """

    def __init__(
        self,
        listening: socket.socket,
        limits: Limits,
        table: Callable[[], Table],
        service: Service,
    ) -> None:
        self._listening = listening
        self._limits = limits
        self._table = table
        self._service = service
        self._authority = f"127.0.0.1:{listening.getsockname()[1]}"
        self._connections: set[Connection] = set()
        self._slow: set[Connection] = set()
        self._relay = Relay(self._serve)
        self._jobs: deque[tuple[Connection, Job]] = deque()
        # Whose call the front runs itself; left behind by one that was held up by it.
        self._here: Connection | None = None
        self._selector = selectors.DefaultSelector()
        self._awake, self._alarm = socket.socketpair()
        self._attention: deque[Connection] = deque()
        self._cutoff: float | None = None
        self._accepting = True
        self._closing = False
        self._next = float("inf")
        for sock in (listening, self._awake, self._alarm):
            sock.setblocking(False)
        self._selector.register(listening, selectors.EVENT_READ, self._accept)
        self._selector.register(self._awake, selectors.EVENT_READ, self._awake_again)

    def start(self) -> None:
        """Serve, on a thread of its own, until `close`.

        Raises:
            RuntimeError: The system has no more threads; all is released.
        """
        try:
            self._relay.start()
        except RuntimeError:
            self._discard()
            raise

    def wake(self, connection: Connection | None = None) -> None:
        """Have the front look at a connection, or at its own state."""
        if connection is not None:
            self._attention.append(connection)
            if self._relay.leads():
                return  # it looks by itself, before it waits again
        # Full means that it will wake anyway, closed that it is gone.
        with contextlib.suppress(OSError):
            self._alarm.send(b"!")

    def close(self, cutoff: float) -> None:
        """Stop accepting, and end when all is answered or the cutoff has come.

        Args:
            cutoff: When to cut what still runs, as `time.monotonic` counts.
        """
        self._cutoff = cutoff
        self.wake()

    def join(self, deadline: float) -> bool:
        """Wait for its threads, until a moment as `time.monotonic` counts.

        Returns:
            Whether all of them have ended.
        """
        return self._relay.join(deadline)

    def _serve(self) -> bool:
        """Serve until `close`; ``False`` when another thread has become the front."""
        leads = True
        try:
            self._take_over()
            while leads and not self._done():
                leads = self._look()
        finally:
            if leads:
                for connection in list(self._connections):
                    self._drop(connection)
                self._discard()
        return leads

    def _take_over(self) -> None:
        """Go on where another thread is held up, if there is one."""
        connection, self._here = self._here, None
        if connection is not None:
            # Its answer comes late enough.
            connection.held = False
            if connection.exchange is not None:
                self._service.slow(connection.exchange)

    def _look(self) -> bool:
        """Do what there is to do; ``False`` when another thread has become the front."""
        # What a front left that was held up in the middle of them.
        if not self._run_jobs():
            return False
        # Before the look, since what had come by then is not late.
        now = time.monotonic()
        for key, events in self._selector.select(self._pause()):
            self._dispatch(key.data, events)
            if not self._run_jobs():
                return False
            if len(self._attention) >= _HELD_ANSWERS:
                self._attend()
        self._attend()
        if now >= self._next:
            self._dispatch(partial(self._sweep, now), 0)
        return True

    def _run_jobs(self) -> bool:
        while self._jobs:
            connection, job = self._jobs.popleft()
            exchange = connection.exchange
            # Asked anew, since those before it may have been slow.
            if exchange is None or not (self._relay.ready() and self._service.quick(exchange)):
                self._service.hand_over(job)
                continue
            connection.held = True
            self._here = connection
            if not self._relay.run(job):
                return False
            self._here = None
        return True

    def _discard(self) -> None:
        for sock in (self._listening, self._awake, self._alarm):
            sock.close()
        self._selector.close()

    def _pause(self) -> float | None:
        if self._attention:
            return 0.0
        due = min(self._next, self._cutoff or self._next)
        return None if due == float("inf") else max(0.0, due - time.monotonic())

    def _dispatch(
        self,
        target: Callable[[], None] | Connection,
        events: int,
        about: Connection | None = None,
    ) -> None:
        try:
            if not isinstance(target, Connection):
                target()
                return
            # Closed by an earlier event of the same moment, perhaps.
            if events & selectors.EVENT_WRITE and not target.closed:
                self._flush(target)
            if events & selectors.EVENT_READ and not target.closed:
                self._read(target)
        except Exception:
            # One connection may fail; the front and the others may not.
            _log.exception("The gateway's front met an unexpected error.")
            culprit = target if isinstance(target, Connection) else about
            if culprit is not None:
                self._drop(culprit)

    # Connections come and go.

    def _accept(self) -> None:
        try:
            sock, _ = self._listening.accept()
        except (BlockingIOError, ConnectionAbortedError):
            return
        except OSError:
            # Out of descriptors. The backlog stays readable, so asking again at
            # once would only spin.
            _log.warning("The gateway can't accept connections for the moment.")
            self._selector.unregister(self._listening)
            self._accepting = False
            self._schedule(time.monotonic() + _ACCEPT_PAUSE_SECONDS)
            return
        if len(self._connections) >= self._limits.connections and not self._evict():
            sock.setblocking(False)
            with contextlib.suppress(OSError):
                sock.send(http.encode(http.busy(), close=True))
            sock.close()
            return
        sock.setblocking(False)
        sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        connection = Connection(sock, self._limits, self.wake)
        self._connections.add(connection)
        self._selector.register(sock, selectors.EVENT_READ, connection)
        self._schedule(connection.due)

    def _evict(self) -> bool:
        """Close the connection that is missed least; ``False`` if none is."""
        idle = [each for each in self._connections if each.waits]
        strangers = [each for each in idle if not each.authenticated]
        candidates = strangers or [each for each in idle if each.admitted is None]
        if not candidates:
            return False
        self._drop(min(candidates, key=lambda each: each.due))
        return True

    def _drop(self, connection: Connection) -> None:
        if connection.closed:
            return
        self._connections.discard(connection)
        self._slow.discard(connection)
        self._selector.unregister(connection.sock)
        if connection.exchange is not None:
            self._service.abandon(connection.exchange)
        self._forget_body(connection)
        connection.close()

    def _forget_body(self, connection: Connection) -> None:
        if connection.admitted is not None:
            self._service.release(connection.admitted.registration)
            connection.admitted = None

    # Reading.

    def _read(self, connection: Connection) -> None:
        if not connection.receive():
            self._drop(connection)
        elif connection.waits:
            self._advance(connection)
        elif len(connection.inbound) > _PIPELINED_BYTES:
            self._drop(connection)

    def _advance(self, connection: Connection) -> None:
        if connection.ending and connection.phase is Phase.IDLE:
            return
        if connection.phase is Phase.IDLE and connection.inbound:
            connection.phase = Phase.HEAD
            connection.due = time.monotonic() + self._limits.head_timeout
            self._schedule(connection.due)
        if connection.phase is Phase.HEAD:
            self._advance_head(connection)
        if connection.phase is Phase.BODY:
            self._advance_body(connection)

    def _advance_head(self, connection: Connection) -> None:
        data = connection.inbound
        # A client that sends byte by byte must not have all of it read again each time.
        seen, connection.searched = connection.searched, len(data)
        end = data.find(_HEAD_END, max(0, seen - 3), self._limits.header_bytes)
        if end < 0:
            if len(data) >= self._limits.header_bytes:
                self._refuse(connection, http.refusal(431))
            elif data.count(b"\n", seen) != data.count(b"\r\n", max(0, seen - 1)):
                # llhttp would say the same, but only once the head is complete,
                # which with bare line feeds it never is.
                self._refuse(connection, http.refusal(400))
            return
        size = end + len(_HEAD_END)
        head = bytes(data[:size])
        verdict = connection.heads.judge(head, self._authority, self._table(), self._limits)
        if isinstance(verdict, http.Answer):
            self._refuse(connection, verdict)
            return
        connection.authenticated = True
        if (
            self._closing
            or (self._slow and self._unread() > self._limits.unread_bytes)
            or not self._service.admit(verdict.registration)
        ):
            self._refuse(connection, http.busy())
            return
        del data[:size]
        connection.searched = 0
        self._expect_body(connection, verdict)

    def _unread(self) -> int:
        return sum(len(each.outbound) for each in self._slow)

    def _expect_body(self, connection: Connection, admitted: Admitted) -> None:
        connection.admitted = admitted
        connection.phase = Phase.BODY
        connection.ending = not admitted.head.keep_alive
        connection.due = time.monotonic() + self._limits.body_timeout
        self._schedule(connection.due)
        expectation = admitted.head.get("expect") or ""
        if expectation.lower() == "100-continue" and len(connection.inbound) < admitted.length:
            connection.proceed()

    def _advance_body(self, connection: Connection) -> None:
        admitted = connection.admitted
        if admitted is None or len(connection.inbound) < admitted.length:
            return
        if self._table().get(admitted.token) is not admitted.registration:
            # Retired while the body was on its way.
            self._refuse(connection, http.unauthorized())
            return
        body = connection.take(admitted.length)
        exchange = Exchange(admitted, body, connection, self._limits, streams=admitted.streams)
        connection.admitted = None
        connection.phase = Phase.BUSY
        connection.exchange = exchange
        # Which tool it calls, and so its own deadline, is known only later.
        shortest = exchange.arrived + admitted.registration.shortest_deadline
        self._schedule(min(exchange.deadline, exchange.beat, shortest))
        quick = partial(self._keep, connection) if self._relay.ready() else None
        self._service.submit(exchange, quick)

    def _keep(self, connection: Connection, job: Job) -> None:
        self._jobs.append((connection, job))

    # Answering.

    def _refuse(self, connection: Connection, answer: http.Answer) -> None:
        connection.inbound.clear()
        connection.refused = True
        self._forget_body(connection)
        connection.reply(answer, close=True)

    def _awake_again(self) -> None:
        with contextlib.suppress(BlockingIOError):
            self._awake.recv(4096)

    def _attend(self) -> None:
        # Not those that come up meanwhile: a client with many small requests in one
        # packet would keep the others waiting.
        for _ in range(len(self._attention)):
            connection = self._attention.popleft()
            if not connection.closed:
                # On its own, since a fault would leave those behind it unseen.
                self._dispatch(partial(self._flush, connection), 0, connection)

    def _flush(self, connection: Connection) -> None:
        connection.flush()
        self._settle(connection)

    def _settle(self, connection: Connection) -> None:
        """Do what a reply has left to do."""
        self._schedule(connection.due)
        if connection.outbound:
            if connection not in self._slow:
                self._slow.add(connection)
                both = selectors.EVENT_READ | selectors.EVENT_WRITE
                self._selector.modify(connection.sock, both, connection)
        elif connection in self._slow:
            self._slow.discard(connection)
            self._selector.modify(connection.sock, selectors.EVENT_READ, connection)
        if connection.outbound or connection.phase is Phase.ENDING:
            return
        if connection.exchange is not None or connection.phase is Phase.BODY:
            return
        if connection.refused:
            connection.end(_LINGER_SECONDS)
            self._schedule(connection.due)
        elif connection.ending or self._closing:
            self._drop(connection)
        elif connection.inbound:
            self._advance(connection)

    # Clocks.

    def _schedule(self, due: float) -> None:
        self._next = min(self._next, due)

    def _sweep(self, now: float) -> None:
        self._next = float("inf")
        if not self._accepting and not self._closing:
            self._accepting = True
            self._selector.register(self._listening, selectors.EVENT_READ, self._accept)
        for connection in list(self._connections):
            self._dispatch(partial(self._look_after, connection, now), 0, connection)

    def _look_after(self, connection: Connection, now: float) -> None:
        exchange = connection.exchange
        if exchange is None:
            if now >= connection.due:
                self._time_out(connection)
            due = connection.due
        else:
            due = self._watch(connection, exchange, now)
        if not connection.closed:
            self._schedule(due)

    def _watch(self, connection: Connection, exchange: Exchange, now: float) -> float:
        """Do what is due for a request under way; return when to look again."""
        if connection.outbound and now >= connection.due:
            self._drop(connection)
        elif now >= exchange.deadline:
            self._service.expire(exchange)
        elif now >= exchange.beat:
            # Until its message is read, nobody knows whether it is a call.
            pause = self._limits.stream_pause if exchange.call else self._limits.stream_after
            exchange.beat = now + pause
            if exchange.call is not None:
                connection.push(exchange, KEEP_ALIVE)
        if connection.exchange is not exchange:
            return connection.due
        due = min(exchange.deadline, exchange.beat)
        if exchange.call is None:
            # Its tool may have a shorter deadline, which is known once it is read.
            due = min(due, now + _UNREAD_SECONDS)
        return min(due, connection.due) if connection.outbound else due

    def _time_out(self, connection: Connection) -> None:
        unfinished = connection.phase is Phase.BODY or (
            connection.phase is Phase.HEAD and connection.inbound
        )
        if unfinished and not connection.outbound:
            self._refuse(connection, http.refusal(408))
        else:
            self._drop(connection)

    # The end.

    def _done(self) -> bool:
        if self._cutoff is None:
            return False
        if not self._closing:
            self._shut()
        if time.monotonic() >= self._cutoff:
            for connection in self._connections:
                if connection.exchange is not None:
                    self._service.cut(connection.exchange)
                connection.flush()
            return True
        return not self._connections

    def _shut(self) -> None:
        self._closing = True
        if self._accepting:
            self._selector.unregister(self._listening)
        self._listening.close()
        for connection in list(self._connections):
            exchange = connection.exchange
            if exchange is None and not connection.outbound:
                self._drop(connection)
                continue
            # The answer may be leaving this very moment; look again after that.
            connection.hurry()
            self._attention.append(connection)
            if exchange is not None:
                self._service.hurry(exchange)
        self.wake()
