"""The handles: Agent, Thread and Stream turn method calls into messages."""

from __future__ import annotations

import contextvars
import os
import secrets
import threading
import warnings
import weakref
from collections.abc import Iterable
from pathlib import Path
from types import MappingProxyType, TracebackType
from typing import TYPE_CHECKING, Self

from .errors import AgentClosedError, AskTimeout, CloseTimeout, RunError, ToolcribError
from .messages.agent import (
    CancelRun,
    CloseAgent,
    CloseTimedOut,
    RunAdmitted,
    RunRefused,
    StartRun,
)
from .messages.base import Address, Message
from .messages.events import Event
from .messages.results import Result, RunReason
from .runtime.drivers.interface import Driver
from .runtime.gateway.tokens import new_variable
from .runtime.spec import AgentSpec
from .runtime.streams import EventStream
from .runtime.threads.interface import ThreadStore
from .runtime.threads.memory import MemoryStore
from .runtime.tools.catalog import Catalog
from .runtime.tools.tool import Tool

if TYPE_CHECKING:
    from .actors.base import Ref
    from .actors.inbox import Inbox
    from .actors.system import System

__all__ = ["Agent", "Stream", "Thread"]

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
        self._timeout = timeout
        self._event_buffer = event_buffer
        self._environment = dict(os.environ)
        self._context = contextvars.copy_context()
        self._variable = new_variable()
        self._system = system
        self._lock = threading.Lock()
        self._address: Ref | None = None
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
        return await _arun(self.stream(prompt, workspace=workspace, timeout=timeout))

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
        """
        address = self._begin_close()
        if address is None:
            return
        inbox = self._inbox()
        try:
            answer = inbox.ask(address, CloseAgent(timeout, inbox), timeout + _CLOSE_SLACK)
        except AskTimeout:
            raise
        except ToolcribError:
            answer = None  # the actor has stopped, which it does only when closed
        self._end_close(answer)

    async def aclose(self, timeout: float = _CLOSE_TIMEOUT) -> None:
        """Do as `close`, without blocking the running event loop."""
        address = self._begin_close()
        if address is None:
            return
        inbox = self._inbox()
        try:
            answer = await inbox.aask(address, CloseAgent(timeout, inbox), timeout + _CLOSE_SLACK)
        except AskTimeout:
            raise
        except ToolcribError:
            answer = None
        self._end_close(answer)

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
        if callable(warn):
            warn(f"{self!r} was never closed", ResourceWarning, source=self)
        system = self._system
        if system is not None and system.healthy:
            request = CloseAgent(_CLOSE_TIMEOUT, self._inbox())
            system.finalizers.later(lambda: address.deliver(request, "host"))

    def _stream(
        self,
        prompt: str,
        thread_key: str | None,
        workspace: StrPath | None,
        timeout: float | None,
    ) -> Stream:
        address = self._start()
        run_id = f"run_{secrets.token_hex(8)}"
        events = EventStream(run_id, thread_key, self._event_buffer)
        inbox = self._inbox()
        request = StartRun(
            run_id=run_id,
            prompt=prompt,
            workspace=Path(workspace).absolute() if workspace is not None else self._workspace,
            timeout=timeout if timeout is not None else self._timeout,
            thread_key=thread_key,
            sink=events,
            reply_to=inbox,
        )
        match inbox.ask(address, request, _ASK_TIMEOUT):
            case RunAdmitted():
                return Stream(self, address, run_id, events)
            case RunRefused(_, error):
                raise error
            case answer:
                msg = f"{address.name} answered {type(answer).__name__} to StartRun."
                raise ToolcribError(msg)

    def _start(self) -> Ref:
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

    def _begin_close(self) -> Ref | None:
        with self._lock:
            if self._address is None:
                self._closed = True
            return None if self._closed else self._address

    def _end_close(self, answer: Message | None) -> None:
        if isinstance(answer, CloseTimedOut):
            raise CloseTimeout(answer.phase, answer.remaining, answer.timeout)
        self._closed = True


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
        return await _arun(self.stream(prompt, workspace=workspace, timeout=timeout))

    def stream(
        self, prompt: str, *, workspace: StrPath | None = None, timeout: float | None = None
    ) -> Stream:
        """Start one turn and return its events; see `Agent.stream`."""
        return self._agent._stream(prompt, self._key, workspace, timeout)

    def __repr__(self) -> str:
        return f"<Thread {self._key!r} of {self._agent!r}>"


class Stream:
    """The events of one run and its result; for one consumer.

    Iterate it with ``for`` or ``async for``. As a context manager, in either
    world, it cancels the run at the end if it still goes on. Dropping it
    cancels the run too.
    """

    def __init__(self, agent: Agent, address: Address, run_id: str, events: EventStream) -> None:
        self._agent = agent  # keeps the Agent from being dropped before its stream
        self._address = address
        self._run_id = run_id
        self._events = events
        system = agent._system
        assert system is not None
        self._finalizer = weakref.finalize(self, _abandon, system, address, run_id, events)
        self._finalizer.atexit = False

    @property
    def run_id(self) -> str:
        """The run's id."""
        return self._run_id

    def __iter__(self) -> Stream:
        return self

    def __next__(self) -> Event:
        event = self._events.get()
        if event is None:
            raise StopIteration
        return event

    def __aiter__(self) -> Stream:
        return self

    async def __anext__(self) -> Event:
        event = await self._events.aget()
        if event is None:
            raise StopAsyncIteration
        return event

    def result(self, timeout: float | None = None) -> Result:
        """Wait for the run's end, whether events were read or not.

        Args:
            timeout: How long to wait, in seconds; ``None`` waits for the end.

        Raises:
            RunError: The run failed; and what `Agent.run` raises.
            AskTimeout: The time is up; the run goes on.
        """
        return self._events.wait_result(timeout)

    async def aresult(self) -> Result:
        """Do as `result`, without blocking the running event loop."""
        return await self._events.await_result()

    def cancel(self) -> None:
        """Ask the run to end; returns at once. `result` then raises `RunError`."""
        why = "the run was cancelled by the application"
        cancel = CancelRun(self._run_id, RunReason.CANCELLED, why)
        self._address.deliver(cancel, "host")

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        self.cancel()
        try:
            self.result(_CLOSE_TIMEOUT)
        except (RunError, ToolcribError):
            return  # whoever wants it asks for the result inside the block

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        self.cancel()
        try:
            await self.aresult()
        except (RunError, ToolcribError):
            return


def _run(stream: Stream) -> Result:
    stream._events.discard()
    try:
        return stream.result()
    except BaseException:
        stream.cancel()  # Ctrl-C must not leave the run behind
        raise


async def _arun(stream: Stream) -> Result:
    stream._events.discard()
    try:
        return await stream.aresult()
    except BaseException:
        stream.cancel()
        raise


def _abandon(system: System, address: Address, run_id: str, events: EventStream) -> None:
    if events.finished:
        return
    why = "its stream was dropped by the application"
    cancel = CancelRun(run_id, RunReason.CANCELLED, why)
    system.finalizers.later(events.discard)
    system.finalizers.later(lambda: address.deliver(cancel, "host"))
