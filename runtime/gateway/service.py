"""What happens to a request between its body and its answer."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterable
from functools import partial
from typing import TYPE_CHECKING, Final

from ..tools.collector import resting_collector
from ..tools.context import Context
from . import http
from .events import ProgressEvents
from .exchange import FAILURES, Exchange
from .limits import Limits
from .registration import Registration
from .shares import Places, Slots
from .workers import Job, Workers

if TYPE_CHECKING:
    from .protocol import Protocol, ToolCall

__all__ = ["Service"]

# So that listing and pinging go on while every slot has a handler that hangs.
_SPARE_WORKERS: Final = 2
# What the front thread reads itself; the rest could hold it up.
_SMALL: Final = 8 * 1024


class Service:
    """Runs exchanges on workers, within the limits and by their deadlines.

    Args:
        limits: How many may run and wait.
    """

    def __init__(self, limits: Limits) -> None:
        self._limits = limits
        self._workers = Workers(limits.running + limits.reserve + _SPARE_WORKERS)
        self._places = Places(limits.running + limits.waiting, reserve=limits.reserve)
        self._slots: Slots[Exchange] = Slots(limits.running, limits.reserve)
        self._lock = threading.Lock()
        self._protocol: Protocol | None = None

    def warm_up(self) -> None:
        """Load the SDK on a worker, so that the first request finds it there."""
        self._workers.submit(self._warm)

    def share(self, agents: int) -> None:
        """Set how many Agents share the slots and the places."""
        self._places.owners = agents
        self._start(self._slots.share(agents))

    # The front's side; none of it blocks.

    def admit(self, registration: Registration) -> bool:
        """Take a place for a request of this Agent; ``False`` when there is none."""
        return self._places.take(registration)

    def release(self, registration: Registration) -> None:
        """Give the place of a request back that never got its body."""
        self._places.give(registration)

    def submit(self, exchange: Exchange, quick: Callable[[Job], object] | None = None) -> None:
        """Have an exchange answered; it gives its place back by itself.

        What needs no work is answered at once, here: beside a busy handler, every
        thread that has to wake costs a wait for the interpreter lock.

        Args:
            exchange: The exchange.
            quick: Gets the call of a tool that answers at once, as a rule, for this
                thread to run. By default a worker runs it, as it runs any other.
        """
        protocol = self._protocol
        if protocol is None or len(exchange.body) > _SMALL:
            self._workers.submit(partial(self._read, exchange))
            return
        with self._answering(exchange):
            step: http.Answer | ToolCall | None = _understand(protocol, exchange)
            if step is None and exchange.request is not None:
                step = protocol.at_once(exchange.request, exchange.admitted.registration)
        if step is None:
            self._workers.submit(partial(self._read, exchange))
        elif isinstance(step, http.Answer):
            self._finish(exchange, step)
        elif self._queue(exchange, step):
            run = quick if self.quick(exchange) else None
            (run or self.hand_over)(partial(self._run, exchange))

    def quick(self, exchange: Exchange) -> bool:
        """Return whether the tool that is called answers at once, as a rule."""
        call = exchange.call
        return call is not None and exchange.admitted.registration.paces.quick(call.tool.name)

    def hand_over(self, job: Job) -> None:
        """Have a worker run what this thread will not."""
        self._workers.submit(job)

    def slow(self, exchange: Exchange) -> None:
        """Remember that a call is not quick, though its tool was."""
        if exchange.call is not None:
            exchange.admitted.registration.paces.late(exchange.call.tool.name)

    def expire(self, exchange: Exchange) -> None:
        """Answer an exchange whose deadline has passed."""
        if exchange.claim():
            exchange.cancel("deadline_exceeded")
            exchange.channel.reply(_failed(exchange, "deadline_exceeded"))
            self._unqueue(exchange)

    def abandon(self, exchange: Exchange) -> None:
        """Give an exchange up whose client is gone."""
        if exchange.claim():
            exchange.cancel()
            self._unqueue(exchange)

    def hurry(self, exchange: Exchange) -> None:
        """Ask an exchange's handler to end soon."""
        exchange.cancel()

    def cut(self, exchange: Exchange) -> None:
        """Answer an exchange that takes too long for a close."""
        if exchange.claim():
            exchange.cancel()
            exchange.channel.reply(_failed(exchange, "canceled"), close=True)
            self._unqueue(exchange)

    def close(self, deadline: float) -> bool:
        """End the workers.

        Args:
            deadline: Until when to wait, as `time.monotonic` counts.

        Returns:
            Whether all of them have ended.
        """
        ended = self._workers.close(deadline)
        # Without the lock, which is held for as long as the SDK loads.
        if self._protocol is not None:
            self._protocol.close()
        return ended

    # The workers' side.

    def _warm(self) -> None:
        self._load()

    def _load(self) -> Protocol:
        with self._lock:
            if self._protocol is None:
                # Its modules make very many objects, and all of them stay.
                with resting_collector():
                    from .protocol import Protocol

                self._protocol = Protocol()
            return self._protocol

    def _read(self, exchange: Exchange) -> None:
        registration = exchange.admitted.registration
        if exchange.claimed:
            self._places.give(registration)
            return
        with self._answering(exchange):
            protocol = self._load()
            result: http.Answer | ToolCall | None = _understand(protocol, exchange)
            if exchange.request is not None:
                result = protocol.serve(exchange.request, registration)
        if isinstance(result, http.Answer):
            self._finish(exchange, result)
        elif result is not None and self._queue(exchange, result):
            self._run(exchange)

    def _answering(self, exchange: Exchange) -> _Answering:
        return _Answering(self._finish, exchange)

    def _queue(self, exchange: Exchange, ready: ToolCall) -> bool:
        """Get a call its slot; ``False`` when it has to wait for one."""
        exchange.request = None
        deadline = exchange.deadline_of(ready.tool.deadline or self._limits.deadline)
        progress = None
        if exchange.streams and ready.progress_token is not None:
            push = partial(exchange.channel.push, exchange)
            progress = ProgressEvents(ready.progress, push)
        exchange.context = Context(ready.tool.name, deadline, on_progress=progress)
        exchange.deadline = deadline
        exchange.call = ready
        if exchange.claimed:
            # Given up before there was anything to cancel.
            exchange.context.cancel()
        if self._slots.enter(exchange.admitted.registration, exchange):
            return True
        if exchange.claimed:
            # Claimed just before it began to wait, so nobody else will.
            self._unqueue(exchange)
        return False

    def _run(self, exchange: Exchange) -> None:
        answer: http.Answer | None = None
        try:
            answer = self._call(exchange)
        finally:
            self._start(self._slots.leave(exchange.admitted.registration))
            self._finish(exchange, answer or http.refusal(500))

    def _call(self, exchange: Exchange) -> http.Answer | None:
        ready, context = exchange.call, exchange.context
        registration = exchange.admitted.registration
        if ready is None or context is None:
            return None
        if not registration.enter(context):
            return http.unauthorized()
        began = time.monotonic()
        try:
            return ready.run(context, within=registration.context, limit=self._limits.output_bytes)
        finally:
            registration.paces.note(ready.tool.name, time.monotonic() - began)
            registration.exit(context)

    def _start(self, exchanges: Iterable[Exchange]) -> None:
        for exchange in exchanges:
            self._workers.submit(partial(self._run, exchange))

    def _unqueue(self, exchange: Exchange) -> None:
        if self._slots.forget(exchange):
            self._places.give(exchange.admitted.registration)

    def _finish(self, exchange: Exchange, answer: http.Answer) -> None:
        self._places.give(exchange.admitted.registration)
        if exchange.claim():
            exchange.channel.reply(answer)


class _Answering:
    """Answers an exchange that meets a fault of ours, which is raised all the same."""

    # Not from a generator: that costs as much as all the rest of a submission.
    __slots__ = ("_exchange", "_finish")

    def __init__(
        self, finish: Callable[[Exchange, http.Answer], None], exchange: Exchange
    ) -> None:
        self._finish = finish
        self._exchange = exchange

    def __enter__(self) -> None:
        pass

    def __exit__(self, kind: type[BaseException] | None, *_: object) -> None:
        if kind is not None:
            self._finish(self._exchange, http.refusal(500))


def _understand(protocol: Protocol, exchange: Exchange) -> http.Answer | None:
    """Read a message once, and keep its request; return the answer to anything else."""
    if exchange.request is None:
        result = protocol.read(exchange.admitted.head, exchange.body)
        exchange.body = b""
        if isinstance(result, http.Answer):
            return result
        exchange.request = result
    return None


def _failed(exchange: Exchange, code: str) -> http.Answer:
    if exchange.call is None:
        # Its message is not read yet: there is no request to answer by id.
        return http.busy()
    return exchange.call.failed(code, FAILURES[code])
