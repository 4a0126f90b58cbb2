"""A run's services: attached in order, detached in reverse.

What calls a service blocks, and runs on worker threads.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Collection, Iterable, Mapping
from dataclasses import dataclass, field, replace

from ..errors import ConfigurationError, ServerConflictError
from ..messages.events import Event
from ..messages.resources import McpServer
from ..messages.secret import Secret
from ..messages.services import Attachment, RunInfo, RunService
from .drivers.environment import check_variables
from .processes.session import MARKER
from .resources import checked_servers

__all__ = ["Attached", "attach"]

_log = logging.getLogger("toolcrib.services")
_SHORTEST_SECRET = 8
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
