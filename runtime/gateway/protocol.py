"""MCP, as the official SDK speaks it; the only module that knows the SDK.

The SDK decides what a request means and what a result looks like, through its
public entry for transports of one's own, `serve_one`. Calls of tools pass the
SDK's validation and are then run by us: its own error paths would send and log
what a handler raised.
"""

from __future__ import annotations

import contextvars
import logging
from collections import Counter
from collections.abc import Iterator, KeysView, Mapping
from typing import Any, Final, NamedTuple, cast

import anyio
from mcp import MCPError
from mcp.server.connection import Connection
from mcp.server.context import ServerRequestContext
from mcp.server.lowlevel import Server
from mcp.server.runner import serve_one
from mcp.shared.exceptions import NoBackChannelError
from mcp.shared.inbound import (
    ERROR_CODE_HTTP_STATUS,
    MCP_PARAM_HEADER_PREFIX,
    MCP_PROTOCOL_VERSION_HEADER,
    InboundLadderRejection,
    classify_inbound_request,
    find_duplicated_routing_header,
    unsupported_protocol_version_rejection,
    validate_mcp_param_headers,
    x_mcp_header_map,
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
    PROTOCOL_VERSION_META_KEY,
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

from .. import json_text
from ..tools.call import CallOutcome, call
from ..tools.context import Context, Progress
from ..tools.tool import Tool, plan_of
from . import http
from .loops import LoopPool
from .registration import Registration

__all__ = ["Protocol", "Request", "ToolCall"]

_log = logging.getLogger("toolcrib.gateway")

Json = dict[str, Any]

_SERVER_NAME: Final = "toolcrib"
_SERVER_VERSION: Final = "1"
_KEPT: Final = frozenset({"ping", "server/discover", "tools/list"})
# Anything else in a call may be large, and slow to judge.
_PLAIN: Final = frozenset({"_meta", "arguments", "name"})
_TRANSPORT: Final = TransportContext(kind="streamable-http", can_send_request=False)


class _Refused(Exception):
    """Raised when a message can't be served; carries its answer."""

    def __init__(self, answer: http.Answer) -> None:
        super().__init__(answer.status)
        self.answer = answer


class Request(NamedTuple):
    """A valid JSON-RPC request, with what its era says of the client."""

    id: RequestId
    """Its id, which the answer repeats."""
    method: str
    """Its method."""
    params: Json | None
    """Its parameters."""
    version: str
    """The revision that it is written in."""
    head: http.Head
    """The head that it came with."""
    client_info: Any = None
    """What the client says that it is; of 2026-07-28 only."""
    client_capabilities: Any = None
    """What the client says that it can; of 2026-07-28 only."""

    @property
    def modern(self) -> bool:
        """Whether it is of the era without handshakes."""
        return self.version in MODERN_PROTOCOL_VERSIONS


class ToolCall(NamedTuple):
    """A call that is ready to run."""

    tool: Tool
    """The tool."""
    arguments: Json
    """Its arguments: JSON, but not yet validated."""
    progress_token: str | int | None
    """What reports of progress go by; ``None`` where nobody asked for any."""
    id: RequestId
    """The request's id, which the answer repeats."""
    tail: str
    """What its era has at the end of a result."""

    def run(self, context: Context, *, within: contextvars.Context, limit: int) -> http.Answer:
        """Run the tool and return the answer that carries its outcome.

        Args:
            context: What its handler may ask for.
            within: The context variables that the handler sees.
            limit: The longest answer, in bytes.
        """
        return self._answer(
            call(self.tool, self.arguments, context, within=within, output_limit=limit)
        )

    def _answer(self, outcome: CallOutcome) -> http.Answer:
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
        return self._result(json_text.write({"code": code, "message": message}), "", is_error=True)

    def progress(self, report: Progress) -> bytes:
        """Return the notification that carries a report."""
        params: Json = {"progressToken": self.progress_token, "progress": report.done}
        if report.total is not None:
            params["total"] = report.total
        if report.message is not None:
            params["message"] = report.message
        message = {"jsonrpc": "2.0", "method": "notifications/progress", "params": params}
        return json_text.write(message).encode()

    def _result(self, text: str, structured: str, *, is_error: bool) -> http.Answer:
        body = (
            f'{{"jsonrpc":"2.0","id":{_id_text(self.id)},"result":'
            f'{{"content":[{{"type":"text","text":{json_text.quoted(text)}}}]{structured}'
            f',"isError":{"true" if is_error else "false"}{self.tail}}}}}'
        )
        return http.Answer(200, json_text.encoded(body))


class Protocol:
    """Reads messages and answers them. Safe to use from many threads at once."""

    def __init__(self) -> None:
        self._server = Server(_SERVER_NAME, version=_SERVER_VERSION, on_list_tools=_list_tools)
        # By default it times every call with OpenTelemetry.
        self._server.middleware.clear()
        self._loops = LoopPool()
        stamp = json_text.write({SERVER_INFO_META_KEY: self._server.server_info_stamp})
        self._modern_tail = f',"resultType":"complete","_meta":{stamp}'

    def read(self, head: http.Head, body: bytes) -> http.Answer | Request:
        """Return the request that a message is, or the answer to anything else."""
        try:
            return _parse(head, body) or http.Answer(202)
        except _Refused as refused:
            return refused.answer

    def at_once(
        self, request: Request, registration: Registration
    ) -> http.Answer | ToolCall | None:
        """Do the same as `serve` where that takes microseconds; ``None`` elsewhere.

        So the front thread may ask.
        """
        plain_call = request.method == "tools/call" and not _keys(request) - _PLAIN
        if plain_call or _key(request) in registration.answers:
            return self.serve(request, registration)
        return None

    def serve(self, request: Request, registration: Registration) -> http.Answer | ToolCall:
        """Answer a request, or return the call of a tool that it asks for.

        Blocks while the SDK works; for a worker thread.
        """
        try:
            if request.method == "tools/call":
                return self._tool_call(request, registration)
            return _success(request.id, self._result(request, registration))
        except _Refused as refused:
            return refused.answer
        except MCPError as error:
            return _failure(request, error.code, error.message, error.data)
        except ValidationError:
            # Pydantic's text would repeat what the client sent.
            return _failure(request, INVALID_PARAMS, "Invalid request parameters")
        except Exception:
            _log.exception("The protocol failed to answer %s.", request.method[:64])
            return _failure(request, INTERNAL_ERROR, "Internal server error")

    def close(self) -> None:
        """Release the event loops; a loop in use closes when it comes back."""
        self._loops.close()

    def _tool_call(self, request: Request, registration: Registration) -> ToolCall:
        methods.validate_client_request(request.method, request.version, request.params)
        # What this revision does not know has to fit the others all the same.
        CallToolRequestParams.model_validate(request.params, by_name=False)
        params = request.params or {}
        tool = registration.catalog.tools.get(params["name"])
        if tool is None:
            raise MCPError(code=INVALID_PARAMS, message="Unknown tool")
        arguments = params.get("arguments") or {}
        tail = ""
        if request.modern:
            _check_mirrored(request, tool, arguments, registration)
            tail = self._modern_tail
        token = (params.get("_meta") or {}).get("progressToken")
        return ToolCall(tool, arguments, token, request.id, tail)

    def _result(self, request: Request, registration: Registration) -> bytes:
        """Return the result's JSON; a catalog never changes, so it may be kept."""
        key = _key(request)
        if key is None:
            return self._ask(request, registration)
        known = registration.answers.get(key)
        if known is None:
            known = registration.answers[key] = self._ask(request, registration)
        else:
            methods.validate_client_request(request.method, request.version, request.params)
        return known

    def _ask(self, request: Request, registration: Registration) -> bytes:
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
        return json_text.write(self._loops.run(exchange)).encode()


def _keys(request: Request) -> KeysView[str]:
    return (request.params or {}).keys()


def _key(request: Request) -> tuple[str, str] | None:
    """Return what an answer is kept under; ``None`` for one that is not."""
    plain = not _keys(request) - {"_meta"}
    return (request.method, request.version) if plain and request.method in _KEPT else None


def _check_mirrored(
    request: Request, tool: Tool, arguments: Json, registration: Registration
) -> None:
    """Compare the header fields that repeat arguments with the arguments."""
    names = registration.mirrored.get(tool.name)
    if names is None:
        tokens = x_mcp_header_map(tool.input_schema).values()
        names = frozenset(f"{MCP_PARAM_HEADER_PREFIX}{token}".lower() for token in tokens)
        registration.mirrored[tool.name] = names
    if not names:
        return
    rejection = validate_mcp_param_headers(tool.input_schema, arguments, dict(_fields(request)))
    if rejection:
        raise _rejected(rejection, request.id)
    for name, count in Counter(name for name, _ in _fields(request)).items():
        if count > 1 and name in names:
            raise _refused(HEADER_MISMATCH, f"{name} header sent twice", request.id)


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


# From bytes to a request.


def _parse(head: http.Head, body: bytes) -> Request | None:
    """Return the request, or ``None`` for a notification."""
    message = _load(body)
    method, params = message.get("method"), message.get("params")
    valid = message.get("jsonrpc") == "2.0" and isinstance(method, str)
    if not valid or not (params is None or isinstance(params, dict)):
        raise _refused(INVALID_REQUEST, "Invalid Request")
    if head.repeats and (duplicated := find_duplicated_routing_header(head.fields)):
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
    # A client without handshakes is told the revisions of its own kind, by `_classify`.
    if unsupported and not _is_enveloped(params):
        raise _rejected(unsupported, request_id)
    request = Request(request_id, cast("str", method), params, version, head)
    if version in HANDSHAKE_PROTOCOL_VERSIONS:
        return request
    return _classify(request, message)


def _fields(request: Request) -> Iterator[tuple[str, str]]:
    """Return the header fields that are not the token's."""
    return (each for each in request.head.fields if each[0] != "authorization")


def _is_enveloped(params: Json | None) -> bool:
    meta = (params or {}).get("_meta")
    return isinstance(meta, dict) and PROTOCOL_VERSION_META_KEY in meta


def _classify(request: Request, message: Json) -> Request:
    try:
        route = classify_inbound_request(message, headers=dict(_fields(request)))
    except ValueError:  # the SDK's, of a field in Base64 that is none
        raise _refused(HEADER_MISMATCH, "A routing header is malformed", request.id) from None
    if isinstance(route, InboundLadderRejection):
        raise _rejected(route, request.id)
    return Request(
        request.id,
        request.method,
        request.params,
        version=route.protocol_version,
        head=request.head,
        client_info=route.client_info,
        client_capabilities=route.client_capabilities,
    )


def _load(body: bytes) -> Json:
    try:
        message = json_text.read(body)
    except ValueError:
        raise _refused(PARSE_ERROR, "Parse error") from None
    if not isinstance(message, dict):
        raise _refused(INVALID_REQUEST, "Invalid Request")
    return cast("Json", message)


# From results to bytes.


def _id_text(request_id: RequestId) -> str:
    return str(request_id) if type(request_id) is int else json_text.write(request_id)


def _success(request_id: RequestId, result: bytes) -> http.Answer:
    id_text = _id_text(request_id).encode()
    return http.Answer(200, b'{"jsonrpc":"2.0","id":%b,"result":%b}' % (id_text, result))


def _error(
    request_id: RequestId | None, status: int, code: int, message: str, data: Any
) -> http.Answer:
    error: Json = {"code": code, "message": message}
    if data is not None:
        error["data"] = data
    body = json_text.write({"jsonrpc": "2.0", "id": request_id, "error": error})
    return http.Answer(status, body.encode())


def _failure(request: Request, code: int, message: str, data: Any = None) -> http.Answer:
    # The handshake revisions say by 200 that JSON-RPC has the error.
    status = ERROR_CODE_HTTP_STATUS.get(code, 200) if request.modern else 200
    return _error(request.id, status, code, message, data)


def _refused(code: int, message: str, request_id: RequestId | None = None) -> _Refused:
    return _Refused(_error(request_id, 400, code, message, None))


def _rejected(rejection: InboundLadderRejection, request_id: RequestId | None) -> _Refused:
    status = ERROR_CODE_HTTP_STATUS.get(rejection.code, 200)
    return _Refused(_error(request_id, status, rejection.code, rejection.message, rejection.data))
