"""The line from an Agent's handles to its actor."""

from __future__ import annotations

import secrets
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING

from .errors import AgentClosedError, CloseTimeout
from .messages.agent import CancelRun, CloseAgent, CloseTimedOut, RunRefused, StartRun
from .messages.base import LivingAddress, Message
from .messages.options import RunOptions
from .messages.results import RunReason
from .runtime.signals import bounded, in_thread
from .runtime.spec import AgentSpec
from .runtime.streams import EventStream
from .stream import Stream

if TYPE_CHECKING:
    from .actors.inbox import Inbox
    from .actors.system import System

__all__ = ["Link", "Wish"]

_ASK_TIMEOUT = 10.0
_CLOSE_SLACK = 5.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Wish:
    """A run that is asked for."""

    prompt: str
    """What to ask."""
    thread_key: str | None
    """The thread to go on with; ``None`` outside a thread."""
    options: RunOptions
    """How to run it."""
    owner: object
    """What must not be dropped before the run's stream."""


@dataclass(frozen=True, slots=True)
class _Asked:
    system: System
    address: LivingAddress
    inbox: Inbox
    request: StartRun
    events: EventStream


class Link:
    """Starts an Agent's actor at the first need, asks it for runs, closes it.

    Safe to use from any thread.

    Args:
        name: What to call the Agent in messages.
        spec: Makes the Agent's fixed parts, once its system is known.
        system: The actor system; ``None`` is the process's own.
        event_buffer: How many events of a run may wait to be read.
        paces: Whether a provider waits for whoever reads its events.
    """

    def __init__(
        self,
        name: str,
        spec: Callable[[System], AgentSpec],
        system: System | None,
        *,
        event_buffer: int,
        paces: bool,
    ) -> None:
        self._name = name
        self._spec = spec
        self._system = system
        self._event_buffer = event_buffer
        self._paces = paces
        self._lock = threading.Lock()
        self._address: LivingAddress | None = None
        self._closed = False

    def begin(self, wish: Wish) -> Stream:
        """Ask for a run, and wait in this thread until it is admitted.

        Raises:
            AgentClosedError: The Agent is closing or closed.
        """
        asked = self._ask_for(*self._started(), wish)
        with self._taken_back(asked):
            answer = asked.inbox.ask(asked.address, asked.request, _ASK_TIMEOUT)
        return _admitted(asked, answer, wish)

    async def abegin(self, wish: Wish) -> Stream:
        """Do as `begin`, without blocking the running event loop."""
        if self._address is None:
            # The first start imports and starts the system, which takes a moment.
            await in_thread(self._started)
        asked = self._ask_for(*self._started(), wish)
        with self._taken_back(asked):
            answer = await asked.inbox.aask(asked.address, asked.request, _ASK_TIMEOUT)
        return _admitted(asked, answer, wish)

    def close(self, timeout: float) -> None:
        """Close the Agent, or go on closing; see `Agent.close`."""
        timeout = bounded(timeout)
        if (address := self._begin_close()) is not None:
            inbox = self._inbox()
            request = CloseAgent(timeout, inbox)
            with self._closing():
                self._end_close(inbox.ask(address, request, timeout + _CLOSE_SLACK))

    async def aclose(self, timeout: float) -> None:
        """Do as `close`, without blocking the running event loop."""
        timeout = bounded(timeout)
        if (address := self._begin_close()) is not None:
            inbox = self._inbox()
            request = CloseAgent(timeout, inbox)
            with self._closing():
                self._end_close(await inbox.aask(address, request, timeout + _CLOSE_SLACK))

    def forget(self, timeout: float) -> bool:
        """Close soon, in a thread of the system; tell whether there was anything.

        For a finalizer, which may run in any thread that holds any lock.
        """
        address, system = self._address, self._system
        if self._closed or address is None or not address.alive:
            return False
        if system is not None:
            # However unwell that is: its runs may hold threads, and have processes.
            request = CloseAgent(timeout, self._inbox())
            system.finalizers.later(lambda: address.deliver(request, "host"))
        return True

    def _started(self) -> tuple[System, LivingAddress]:
        from .actors.system import System

        with self._lock:
            if self._closed:
                msg = f"{self._name} is closed; make a new Agent."
                raise AgentClosedError(msg)
            system = self._system = self._system or System.default()
            if self._address is None:
                self._address = system.start_agent(self._spec(system))
            return system, self._address

    def _ask_for(self, system: System, address: LivingAddress, wish: Wish) -> _Asked:
        run_id = f"run_{secrets.token_hex(8)}"
        inbox = self._inbox()
        events = EventStream(
            run_id,
            wish.thread_key,
            self._event_buffer,
            paces=self._paces,
            answers=wish.options.on_approval is None,
        )
        request = StartRun(
            run_id=run_id,
            prompt=wish.prompt,
            options=wish.options,
            thread_key=wish.thread_key,
            sink=events,
            reply_to=inbox,
        )
        return _Asked(system, address, inbox, request, events)

    @contextmanager
    def _taken_back(self, asked: _Asked) -> Iterator[None]:
        """Take the wish back where its admission is not waited for to the end."""
        from .actors.inbox import StoppedError

        try:
            yield
        except BaseException as error:
            # It may be admitted all the same, only later: nobody would know of it.
            why = "the application did not wait for its admission"
            cancel = CancelRun(asked.request.run_id, RunReason.CANCELLED, why)
            asked.address.deliver(cancel, "host")
            asked.events.discard()
            if isinstance(error, StoppedError):
                msg = f"{self._name} has stopped; make a new Agent."
                raise AgentClosedError(msg) from error
            raise

    def _inbox(self) -> Inbox:
        from .actors.inbox import Inbox

        return Inbox(tracer=self._system.tracer if self._system else None)

    @contextmanager
    def _closing(self) -> Iterator[None]:
        from .actors.inbox import StoppedError

        try:
            yield
        except StoppedError:
            self._closed = True  # the actor stops itself only when all is closed

    def _begin_close(self) -> LivingAddress | None:
        with self._lock:
            if self._address is None:
                self._closed = True
            return None if self._closed else self._address

    def _end_close(self, answer: Message) -> None:
        if isinstance(answer, CloseTimedOut):
            raise CloseTimeout(answer.phase, answer.remaining, answer.timeout)
        self._closed = True


def _admitted(asked: _Asked, answer: Message, wish: Wish) -> Stream:
    """Return the stream of the admitted run, or raise why there is none."""
    if isinstance(answer, RunRefused):
        raise answer.error
    return Stream(wish.owner, asked.system, asked.address, asked.request.run_id, asked.events)
