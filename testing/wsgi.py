"""Tools behind a WSGI server, or behind none: for tests with a WSGI test client."""

from __future__ import annotations

import contextvars
from collections.abc import Iterable

from ..runtime.gateway.limits import Limits
from ..runtime.gateway.registration import Registration
from ..runtime.gateway.tokens import digest
from ..runtime.gateway.wsgi import WsgiApp
from ..runtime.tools.catalog import Catalog
from ..runtime.tools.tool import Tool

__all__ = ["WsgiApp", "wsgi_app"]


def wsgi_app(
    tools: Iterable[Tool],
    token: str,
    *,
    authority: str = "localhost",
    limits: Limits | None = None,
) -> WsgiApp:
    """Return a WSGI application that lends tools over MCP, as an Agent's gateway does.

    For tests with ``werkzeug.test.Client`` or the like, and for hosts with a WSGI
    server. It makes the gateway's checks, in their order and with their statuses.

    Args:
        tools: The tools.
        token: The bearer token that opens them.
        authority: The one Host that is right, with its port unless that is 80.
        limits: What it accepts.

    Returns:
        The application. Its `WsgiApp.close` cancels what runs; handlers run on its
        threads, in copies of the context variables of this moment.

    Raises:
        DefinitionError: Two tools have one name.
    """
    registration = Registration("wsgi", Catalog(tools), contextvars.copy_context())
    return WsgiApp({digest(token): registration}, authority, limits)
