"""The base of all actors: Pykka's, made safe to live inside an application.

What it adds, and why plain Pykka is not enough:

* Nothing that is raised while a message is handled stops the actor, let alone
  every actor of the process, which is what Pykka does for ``SystemExit`` and
  its like. `Actor.crashed` decides what becomes of it.
* Threads are daemons, so a forgotten actor can't keep the interpreter alive.
* `Ref` ignores what the application's own ``ActorRegistry.stop_all()`` and
  ``broadcast()`` send, and refuses proxies and Pykka's ``ask``.
* A message is either handled or answered with `Undelivered`, also when it
  races with the actor's end, and when the actor's thread was killed from
  outside, which Pykka does not notice.
"""

from __future__ import annotations

import logging
import threading
from abc import abstractmethod
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Any, NamedTuple, NoReturn, TypeVar

import pykka

from ..messages.base import Address, Message, RequestFailed, Undelivered
from ..runtime.timers import Timer, Timers
from ..runtime.tracing import Tracer
from ..runtime.workers import Workers

__all__ = ["Actor", "Ref", "Services"]

_log = logging.getLogger("toolcrib.actors")
T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class Services:
    """What every actor of one system shares."""

    workers: Workers
    """Runs what blocks."""
    timers: Timers
    """Sends messages later."""
    tracer: Tracer | None = None
    """Records every message that is handled, where one is set."""
    report: Callable[[str, BaseException], None] | None = None
    """Told of every exception that an actor did not expect: its name and the
    exception. Runs on the actor's thread; only takes note."""


class _Letter(NamedTuple):
    sender: str
    message: Message


class Ref(pykka.ActorRef["Actor"]):
    """An actor's address; the only thing of it that others hold."""

    def __init__(self, actor: Actor, name: str) -> None:
        super().__init__(actor)
        self.name = name
        self.thread: threading.Thread | None = None
        self._mailbox = threading.Lock()
        self._closing = False

    @property
    def alive(self) -> bool:
        """Whether the actor still handles messages."""
        return self.is_alive() and (self.thread is None or self.thread.is_alive())

    def deliver(self, message: Message, sender: str) -> None:
        """Put the message into the mailbox, or bounce it. See `Address`."""
        # The lock makes "alive?" and "put" one step, against the actor's end.
        with self._mailbox:
            alive = self.alive
            if alive:
                super().tell(_Letter(sender, message))
        if not alive:
            bounce(self.name, message)

    def close(self) -> None:
        """End the actor after the messages that it already has."""
        with self._mailbox:
            if self.is_alive() and not self._closing:
                self._closing = True
                super().stop(block=False)

    def join(self, timeout: float) -> bool:
        """Wait for the actor's end; return whether it came in time (seconds)."""
        if self.thread is None:  # it has only just begun
            return self.actor_stopped.wait(timeout)
        self.thread.join(timeout)
        return not self.thread.is_alive()

    def stop(self, *, block: bool = True, timeout: float | None = None) -> Any:
        """Do nothing: only the system ends its actors."""
        return False

    def ask(self, message: Any, **options: Any) -> Any:
        """Refuse, but for the one question that Pykka's own stop asks."""
        if not self._closing:
            self._refuse("ask")
        return super().ask(message, **options)

    def tell(self, message: Any) -> None:
        """Ignore it: this may be the application's broadcast to its own actors."""
        _log.debug("%s ignores a %s that is not for it", self.name, type(message).__name__)

    def proxy(self) -> NoReturn:
        """Refuse: a proxy would go past `Actor.on_receive`."""
        self._refuse("proxy")

    def _refuse(self, what: str) -> NoReturn:
        msg = f"{self.name} takes toolcrib's messages only; {what} is not for it."
        raise TypeError(msg)


def bounce(receiver: str, message: Message) -> None:
    """Tell the asker, if there is one, that its request reached nobody."""
    asker: Address | None = getattr(message, "reply_to", None)
    if asker is not None:
        asker.deliver(Undelivered(receiver, type(message).__name__), receiver)


