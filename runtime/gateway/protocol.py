"""MCP, as the official SDK speaks it; the only module that knows the SDK.

The SDK decides what a request means and what a result looks like, through its
public entry for transports of one's own, `serve_one`. Calls of tools pass the
SDK's validation and are then run by us: its own error paths would send and log
what a handler raised.
"""

from __future__ import annotations

import asyncio
import json
import logging
import math
from collections import deque
from collections.abc import Coroutine, Mapping
from dataclasses import dataclass
from typing import Any, Final, TypeVar, cast

import anyio
import pydantic_core
from mcp import MCPError
from mcp.server.connection import Connection
from mcp.server.context import ServerRequestContext
from mcp.server.lowlevel import Server
from mcp.server.runner import serve_one
from mcp.shared.exceptions import NoBackChannelError
from mcp.shared.inbound import (
    ERROR_CODE_HTTP_STATUS,
    MCP_PROTOCOL_VERSION_HEADER,
    InboundLadderRejection,
    classify_inbound_request,
    find_duplicated_routing_header,
    unsupported_protocol_version_rejection,
)
from mcp.shared.message import ServerMessageMetadata
from mcp.shared.transport_context import TransportContext
from mcp_types import (
    DEFAULT_NEGOTIATED_VERSION,
    HEADER_MISMATCH,
    INTERNAL_ERROR,
    INVALID_PARAMS,
    INVALID_REQUEST,
    PARSE_ERROR,
    SERVER_INFO_META_KEY,
    CallToolRequestParams,
    ListToolsResult,
    PaginatedRequestParams,
    RequestId,
    methods,
)
from mcp_types.version import (
    HANDSHAKE_PROTOCOL_VERSIONS,
    KNOWN_PROTOCOL_VERSIONS,
    MODERN_PROTOCOL_VERSIONS,
)
from pydantic import ValidationError

from ..tools.call import CallOutcome
from ..tools.tool import Tool, plan_of
from . import http
from .registration import Registration

__all__ = ["Protocol", "ToolCall"]

_log = logging.getLogger("toolcrib.gateway")

Json = dict[str, Any]
Value = TypeVar("Value")

_SERVER_NAME: Final = "toolcrib"
_SERVER_VERSION: Final = "1"
_CACHED_METHODS: Final = frozenset({"ping", "server/discover", "tools/list"})
_ENCODE: Final = json.JSONEncoder(
    ensure_ascii=False, allow_nan=False, separators=(",", ":")
).encode
_TRANSPORT: Final = TransportContext(kind="streamable-http", can_send_request=False)


class _Refused(Exception):
    """Raised when a message can't be served; carries its answer."""

    def __init__(self, answer: http.Answer) -> None:
        super().__init__(answer.status)
        self.answer = answer


@dataclass(frozen=True, slots=True)
class _Request:
    """A valid JSON-RPC request, with what its era says of the client."""

    id: RequestId
    method: str
    params: Json | None
    version: str
    client_info: Any = None
    client_capabilities: Any = None

    @property
    def modern(self) -> bool:
        return self.version in MODERN_PROTOCOL_VERSIONS


@dataclass(frozen=True, slots=True)
class ToolCall:
    """A call that is ready to run."""

    tool: Tool
    """The tool."""
    arguments: Json
    """Its arguments: JSON, but not yet validated."""
    _id: RequestId
    _tail: str

    def answer(self, outcome: CallOutcome) -> http.Answer:
        """Return the answer that carries an outcome.

        Its text is canonical JSON already. It goes out as it is, in the
        structured content too, so that numbers of any size stay exact.
        """
        structured = ""
        if outcome.ok and outcome.structured is not None:
            wrapped = plan_of(self.tool).wrapped
            value = f'{{"result":{outcome.text}}}' if wrapped else outcome.text
            structured = f',"structuredContent":{value}'
        return self._result(outcome.text, structured, is_error=not outcome.ok)

    def failed(self, code: str, message: str) -> http.Answer:
        """Return the answer of a call that has no outcome."""
        return self._result(_ENCODE({"code": code, "message": message}), "", is_error=True)

    def _result(self, text: str, structured: str, *, is_error: bool) -> http.Answer:
        body = (
            f'{{"jsonrpc":"2.0","id":{_ENCODE(self._id)},"result":'
            f'{{"content":[{{"type":"text","text":{_ENCODE(text)}}}]{structured}'
            f',"isError":{"true" if is_error else "false"}{self._tail}}}}}'
        )
        return http.Answer(200, body.encode())


