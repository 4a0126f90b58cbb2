"""HTTP/1.1 as the gateway speaks it: heads in, answers out.

The grammar is llhttp's (through httptools), which refuses bare line feeds,
folded fields, control characters and ``Transfer-Encoding`` beside
``Content-Length``. What is stricter than llhttp is added here. The names of the
statuses are Werkzeug's.
"""

from __future__ import annotations

import json
from collections.abc import Iterable
from functools import cache, lru_cache
from typing import Final, NamedTuple
from wsgiref.types import StartResponse, WSGIEnvironment

import httptools

__all__ = [
    "CONTINUE",
    "Answer",
    "BadRequest",
    "Head",
    "accepts",
    "busy",
    "encode",
    "from_environ",
    "media_type",
    "parse_head",
    "refusal",
    "respond",
    "stream_head",
    "unauthorized",
]

CONTINUE: Final = b"HTTP/1.1 100 Continue\r\n\r\n"
"""What a client waits for that asked before it sends a body."""

_INVALID_REQUEST: Final = -32600
# Ten times what real clients send. Parsing kilobytes of choices would hold the front up.
_LONGEST_CHOICE: Final = 512


class BadRequest(Exception):
    """Raised when a head can't be served; ``status`` is the answer."""

    def __init__(self, status: int) -> None:
        super().__init__(status)
        self.status = status


class Head:
    """A request's head; read only.

    Args:
        method: The method, such as ``POST``.
        target: The target as sent; it begins with ``/``.
        fields: The header fields in order, their names in lower case, their
            values without surrounding blanks.
        keep_alive: Whether the client would send another request on this
            connection.
    """

    # Each request is asked for a dozen fields, so they are sorted once.
    __slots__ = ("_values", "fields", "keep_alive", "method", "repeats", "target")

    def __init__(
        self, method: str, target: str, fields: tuple[tuple[str, str], ...], *, keep_alive: bool
    ) -> None:
        self.method = method
        self.target = target
        self.fields = fields
        self.keep_alive = keep_alive
        # As a rule no name comes twice, and then this is all.
        self._values = dict(fields)
        self.repeats = len(self._values) < len(fields)
        """Whether a name comes more than once."""

    def all(self, name: str) -> list[str]:
        """Return the values of every field of this name."""
        if self.repeats:
            return [value for other, value in self.fields if other == name]
        value = self._values.get(name)
        return [] if value is None else [value]

    def sole(self, name: str) -> str | None:
        """Return the value of the only field of this name; ``None`` for none or several."""
        value = self._values.get(name)
        return None if self.repeats and len(self.all(name)) > 1 else value

    def get(self, name: str) -> str | None:
        """Return the value of the first field of this name."""
        if self.repeats:
            return next((value for other, value in self.fields if other == name), None)
        return self._values.get(name)


class Answer(NamedTuple):
    """A response; a body is JSON."""

    status: int
    """The HTTP status."""
    body: bytes = b""
    """The body."""
    fields: tuple[tuple[str, str], ...] = ()
    """Further header fields."""


def parse_head(data: bytes, max_fields: int) -> Head:
    """Parse a head, which ends with an empty line.

    Raises:
        BadRequest: It is malformed, ambiguous, too long or of another version.
    """
    if data.count(b"\r\n") - 2 > max_fields:
        raise BadRequest(431)
    collector = _Collector()
    parser = httptools.HttpRequestParser(collector)
    try:
        parser.feed_data(data)
    except httptools.HttpParserUpgrade:
        # A server may ignore the offer of another protocol.
        pass
    except httptools.HttpParserError:
        raise BadRequest(400) from None
    if not collector.complete:
        raise BadRequest(400)
    if parser.get_http_version() != "1.1":
        raise BadRequest(505)
    target = collector.target.decode("latin-1")
    if not target.startswith("/"):
        raise BadRequest(400)
    # llhttp keeps the blanks after a value.
    fields = [
        (_field_name(name), value.decode("latin-1").strip(" \t"))
        for name, value in collector.fields
    ]
    head = Head(
        parser.get_method().decode("ascii"),
        target,
        tuple(fields),
        keep_alive=parser.should_keep_alive(),
    )
    if head.sole("host") is None:
        raise BadRequest(400)
    return head


