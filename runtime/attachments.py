"""A run's services: attached in order, told of every event, detached in reverse.

What calls a service blocks, and runs on worker threads.
"""

from __future__ import annotations

import itertools
import logging
import threading
from collections import deque
from collections.abc import Callable, Collection, Iterable, Mapping
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime

from ..errors import ConfigurationError, ServerConflictError
from ..messages.events import Event
from ..messages.resources import McpServer
from ..messages.secret import Secret
from ..messages.services import Attachment, RunInfo, RunService
from .drivers.environment import check_variables
from .processes.session import MARKER
from .resources import checked_servers
from .workers import Workers

__all__ = ["Attached", "Observers", "attach"]

_log = logging.getLogger("toolcrib.services")
_SHORTEST_SECRET = 8
_DRAIN = 5.0
_RESERVED = ("TOOLCRIB_HOST", MARKER)


@dataclass(frozen=True, slots=True)
class Attached:
    """What the services of a run brought; to be detached in any case."""

    info: RunInfo
    """The run that they are attached to."""
    services: tuple[RunService, ...] = ()
    """The services, in the order in which they were attached."""
    environment: Mapping[str, str] = field(default_factory=dict, repr=False)
    """Their variables, together."""
    mcp: tuple[McpServer, ...] = ()
    """The run's MCP servers and theirs, together."""
    observers: tuple[Callable[[Event], None], ...] = ()
    """What wants to be told of every event."""

    @property
    def secrets(self) -> tuple[Secret, ...]:
        """The values to mask in what the process prints."""
        # A short one would be found everywhere, and break the provider's records.
        values = self.environment.values()
        return tuple(Secret(value) for value in values if len(value) >= _SHORTEST_SECRET)

    def detach(self) -> tuple[Exception, ...]:
        """Let all services go, the last one first; return what they raised."""
        return _detach(self.services, self.info)


def attach(
    services: Iterable[RunService],
    info: RunInfo,
    mcp: tuple[McpServer, ...],
    *,
    reserved: Collection[str],
    server_key: str,
) -> Attached:
    """Attach services one after the other; where one fails, detach the earlier ones.

    Args:
        services: The services, in order.
        info: The run.
        mcp: The run's own MCP servers.
        reserved: Further variables that no service may set.
        server_key: The key of our own MCP server, which none may use.

    Raises:
        ConfigurationError: A service brought something that can't be.
        Exception: What a service raised.
    """
    attached = Attached(info, mcp=mcp)
    for service in services:
        try:
            attached = _join(attached, service, {*reserved, *_RESERVED}, server_key)
        except BaseException as error:
            for further in attached.detach():
                error.add_note(f"Also, as it was detached: {further!r}")
            raise
    return attached


def _join(
    attached: Attached, service: RunService, reserved: set[str], server_key: str
) -> Attached:
    name = type(service).__name__
    brought = service.attach(attached.info)
    try:
        if not isinstance(brought, Attachment):
            msg = f"{name}.attach returned a {type(brought).__name__}; return an Attachment."
            raise ConfigurationError(msg)  # noqa: TRY301
        environment, servers = dict(brought.environment), _checked_servers(name, brought.mcp)
        _check_variables(name, environment, reserved | attached.environment.keys())
        _check_keys(name, servers, {server_key, *(server.key for server in attached.mcp)})
    except BaseException:
        _detach((service,), attached.info)
        raise
    observe = (brought.observe,) if brought.observe is not None else ()
    return replace(
        attached,
        services=(*attached.services, service),
        environment={**attached.environment, **environment},
        mcp=(*attached.mcp, *servers),
        observers=(*attached.observers, *observe),
    )


def _check_variables(name: str, variables: Mapping[str, str], taken: set[str]) -> None:
    try:
        check_variables(variables)
    except ConfigurationError as error:
        msg = f"{name} brings a variable that can't be: {error}"
        raise ConfigurationError(msg) from error
    if ours := sorted(variables.keys() & taken):
        msg = f"{name} sets {', '.join(ours)}, which is taken; give it another name."
        raise ConfigurationError(msg)


def _checked_servers(name: str, given: Iterable[McpServer]) -> tuple[McpServer, ...]:
    try:
        return checked_servers(given)
    except (TypeError, ValueError, ServerConflictError) as error:
        conflict = isinstance(error, ServerConflictError)
        kind = ServerConflictError if conflict else ConfigurationError
        msg = f"{name} brings an MCP server that can't be: {error}"
        raise kind(msg) from error


def _check_keys(name: str, servers: tuple[McpServer, ...], taken: set[str]) -> None:
    lowered = {key.lower() for key in taken}  # as where two of one list are compared
    for server in servers:
        if server.key.lower() in lowered:
            msg = f"{name} brings an MCP server with the key {server.key!r}, which is taken."
            raise ServerConflictError(msg)


def _detach(services: tuple[RunService, ...], info: RunInfo) -> tuple[Exception, ...]:
    errors = []
    for service in reversed(services):
        try:
            service.detach(info)
        except BaseException as error:
            name = type(service).__name__
            _log.exception("%s.detach of run %s raised", name, info.run_id)
            errors.append(error if isinstance(error, Exception) else RuntimeError(repr(error)))
    return tuple(errors)


class Observers:
    """Tells observers of a run's events, each on a worker, in order. Thread-safe.

    Args:
        observers: What to call.
        info: The run, for the events.
        workers: Where to call it.
    """

    def __init__(
        self, observers: Iterable[Callable[[Event], None]], info: RunInfo, workers: Workers
    ) -> None:
        self._lines = tuple(_Line(observe, workers) for observe in observers)
        self._info = info
        self._numbers = itertools.count(1)

    def tell(self, event: Event) -> None:
        """Pass an event on; returns at once. Call it from one thread at a time."""
        if not self._lines:
            return
        stamped = replace(
            event,
            run_id=self._info.run_id,
            thread_key=self._info.thread_key,
            sequence=next(self._numbers),
            time=datetime.now(UTC),
        )
        for line in self._lines:
            line.add(stamped)

    def drain(self) -> None:
        """Wait until all was told, for five seconds at most for each observer."""
        for line in self._lines:
            if not line.drain(_DRAIN):
                _log.warning("an observer of run %s is behind; it is left so", self._info.run_id)


class _Line:
    """The events that wait for one observer."""

    def __init__(self, observe: Callable[[Event], None], workers: Workers) -> None:
        self._observe = observe
        self._workers = workers
        self._changed = threading.Condition()
        self._events: deque[Event] = deque()
        self._busy = False
        self._complained = False

    def add(self, event: Event) -> None:
        with self._changed:
            self._events.append(event)
            if self._busy:
                return
            self._busy = True
        self._workers.submit(self._work, lambda _: None, lambda _: None)

    def drain(self, timeout: float) -> bool:
        with self._changed:
            return self._changed.wait_for(lambda: not self._busy, timeout)

    def _work(self) -> None:
        while (event := self._next()) is not None:
            try:
                self._observe(event)
            except BaseException:
                if not self._complained:
                    self._complained = True
                    _log.exception("an observer of run %s raised; it goes on", event.run_id)

    def _next(self) -> Event | None:
        with self._changed:
            if self._events:
                return self._events.popleft()
            self._busy = False
            self._changed.notify_all()
            return None
