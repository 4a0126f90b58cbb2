"""The handles of an Agent and its threads: method calls become messages."""

from __future__ import annotations

import asyncio
import contextvars
import math
import os
import secrets
import threading
import warnings
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from types import MappingProxyType, TracebackType
from typing import TYPE_CHECKING, Self

from .errors import AgentClosedError, CloseTimeout
from .messages.agent import (
    CancelRun,
    CloseAgent,
    CloseTimedOut,
    RunRefused,
    StartRun,
)
from .messages.base import LivingAddress, Message
from .messages.options import RunOptions
from .messages.results import Result, RunReason
from .runtime.drivers.interface import Driver
from .runtime.gateway.tokens import new_variable
from .runtime.spec import AgentSpec
from .runtime.streams import EventStream
from .runtime.threads.interface import ThreadStore
from .runtime.threads.memory import MemoryStore
from .runtime.tools.catalog import Catalog
from .runtime.tools.tool import Tool
from .stream import Stream

if TYPE_CHECKING:
    from .actors.inbox import Inbox
    from .actors.system import System

__all__ = ["Agent", "Thread"]

_ASK_TIMEOUT = 10.0
_CLOSE_TIMEOUT = 30.0
_CLOSE_SLACK = 5.0

StrPath = str | os.PathLike[str]