def from_environ(environ: WSGIEnvironment, max_bytes: int, max_fields: int) -> Head:
    """Return the head of a request that a WSGI server has parsed.

    Its target is what comes behind the path at which the application is mounted.

    Raises:
        BadRequest: It is too long, or has a length that is no number.
    """
    from werkzeug.wrappers import Request

    request = Request(environ, shallow=True)
    fields = tuple((name.lower(), value.strip(" \t")) for name, value in request.headers.items())
    if (
        len(fields) > max_fields
        or sum(len(name + value) + 4 for name, value in fields) > max_bytes
    ):
        raise BadRequest(431)
    query = request.query_string.decode("latin-1")
    target = f"{request.path}?{query}" if query else request.path
    head = Head(request.method, target, fields, keep_alive=True)
    if head.get("host") is None:
        raise BadRequest(400)
    length = head.get("content-length")
    if length is not None and not (length.isascii() and length.isdigit()):
        raise BadRequest(400)
    return head


def respond(
    answer: Answer, environ: WSGIEnvironment, start_response: StartResponse
) -> Iterable[bytes]:
    """Give an answer to a WSGI server."""
    from werkzeug.wrappers import Response

    kind = "application/json" if answer.body else None
    response = Response(answer.body, answer.status, answer.fields, content_type=kind)
    if kind is None:
        del response.headers["Content-Type"]
    return response(environ, start_response)


@lru_cache(maxsize=256)
def _field_name(name: bytes) -> str:
    return name.decode("latin-1").lower()


class _Collector:
    """What httptools calls while it parses."""

    __slots__ = ("complete", "fields", "target")

    def __init__(self) -> None:
        self.target = b""
        self.fields: list[tuple[bytes, bytes]] = []
        self.complete = False

    def on_url(self, url: bytes) -> None:
        self.target += url

    def on_header(self, name: bytes, value: bytes) -> None:
        self.fields.append((name, value))

    def on_headers_complete(self) -> None:
        self.complete = True


@cache
def _statuses() -> dict[int, str]:
    from werkzeug.http import HTTP_STATUS_CODES

    return dict(HTTP_STATUS_CODES)


@cache
def _status_line(status: int) -> str:
    return f"HTTP/1.1 {status} {_statuses()[status]}"


def media_type(value: str | None) -> str:
    """Return the media type of a Content-Type, without its parameters."""
    if value is None or len(value) > _LONGEST_CHOICE:
        return ""
    return _media_type(value)


@lru_cache(maxsize=64)
def _media_type(value: str) -> str:
    from werkzeug.http import parse_options_header

    return parse_options_header(value)[0].lower()


def accepts(head: Head, kind: str, *, named: bool = False) -> bool:
    """Return whether a client takes answers of a media type.

    Args:
        head: The request's head; without an Accept it takes anything.
        kind: The media type, such as ``application/json``.
        named: Whether it has to name the type, so that ``*/*`` is not enough.
    """
    text = head.get("accept")
    if text is None:
        return not named
    if head.repeats:
        text = ", ".join(head.all("accept"))
    if len(text) > _LONGEST_CHOICE:
        return False
    quality, wildcards = _quality(text, kind)
    return quality > 0 and not (named and wildcards)


@lru_cache(maxsize=64)
def _quality(accept: str, kind: str) -> tuple[float, bool]:
    from werkzeug.datastructures import MIMEAccept
    from werkzeug.http import parse_accept_header

    parsed = parse_accept_header(accept, MIMEAccept)
    named = any(value.partition(";")[0].strip().lower() == kind for value, _ in parsed)
    return parsed.quality(kind), not named


def refusal(status: int, *fields: tuple[str, str]) -> Answer:
    """Return an answer that refuses a request and says nothing but its status."""
    error = {"code": _INVALID_REQUEST, "message": _statuses()[status]}
    body = json.dumps({"jsonrpc": "2.0", "id": None, "error": error}, separators=(",", ":"))
    return Answer(status, body.encode(), fields)


def unauthorized() -> Answer:
    """Return the answer to a request without a token that counts."""
    return refusal(401, ("WWW-Authenticate", 'Bearer realm="toolcrib"'))


def busy() -> Answer:
    """Return the answer to a request for which there is no place."""
    return refusal(503, ("Retry-After", "1"))


def stream_head(*, close: bool) -> bytes:
    """Return what begins an answer that is a stream of events, sent in chunks."""
    lines = [
        "HTTP/1.1 200 OK",
        "Content-Type: text/event-stream",
        "Cache-Control: no-store",
        "Transfer-Encoding: chunked",
    ]
    if close:
        lines.append("Connection: close")
    return "\r\n".join(lines).encode() + b"\r\n\r\n"


def encode(answer: Answer, *, close: bool) -> bytes:
    """Return an answer's bytes for the wire."""
    lines = [_status_line(answer.status)]
    if answer.body:
        lines.append("Content-Type: application/json")
    if answer.fields:
        lines += [f"{name}: {value}" for name, value in answer.fields]
    lines.append(f"Content-Length: {len(answer.body)}")
    if close:
        lines.append("Connection: close")
    return "\r\n".join(lines).encode("latin-1") + b"\r\n\r\n" + answer.body