class Actor(pykka.ThreadingActor):
    """Handles messages one at a time, on a thread of its own.

    Args:
        name: What others call it, such as ``registry`` or ``run-1``.
        services: What it shares with the others.
    """

    use_daemon_thread = True

    def __init__(self, name: str, services: Services) -> None:
        super().__init__()
        self.name = name
        self.services = services
        self._ref = Ref(self, name)

    @property
    def actor_ref(self) -> Any:
        """The actor's address, which is what `start` returns."""
        return self._ref

    @property
    def address(self) -> Ref:
        """The actor's own address, to be put into messages."""
        return self._ref

    @classmethod
    def launch(cls, *args: Any, **kwargs: Any) -> Ref:
        """Start the actor; return its address."""
        ref = cls.start(*args, **kwargs)
        assert isinstance(ref, Ref)
        return ref

    @abstractmethod
    def receive(self, message: Message) -> None:
        """Handle one message. Runs on the actor's thread; must not block."""

    def started(self) -> None:
        """Begin the actor's life, on its thread, before its first message."""

    def never_started(self, error: BaseException) -> None:
        """Go on after ``started`` raised; the error is logged already."""

    def crashed(self, message: Message, error: BaseException) -> None:
        """Go on after ``receive`` raised; the error is logged already.

        The asker, if there is one, gets `RequestFailed`.
        """
        asker: Address | None = getattr(message, "reply_to", None)
        if asker is not None:
            self.send(asker, RequestFailed(self.name, type(message).__name__, error))

    def send(self, to: Address, message: Message) -> None:
        """Send a message; returns at once and never raises."""
        to.deliver(message, self.name)

    def later(self, seconds: float, message: Message) -> Timer:
        """Send a message to this actor itself, some seconds from now."""
        return self.services.timers.after(seconds, lambda: self._ref.deliver(message, "timer"))

    def work(
        self,
        job: Callable[[], T],
        done: Callable[[T], Message],
        failed: Callable[[Exception], Message],
    ) -> None:
        """Run something that blocks on a worker; its outcome comes as a message.

        Args:
            job: What to run, on a worker thread.
            done: Makes the message from what it returned, on that thread.
            failed: Makes the message from what it raised, on that thread.
        """
        self.services.workers.submit(
            job,
            lambda value: self._ref.deliver(done(value), "worker"),
            lambda error: self._ref.deliver(failed(_ordinary(error)), "worker"),
        )

    def close(self) -> None:
        """End this actor after the messages that it already has."""
        self._ref.close()

    def on_start(self) -> None:
        self._ref.thread = threading.current_thread()
        self._ref.thread.name = f"toolcrib-{self.name}"
        try:
            self.started()
        except BaseException as error:
            _log.exception("%s failed as it started", self.name)
            self._survive(partial(self.never_started, error), error)

    def on_receive(self, message: Any) -> None:
        letter: _Letter = message
        tracer = self.services.tracer
        if tracer is not None:
            tracer.record(letter.sender, self.name, letter.message)
        try:
            if isinstance(letter.message, Undelivered | RequestFailed):
                self.bounced(letter.message)
            else:
                self.receive(letter.message)
        except BaseException as error:
            _log.exception("%s failed on %s", self.name, type(letter.message).__name__)
            self._survive(partial(self.crashed, letter.message, error), error)

    def bounced(self, message: Undelivered | RequestFailed) -> None:
        """Learn that a request of this actor's was lost, or failed."""
        _log.warning("%s: %s was not handled by %s", self.name, message.request, message.receiver)

    def on_stop(self) -> None:
        with self._ref._mailbox:
            pass  # whoever was putting a message has put it; nobody will again
        while not self.actor_inbox.empty():
            envelope = self.actor_inbox.get()
            if envelope.reply_to is not None:
                envelope.reply_to.set(None)
            elif isinstance(envelope.message, _Letter):
                bounce(self.name, envelope.message.message)

    def _survive(self, how: Callable[[], None], error: BaseException) -> None:
        try:
            if self.services.report is not None:
                self.services.report(self.name, error)
            how()
        except BaseException:
            _log.exception("%s failed while it dealt with a failure", self.name)


def _ordinary(error: BaseException) -> Exception:
    """Wrap what must not travel as it is, such as a job's ``SystemExit``."""
    if isinstance(error, Exception):
        return error
    wrapped = RuntimeError(f"{type(error).__name__}: {error}")
    wrapped.__cause__ = error
    return wrapped
