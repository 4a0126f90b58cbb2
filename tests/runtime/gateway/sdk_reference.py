"""The SDK's two answers to a request: through `serve_one`, and as a whole application."""

from __future__ import annotations

import asyncio
import copy
import json
from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from types import SimpleNamespace
from typing import Any, cast

import anyio
import httpx2
from mcp import MCPError
from mcp.server.connection import Connection
from mcp.server.lowlevel import Server
from mcp.server.runner import serve_one
from mcp.server.transport_security import TransportSecuritySettings
from mcp.shared.inbound import (
    ERROR_CODE_HTTP_STATUS,
    InboundLadderRejection,
    classify_inbound_request,
    unsupported_protocol_version_rejection,
)
from mcp.shared.transport_context import TransportContext
from mcp_types import INVALID_PARAMS
from mcp_types.version import KNOWN_PROTOCOL_VERSIONS
from pydantic import ValidationError

from toolcrib.runtime.tools.call import call
from toolcrib.runtime.tools.catalog import Catalog
from toolcrib.runtime.tools.context import Context

from .conftest import MODERN

META = "io.modelcontextprotocol/"


@dataclass(frozen=True)
class Request:
    """One message with the version field that it travels under."""

    method: str
    params: Any = None
    version: str | None = None
    id: Any = 1
    fields: Mapping[str, str] = field(default_factory=dict)

    @property
    def message(self) -> dict[str, Any]:
        message: dict[str, Any] = {"jsonrpc": "2.0", "id": self.id, "method": self.method}
        return message if self.params is None else {**message, "params": self.params}

    @property
    def body(self) -> bytes:
        return json.dumps(self.message).encode()

    @property
    def headers(self) -> dict[str, str]:
        version = {} if self.version is None else {"mcp-protocol-version": self.version}
        # HTTP strips the blanks around a value.
        return {name: value.strip() for name, value in {**version, **self.fields}.items()}


@dataclass(frozen=True)
class Answer:
    """What came back."""

    status: int
    json: Any


def enveloped(request: Request) -> Request:
    """Return a request as a client of the modern revision sends it."""
    params = dict(request.params or {})
    meta = params["_meta"] if isinstance(params.get("_meta"), dict) else {}
    info = {"name": "test", "version": "1"}
    envelope = {"protocolVersion": MODERN, "clientCapabilities": {}, "clientInfo": info}
    params["_meta"] = meta | {META + key: value for key, value in envelope.items()}
    fields = {"mcp-method": request.method}
    if isinstance(params.get("name"), str):
        fields["mcp-name"] = params["name"]
    return Request(request.method, params, MODERN, request.id, fields)


def reference_server(catalog: Catalog) -> Server[Any]:
    async def list_tools(context: object, params: object) -> Any:
        listing = [*catalog.listing()]
        return {"tools": listing, "resultType": "complete", "ttlMs": 0, "cacheScope": "private"}

    async def call_tool(context: object, params: Any) -> Any:
        found = catalog.tools.get(params.name)
        if found is None:
            raise MCPError(code=INVALID_PARAMS, message="Unknown tool")
        # An async handler would wait for the loop that it runs in.
        outcome = await anyio.to_thread.run_sync(
            call, found, params.arguments or {}, Context(found.name)
        )
        result = {
            "content": [{"type": "text", "text": outcome.text}],
            "isError": not outcome.ok,
            "resultType": "complete",
        }
        return result | ({"structuredContent": outcome.structured} if outcome.ok else {})

    server: Server[Any] = Server(
        "toolcrib", version="1", on_list_tools=list_tools, on_call_tool=call_tool
    )
    server.middleware.clear()
    return server


def _is_enveloped(message: dict[str, Any]) -> bool:
    params = message.get("params")
    meta = params.get("_meta") if isinstance(params, dict) else None
    return isinstance(meta, dict) and "io.modelcontextprotocol/protocolVersion" in meta


class OneExchange:
    """`serve_one`, with the mapping to the wire that the specification asks for."""

    def __init__(self, catalog: Catalog) -> None:
        self._server = reference_server(catalog)
        self._loop = asyncio.new_event_loop()

    def close(self) -> None:
        self._loop.run_until_complete(self._loop.shutdown_default_executor())
        self._loop.close()

    def ask(self, request: Request) -> Answer:
        version = request.version or "2025-03-26"
        wrong = unsupported_protocol_version_rejection(version, KNOWN_PROTOCOL_VERSIONS)
        if wrong and not _is_enveloped(request.message):
            return self._error(request, wrong, modern=True)
        connection = Connection.from_envelope(version, None, None)
        if wrong or version == MODERN:
            route = classify_inbound_request(request.message, headers=request.headers)
            if isinstance(route, InboundLadderRejection):
                return self._error(request, route, modern=True)
            connection = Connection.from_envelope(
                route.protocol_version, route.client_info, route.client_capabilities
            )
        try:
            result = self._loop.run_until_complete(self._serve(request, connection))
        except MCPError as error:
            return self._error(request, error, modern=version == MODERN)
        except ValidationError:
            unsaid = SimpleNamespace(
                code=INVALID_PARAMS, message="Invalid request parameters", data=None
            )
            return self._error(request, unsaid, modern=version == MODERN)
        # Through JSON once, as the wire would.
        answer = {"jsonrpc": "2.0", "id": request.id, "result": result}
        return Answer(200, json.loads(json.dumps(answer)))

    async def _serve(self, request: Request, connection: Connection) -> dict[str, Any]:
        dispatch = SimpleNamespace(
            can_send_request=False,
            transport=TransportContext(kind="streamable-http", can_send_request=False),
            request_id=request.id,
            message_metadata=None,
            cancel_requested=anyio.Event(),
        )
        return await serve_one(
            self._server,
            cast("Any", dispatch),
            request.method,
            copy.deepcopy(request.params),
            connection=connection,
            lifespan_state=None,
        )

    def _error(self, request: Request, error: Any, *, modern: bool) -> Answer:
        status = ERROR_CODE_HTTP_STATUS.get(error.code, 200) if modern else 200
        told = {"code": error.code, "message": error.message}
        told |= {} if error.data is None else {"data": error.data}
        return Answer(status, {"jsonrpc": "2.0", "id": request.id, "error": told})


@asynccontextmanager
async def application(catalog: Catalog) -> AsyncIterator[httpx2.AsyncClient]:
    """The SDK's HTTP application, and a client that speaks with it in this process."""
    security = TransportSecuritySettings(enable_dns_rebinding_protection=False)
    app = reference_server(catalog).streamable_http_app(
        stateless_http=True, json_response=True, transport_security=security
    )
    transport = httpx2.ASGITransport(app=app, raise_app_exceptions=False)
    async with (
        app.router.lifespan_context(app),
        httpx2.AsyncClient(transport=transport, base_url="http://127.0.0.1") as client,
    ):
        yield client


async def ask_application(
    catalog: Catalog, asked: Sequence[tuple[Request, bytes]]
) -> list[Answer]:
    common = {
        "accept": "application/json, text/event-stream",
        "content-type": "application/json",
    }
    answers = []
    async with application(catalog) as client:
        for request, body in asked:
            reply = await client.post("/mcp", content=body, headers=common | request.headers)
            answers.append(Answer(int(reply.status_code), reply.json() if reply.content else None))
    return answers
