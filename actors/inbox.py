"""How a handle waits for an actor's answer: a mailbox for one message."""

from __future__ import annotations

import concurrent.futures

from ..errors import AskTimeout, ToolcribError
from ..messages.base import Address, Message, RequestFailed, Undelivered
from ..runtime.signals import new_signal
from ..runtime.tracing import Tracer

__all__ = ["Inbox", "StoppedError"]


class StoppedError(ToolcribError):
    """Raised when a question reached nobody, since its actor has stopped."""


class Inbox:
    """An address that takes one answer. Every wait has a deadline.

    Args:
        name: Who waits, for the trace.
        tracer: Records the answer, where one is set.
    """

    def __init__(self, name: str = "host", tracer: Tracer | None = None) -> None:
        self.name = name
        self._tracer = tracer
        self._answer: concurrent.futures.Future[Message] = concurrent.futures.Future()

    def deliver(self, message: Message, sender: str) -> None:
        """Take the answer; further ones are recorded and left aside."""
        if self._tracer is not None:
            self._tracer.record(sender, self.name, message)
        try:
            self._answer.set_result(message)
        except concurrent.futures.InvalidStateError:
            return

    def ask(self, to: Address, message: Message, timeout: float) -> Message:
        """Send a message that names this inbox, and wait for the answer.

        Args:
            to: Who is asked.
            message: The question; its ``reply_to`` is this inbox.
            timeout: How long to wait, in seconds.

        Raises:
            AskTimeout: No answer came in time.
            StoppedError: The actor has stopped.
            ToolcribError: The actor failed on the question.
        """
        to.deliver(message, self.name)
        try:
            answer = self._answer.result(timeout)
        except TimeoutError:
            raise _late(to, message, timeout) from None
        return _checked(answer)

    async def aask(self, to: Address, message: Message, timeout: float) -> Message:
        """Do as `ask`, without blocking the running event loop."""
        signal = new_signal()
        self._answer.add_done_callback(lambda _: signal.set())
        to.deliver(message, self.name)
        if not await signal.wait(timeout):
            raise _late(to, message, timeout)
        return _checked(self._answer.result())


def _late(to: Address, message: Message, timeout: float) -> AskTimeout:
    msg = f"{to.name} did not answer {type(message).__name__} within {timeout:g} s."
    return AskTimeout(msg)


def _checked(answer: Message) -> Message:
    if isinstance(answer, Undelivered):
        msg = f"{answer.receiver} has stopped, so {answer.request} reached nobody."
        raise StoppedError(msg)
    if isinstance(answer, RequestFailed):
        msg = f"{answer.receiver} failed on {answer.request}; its log has the reason."
        raise ToolcribError(msg) from answer.error
    return answer
