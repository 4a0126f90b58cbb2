"""The official MCP client, as a plain blocking connection.

The only module of the stand-in that imports the SDK.
"""

from __future__ import annotations

import logging
from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import ExitStack, asynccontextmanager
from typing import Any, TypeVar

import httpx2
from anyio.from_thread import start_blocking_portal
from mcp import MCPError
from mcp.client import Client
from mcp.client.streamable_http import streamable_http_client
from mcp_types import CallToolResult, Implementation, TextContent

from .servers import Server, Unavailable
from .telling import Answer

__all__ = ["Connection"]

# The SDK would log to standard error, which the host takes for the CLI's own.
logging.getLogger("mcp").addHandler(logging.NullHandler())

_INFO = Implementation(name="toolcrib-scripted-provider", version="1")
_MODES = {"2025-11-25": "legacy", "2026-07-28": "auto"}
_TIMEOUT = httpx2.Timeout(30, read=600)
_OAUTH_PATHS = (
    "/.well-known/oauth-protected-resource",
    "/.well-known/oauth-authorization-server",
    "/.well-known/openid-configuration",
)

_T = TypeVar("_T")


class Connection:
    """A connection to one server, used by one thread.

    Opening it does the handshake and lists the tools. The client's event loop
    runs in a thread of its own, so that streams stay open between calls as
    those of the real CLI do.

    Args:
        server: Where to connect.
        protocol: The MCP revision to speak.

    Raises:
        Unavailable: The server refuses, or does not answer.
    """

    def __init__(self, server: Server, protocol: str) -> None:
        self._server = server
        self._refusal: int | None = None
        self._stack = ExitStack()
        self._portal = self._stack.enter_context(start_blocking_portal())
        try:
            self._client = self._guarded(
                lambda: self._stack.enter_context(
                    self._portal.wrap_async_context_manager(self._connect(_MODES[protocol]))
                )
            )
            self._check(protocol)
            self.tools = self._guarded(lambda: self._portal.call(self._list))
        except Unavailable as error:
            if error.code == "unauthorized":
                self._portal.call(self._look_for_a_login)
            self._stack.close()
            raise

    def must_have(self, name: str) -> None:
        """Check that the server has listed this tool.

        Raises:
            Unavailable: It has not, so that a model could not call it either.
        """
        if name not in self.tools:
            msg = f"The MCP server {self._server.key} has no tool {name}."
            raise Unavailable(msg, code="unknown_tool")

    def call(self, name: str, arguments: Mapping[str, Any]) -> Answer:
        """Call a tool and wait for its answer.

        Raises:
            Unavailable: There was no answer, or an error of the protocol.
        """
        result = self._guarded(
            lambda: self._portal.call(self._client.call_tool, name, dict(arguments))
        )
        return _answer(result)

    def close(self) -> None:
        """Drop the connection, without a goodbye, as the real CLI does."""
        self._stack.close()

    @asynccontextmanager
    async def _connect(self, mode: str) -> AsyncIterator[Client]:
        hooks = {"response": [self._note_refusal]}
        headers = dict(self._server.headers)
        async with httpx2.AsyncClient(
            headers=headers, timeout=_TIMEOUT, event_hooks=hooks
        ) as http:
            transport = streamable_http_client(
                self._server.url, http_client=http, terminate_on_close=False
            )
            async with Client(transport, mode=mode, client_info=_INFO, cache=None) as client:
                yield client

    def _check(self, protocol: str) -> None:
        # The client falls back to the older handshake by itself; a script that
        # asks for the newer one means it.
        spoken = self._client.protocol_version
        if _MODES[protocol] == "auto" and spoken != protocol:
            msg = f"The MCP server {self._server.key} speaks {spoken} instead of {protocol}."
            raise Unavailable(msg, code="protocol_error")

    async def _note_refusal(self, response: httpx2.Response) -> None:
        # The SDK answers each of them with one and the same text. A refused
        # stream (GET) is no refusal: servers may have none.
        if response.status_code >= 400 and response.request.method == "POST":
            self._refusal = response.status_code

    async def _list(self) -> dict[str, dict[str, Any]]:
        tools: dict[str, dict[str, Any]] = {}
        cursor: str | None = None
        while True:
            page = await self._client.list_tools(cursor=cursor)
            for tool in page.tools:
                tools[tool.name] = tool.model_dump(mode="json", by_alias=True, exclude_none=True)
            cursor = page.next_cursor
            if cursor is None:
                return tools

    async def _look_for_a_login(self) -> None:
        # The real CLI answers a 401 like this; a server has to cope with it.
        headers = dict(self._server.headers)
        async with httpx2.AsyncClient(headers=headers, timeout=_TIMEOUT) as http:
            url = httpx2.URL(self._server.url)
            try:
                for path in _OAUTH_PATHS:
                    await http.get(url.join(path))
                await http.post(url.join("/register"), json={"client_name": "Cursor"})
            except httpx2.HTTPError:
                return

    def _guarded(self, act: Callable[[], _T]) -> _T:
        self._refusal = None
        try:
            return act()
        except Exception as error:
            raise self._explain(_first_leaf(error)) from error

    def _explain(self, error: BaseException) -> Unavailable:
        key = self._server.key
        if self._refusal == 401:
            return Unavailable(f"The MCP server {key} answered 401.", code="unauthorized")
        if self._refusal is not None:
            return Unavailable(f"The MCP server {key} answered {self._refusal}.", code="refused")
        if isinstance(error, MCPError):
            return Unavailable(f"The MCP server {key} answered: {error}", code="protocol_error")
        reason = f"{type(error).__name__} {error}".strip()
        return Unavailable(f"The MCP server {key} does not answer: {reason}", code="unreachable")


def _answer(result: CallToolResult) -> Answer:
    texts = tuple(
        block.text if isinstance(block, TextContent) else f"[{block.type}]"
        for block in result.content
    )
    return Answer(texts, result.structured_content, is_error=bool(result.is_error))


def _first_leaf(error: BaseException) -> BaseException:
    while isinstance(error, BaseExceptionGroup):
        error = error.exceptions[0]
    return error