class Protocol:
    """Reads messages and answers them. Safe to use from many threads at once."""

    def __init__(self) -> None:
        self._server = Server(_SERVER_NAME, version=_SERVER_VERSION, on_list_tools=_list_tools)
        # By default it times every call with OpenTelemetry.
        self._server.middleware.clear()
        self._loops = _LoopPool()
        stamp = _ENCODE({SERVER_INFO_META_KEY: self._server.server_info_stamp})
        self._modern_tail = f',"resultType":"complete","_meta":{stamp}'

    def read(
        self, head: http.Head, body: bytes, registration: Registration
    ) -> http.Answer | ToolCall:
        """Answer a message, or return the call of a tool that it asks for.

        Blocks while the SDK works; runs on a worker thread.
        """
        try:
            request = _parse(head, body)
            if request is None:
                return http.Answer(202)
            return self._serve(request, registration)
        except _Refused as refused:
            return refused.answer

    def close(self) -> None:
        """Release the event loops; a loop in use closes when it comes back."""
        self._loops.close()

    def _serve(self, request: _Request, registration: Registration) -> http.Answer | ToolCall:
        try:
            if request.method == "tools/call":
                return self._tool_call(request, registration)
            return _success(request.id, self._result(request, registration))
        except MCPError as error:
            return _failure(request, error.code, error.message, error.data)
        except ValidationError:
            # Pydantic's text would repeat what the client sent.
            return _failure(request, INVALID_PARAMS, "Invalid request parameters")
        except Exception:
            _log.exception("The protocol failed to answer %s.", request.method[:64])
            return _failure(request, INTERNAL_ERROR, "Internal server error")

    def _tool_call(self, request: _Request, registration: Registration) -> ToolCall:
        methods.validate_client_request(request.method, request.version, request.params)
        params = CallToolRequestParams.model_validate(request.params, by_name=False)
        tool = registration.catalog.tools.get(params.name)
        if tool is None:
            raise MCPError(code=INVALID_PARAMS, message="Unknown tool")
        tail = self._modern_tail if request.modern else ""
        return ToolCall(tool, params.arguments or {}, request.id, tail)

    def _result(self, request: _Request, registration: Registration) -> str:
        """Return the result's JSON; a catalog never changes, so it may be kept."""
        plain = not (request.params or {}).keys() - {"_meta"}
        if request.method not in _CACHED_METHODS or not plain:
            return self._ask(request, registration)
        key = (request.method, request.version)
        known = registration.answers.get(key)
        if known is None:
            known = registration.answers[key] = self._ask(request, registration)
        else:
            methods.validate_client_request(request.method, request.version, request.params)
        return known

    def _ask(self, request: _Request, registration: Registration) -> str:
        connection = Connection.from_envelope(
            request.version, request.client_info, request.client_capabilities
        )
        exchange = serve_one(
            self._server,
            _Dispatch(request.id, registration),
            request.method,
            request.params,
            connection=connection,
            lifespan_state=None,
        )
        return _ENCODE(self._loops.run(exchange))


async def _list_tools(
    context: ServerRequestContext[Any, Any], _: PaginatedRequestParams | None
) -> ListToolsResult:
    registration = cast("Registration", context.request)
    listing = [*registration.catalog.listing()]
    # A plain dict keeps the schemas as they are; the SDK checks and sieves it.
    result = {"tools": listing, "resultType": "complete", "ttlMs": 0, "cacheScope": "private"}
    return cast("ListToolsResult", result)


class _Dispatch:
    """The SDK's view of one exchange that can only be answered."""

    can_send_request = False
    transport = _TRANSPORT

    def __init__(self, request_id: RequestId, registration: Registration) -> None:
        self.request_id: RequestId | None = request_id
        self.message_metadata = ServerMessageMetadata(request_context=registration)
        self.cancel_requested = anyio.Event()

    async def send_raw_request(
        self, method: str, params: Mapping[str, Any] | None, opts: Any = None
    ) -> Json:
        raise NoBackChannelError(method)

    async def notify(
        self, method: str, params: Mapping[str, Any] | None, opts: Any = None
    ) -> None:
        """Drop it: a JSON answer has no room for notifications."""

    async def progress(
        self, progress: float, total: float | None = None, message: str | None = None
    ) -> None:
        """Drop it, as `notify` does."""