class Agent:
    """Drives one provider and lends it a fixed set of tools.

    Making one starts nothing. The first run starts what it needs: the process's
    actors, the loopback gateway, a private clone of the provider's profile.
    Close it, or use it as a context manager (``with`` or ``async with``).

    Args:
        driver: The provider, such as ``Cursor()``.
        tools: The tools it lends, for its whole life.
        store: Where its threads are kept; ``None`` keeps them in memory for as
            long as the Agent lives.
        workspace: The provider's working directory; ``None`` is the current
            directory at this moment.
        timeout: The longest that a run may take, in seconds; ``None`` for no
            limit.
        event_buffer: How many events may wait for a slow consumer before
            deltas are left out.
        system: The actor system to run on; ``None`` is the process's own.

    Raises:
        DefinitionError: The tools don't form a catalog.
        TypeError: Something is of the wrong type.
        ValueError: A number is out of range.
    """

    def __init__(
        self,
        driver: Driver,
        *,
        tools: Iterable[Tool] = (),
        store: ThreadStore | None = None,
        workspace: StrPath | None = None,
        timeout: float | None = None,
        event_buffer: int = 1024,
        system: System | None = None,
    ) -> None:
        self._closed = True  # until it is whole, for __del__
        if not isinstance(driver, Driver):
            msg = f"driver is a {type(driver).__name__}; pass a Driver, such as Cursor()."
            raise TypeError(msg)
        self._driver = driver
        self._catalog = Catalog(tools)
        self._store = store if store is not None else MemoryStore()
        self._workspace = Path(workspace).absolute() if workspace is not None else Path.cwd()
        self._timeout = _seconds(timeout)
        self._event_buffer = _buffer(event_buffer)
        self._environment = dict(os.environ)
        self._context = contextvars.copy_context()
        self._variable = new_variable()
        self._system = system
        self._lock = threading.Lock()
        self._address: LivingAddress | None = None
        self._closed = False

    @property
    def driver(self) -> Driver:
        """The provider that it drives."""
        return self._driver

    @property
    def tools(self) -> tuple[Tool, ...]:
        """The tools that it lends, sorted by name."""
        return tuple(self._catalog.tools.values())

    @property
    def token_variable(self) -> str:
        """The environment variable that the token travels in; reserved for us."""
        return self._variable

    def run(
        self, prompt: str, *, workspace: StrPath | None = None, timeout: float | None = None
    ) -> Result:
        """Run one prompt and wait for its result.

        Args:
            prompt: What to ask.
            workspace: The working directory of this run.
            timeout: The longest that this run may take, in seconds.

        Raises:
            AgentClosedError: The Agent is closing or closed.
            ConfigurationError: Something is set up wrongly; nothing was started.
            GatewayError: The tools' listener could not start.
            RunError: The run failed; has the partial result.
        """
        return _run(self.stream(prompt, workspace=workspace, timeout=timeout))

    async def arun(
        self, prompt: str, *, workspace: StrPath | None = None, timeout: float | None = None
    ) -> Result:
        """Do as `run`, without blocking the running event loop.

        Cancelling the awaiting task cancels the run.
        """
        return await self._arun(prompt, None, workspace, timeout)

    def stream(
        self, prompt: str, *, workspace: StrPath | None = None, timeout: float | None = None
    ) -> Stream:
        """Start one prompt and return its events, for ``for`` or ``async for``.

        Returns as soon as the run is admitted. Arguments are those of `run`.

        Raises:
            AgentClosedError: The Agent is closing or closed.
        """
        return self._stream(prompt, None, workspace, timeout)

    def thread(self, key: str) -> Thread:
        """Return the conversation of that key, to go on with or to begin.

        Args:
            key: The application's name for the conversation; not empty.

        Raises:
            ValueError: The key is empty.
        """
        return Thread(self, key)

    def close(self, timeout: float = _CLOSE_TIMEOUT) -> None:
        """Close in order: runs, processes, clones, token. See the README.

        Once it has returned, nothing of the Agent is left, and calling it again
        does nothing. May be called from any thread, and by several at once.

        Args:
            timeout: How long to wait, in seconds.

        Raises:
            CloseTimeout: Something holds it; call it again to go on from there.
            AskTimeout: Not even that was answered, five seconds later.
        """
        if (address := self._begin_close()) is not None:
            inbox = self._inbox()
            request = CloseAgent(timeout, inbox)
            with self._closing():
                self._end_close(inbox.ask(address, request, timeout + _CLOSE_SLACK))

    async def aclose(self, timeout: float = _CLOSE_TIMEOUT) -> None:
        """Do as `close`, without blocking the running event loop."""
        if (address := self._begin_close()) is not None:
            inbox = self._inbox()
            request = CloseAgent(timeout, inbox)
            with self._closing():
                self._end_close(await inbox.aask(address, request, timeout + _CLOSE_SLACK))

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        self.close()

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        await self.aclose()

    def __repr__(self) -> str:
        names = ", ".join(self._catalog.names) or "no tools"
        return f"<Agent of {self._driver.provider} with {names}>"

    def __del__(self, warn: object = warnings.warn) -> None:
        address = self.__dict__.get("_address")
        if self.__dict__.get("_closed", True) or address is None or not address.alive:
            return
        system = self._system
        if system is not None and system.healthy:
            request = CloseAgent(_CLOSE_TIMEOUT, self._inbox())
            system.finalizers.later(lambda: address.deliver(request, "host"))
        if callable(warn):  # last, since a warning may be an error
            warn(f"{self!r} was never closed", ResourceWarning, source=self)

    def _stream(
        self,
        prompt: str,
        thread_key: str | None,
        workspace: StrPath | None,
        timeout: float | None,
    ) -> Stream:
        asked = self._ask_for(self._start(), prompt, thread_key, workspace, timeout)
        with asked:
            answer = asked.inbox.ask(asked.address, asked.request, _ASK_TIMEOUT)
        return asked.answered(answer)

    async def _arun(
        self,
        prompt: str,
        thread_key: str | None,
        workspace: StrPath | None,
        timeout: float | None,
    ) -> Result:
        address = self._address
        if address is None:
            # The first start imports and starts the system, which takes a moment.
            address = await asyncio.to_thread(self._start)
        asked = self._ask_for(address, prompt, thread_key, workspace, timeout)
        with asked:
            answer = await asked.inbox.aask(address, asked.request, _ASK_TIMEOUT)
        stream = asked.answered(answer)
        stream.discard()
        try:
            return await stream.aresult()
        except BaseException:
            stream.cancel()
            raise

    def _ask_for(
        self,
        address: LivingAddress,
        prompt: str,
        thread_key: str | None,
        workspace: StrPath | None,
        timeout: float | None,
    ) -> _Asked:
        system = self._system
        if system is None:  # `_start`, which gave the address, has set it
            msg = f"{self!r} has not started."
            raise RuntimeError(msg)
        if not isinstance(prompt, str):
            msg = f"prompt is a {type(prompt).__name__}; pass a str."
            raise TypeError(msg)
        run_id = f"run_{secrets.token_hex(8)}"
        inbox = self._inbox()
        events = EventStream(run_id, thread_key, self._event_buffer)
        request = StartRun(
            run_id=run_id,
            prompt=prompt,
            options=RunOptions(
                workspace=Path(workspace).absolute() if workspace is not None else self._workspace,
                timeout=_seconds(timeout) if timeout is not None else self._timeout,
            ),
            thread_key=thread_key,
            sink=events,
            reply_to=inbox,
        )
        return _Asked(self, system, address, inbox, request, events)

    def _start(self) -> LivingAddress:
        from .actors.system import System

        with self._lock:
            if self._closed:
                msg = f"{self!r} is closed; make a new Agent."
                raise AgentClosedError(msg)
            if self._address is None:
                system = self._system = self._system or System.default()
                self._address = system.start_agent(self._spec(system))
            return self._address

    def _spec(self, system: System) -> AgentSpec:
        return AgentSpec(
            name=system.name("agent"),
            driver=self._driver,
            catalog=self._catalog,
            store=self._store,
            deadline=system.limits.deadline,
            variable=self._variable,
            environment=MappingProxyType({**self._environment, "TOOLCRIB_HOST": system.host}),
            context=self._context,
        )

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


class _Asked:
    """A run that is asked for; leaving it with an error takes the wish back."""

    def __init__(
        self,
        agent: Agent,
        system: System,
        address: LivingAddress,
        inbox: Inbox,
        request: StartRun,
        events: EventStream,
    ) -> None:
        self.agent, self.system, self.address, self.inbox = agent, system, address, inbox
        self.request, self.events = request, events

    def answered(self, answer: Message) -> Stream:
        """Return the stream of the admitted run, or raise why there is none."""
        if isinstance(answer, RunRefused):
            raise answer.error
        run_id = self.request.run_id
        return Stream(self.agent, self.system, self.address, run_id, self.events)

    def __enter__(self) -> None:
        return None

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        if error is None:
            return
        from .actors.inbox import StoppedError

        # It may be admitted all the same, only later: nobody would know of it.
        why = "the application did not wait for its admission"
        cancel = CancelRun(self.request.run_id, RunReason.CANCELLED, why)
        self.address.deliver(cancel, "host")
        self.events.discard()
        if isinstance(error, StoppedError):
            msg = f"{self.agent!r} has stopped; make a new Agent."
            raise AgentClosedError(msg) from error


class Thread:
    """One conversation of an Agent, which goes on from run to run.

    Made by `Agent.thread`. Its runs take turns: a second one at the same time
    is refused with `ThreadBusyError`.
    """

    def __init__(self, agent: Agent, key: str) -> None:
        if not key:
            msg = "A thread's key is empty; give it your own name for the conversation."
            raise ValueError(msg)
        self._agent = agent
        self._key = key

    @property
    def key(self) -> str:
        """The application's name for the conversation."""
        return self._key

    def run(
        self, prompt: str, *, workspace: StrPath | None = None, timeout: float | None = None
    ) -> Result:
        """Run one turn and wait for its result; see `Agent.run`.

        Raises:
            ThreadError: The thread is busy, incompatible, or can't be stored.
        """
        return _run(self.stream(prompt, workspace=workspace, timeout=timeout))

    async def arun(
        self, prompt: str, *, workspace: StrPath | None = None, timeout: float | None = None
    ) -> Result:
        """Do as `run`, without blocking the running event loop."""
        return await self._agent._arun(prompt, self._key, workspace, timeout)

    def stream(
        self, prompt: str, *, workspace: StrPath | None = None, timeout: float | None = None
    ) -> Stream:
        """Start one turn and return its events; see `Agent.stream`."""
        return self._agent._stream(prompt, self._key, workspace, timeout)

    def __repr__(self) -> str:
        return f"<Thread {self._key!r} of {self._agent!r}>"


def _run(stream: Stream) -> Result:
    stream.discard()
    try:
        return stream.result()
    except BaseException:
        stream.cancel()  # Ctrl-C must not leave the run behind
        raise


def _seconds(timeout: float | None) -> float | None:
    if timeout is None:
        return None
    if isinstance(timeout, bool) or not isinstance(timeout, (int, float)):
        msg = f"timeout is a {type(timeout).__name__}; pass a number of seconds."
        raise TypeError(msg)
    if not 0 < timeout < math.inf:
        msg = f"timeout is {timeout}; pass more than 0 seconds, or None for no limit."
        raise ValueError(msg)
    return float(timeout)


def _buffer(events: int) -> int:
    if isinstance(events, bool) or not isinstance(events, int):
        msg = f"event_buffer is a {type(events).__name__}; pass a whole number of events."
        raise TypeError(msg)
    if events < 1:
        msg = f"event_buffer is {events}; pass at least 1."
        raise ValueError(msg)
    return events