class _LoopPool:
    """Private event loops for threads that need one for a moment.

    Waking a shared loop from another thread would cost more than the exchange.
    """

    def __init__(self) -> None:
        self._idle: deque[asyncio.AbstractEventLoop] = deque()
        self._closed = False

    def run(self, coroutine: Coroutine[Any, Any, Value]) -> Value:
        try:
            loop = self._idle.pop()
        except IndexError:
            loop = asyncio.new_event_loop()
        try:
            return loop.run_until_complete(coroutine)
        finally:
            self._idle.append(loop)
            if self._closed:
                self.close()

    def close(self) -> None:
        self._closed = True
        while self._idle:
            try:
                loop = self._idle.pop()
            except IndexError:
                return
            loop.close()


# From bytes to a request.


def _parse(head: http.Head, body: bytes) -> _Request | None:
    """Return the request, or ``None`` for a notification."""
    message = _load(body)
    method, params = message.get("method"), message.get("params")
    valid = message.get("jsonrpc") == "2.0" and isinstance(method, str)
    if not valid or not (params is None or isinstance(params, dict)):
        raise _refused(INVALID_REQUEST, "Invalid Request")
    if duplicated := find_duplicated_routing_header(head.fields):
        raise _refused(HEADER_MISMATCH, f"{duplicated} header sent twice")
    version = head.get(MCP_PROTOCOL_VERSION_HEADER) or DEFAULT_NEGOTIATED_VERSION
    unsupported = unsupported_protocol_version_rejection(version, KNOWN_PROTOCOL_VERSIONS)
    if "id" not in message:
        if unsupported:
            raise _rejected(unsupported, None)
        return None
    request_id = message["id"]
    if isinstance(request_id, bool) or not isinstance(request_id, (int, str)):
        raise _refused(INVALID_REQUEST, "Invalid Request")
    if unsupported:
        raise _rejected(unsupported, request_id)
    request = _Request(request_id, cast("str", method), params, version)
    if version in HANDSHAKE_PROTOCOL_VERSIONS:
        return request
    return _classify(request, message, head)


def _classify(request: _Request, message: Json, head: http.Head) -> _Request:
    route = classify_inbound_request(message, headers=dict(head.fields))
    if isinstance(route, InboundLadderRejection):
        raise _rejected(route, request.id)
    return _Request(
        request.id,
        request.method,
        request.params,
        route.protocol_version,
        route.client_info,
        route.client_capabilities,
    )


def _load(body: bytes) -> Json:
    try:
        # Refuses other encodings, lone surrogates and deep nesting, which the
        # standard library takes; but takes a key twice, which that refuses.
        pydantic_core.from_json(body, allow_inf_nan=False)
        message = json.loads(
            body, object_pairs_hook=_unique, parse_float=_finite, parse_constant=_finite
        )
    except (ValueError, RecursionError):
        raise _refused(PARSE_ERROR, "Parse error") from None
    if not isinstance(message, dict):
        raise _refused(INVALID_REQUEST, "Invalid Request")
    return cast("Json", message)


def _unique(pairs: list[tuple[str, Any]]) -> Json:
    value = dict(pairs)
    if len(value) != len(pairs):
        msg = "a key is there twice"
        raise ValueError(msg)
    return value


def _finite(text: str) -> float:
    number = float(text)
    if not math.isfinite(number):
        msg = "a number is out of range"
        raise ValueError(msg)
    return number


# From results to bytes.


def _success(request_id: RequestId, result: str) -> http.Answer:
    body = f'{{"jsonrpc":"2.0","id":{_ENCODE(request_id)},"result":{result}}}'
    return http.Answer(200, body.encode())


def _error(
    request_id: RequestId | None, status: int, code: int, message: str, data: Any
) -> http.Answer:
    error: Json = {"code": code, "message": message}
    if data is not None:
        error["data"] = data
    body = _ENCODE({"jsonrpc": "2.0", "id": request_id, "error": error})
    return http.Answer(status, body.encode())


def _failure(request: _Request, code: int, message: str, data: Any = None) -> http.Answer:
    # The handshake revisions say by 200 that JSON-RPC has the error.
    status = ERROR_CODE_HTTP_STATUS.get(code, 200) if request.modern else 200
    return _error(request.id, status, code, message, data)


def _refused(code: int, message: str) -> _Refused:
    return _Refused(_error(None, 400, code, message, None))


def _rejected(rejection: InboundLadderRejection, request_id: RequestId | None) -> _Refused:
    status = ERROR_CODE_HTTP_STATUS.get(rejection.code, 200)
    return _Refused(_error(request_id, status, rejection.code, rejection.message, rejection.data))
