"""Every kind of request that an honest client doesn't send, and the exact answer.

A case is bytes in which ``{host}`` and ``{token}`` stand for the right ones. After
each case an authorised call has to work on a new connection.
"""

from __future__ import annotations

import getpass
import json
import platform
import time
from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import pytest

from toolcrib import tool

from .conftest import MODERN, Counter, Opener, Reply

PARSE, INVALID, PARAMS, METHOD = -32700, -32600, -32602, -32601
MISMATCH, REVISION = -32020, -32022
POST = "POST /mcp HTTP/1.1"
RIGHT = {
    "host": "Host: {host}",
    "token": "Authorization: Bearer {token}",
    "type": "Content-Type: application/json",
}


@dataclass(frozen=True)
class Case:
    """What is sent, and what has to come back."""

    status: int
    sent: bytes
    code: int | str | None = None
    """Of a JSON-RPC error, or of the tool that failed."""
    refusal: bool = False
    """Whether it is refused by its head alone, and the connection closed."""


def head(
    status: int, *lines: str, first: str = POST, lacks: str = "", end: str = "\r\n\r\n"
) -> Case:
    """A head that is refused: the right fields, without one, and further lines."""
    right = [line for name, line in RIGHT.items() if name != lacks]
    if not any(line.startswith(("Content-Length", "Transfer-Encoding")) for line in lines):
        right.append("Content-Length: 9")
    text = "\r\n".join([first, *right, *lines]) + end
    return Case(status, text.encode("latin-1"), INVALID, refusal=True)


def raw(status: int, data: bytes) -> Case:
    """Bytes that are no head at all."""
    return Case(status, data, INVALID, refusal=True)


def post(status: int, code: int | str | None, body: bytes, *lines: str) -> Case:
    """A whole request."""
    given = [POST, *RIGHT.values(), *lines, f"Content-Length: {len(body)}", "", ""]
    return Case(status, "\r\n".join(given).encode("latin-1") + body, code)


def message(method: str, params: Any = None, **more: Any) -> bytes:
    whole = {"jsonrpc": "2.0", "id": 1, "method": method, "params": params, **more}
    return json.dumps({key: value for key, value in whole.items() if value is not None}).encode()


def call(name: str = "echo", arguments: Any = None, **more: Any) -> bytes:
    given = {"text": "hi"} if arguments is None else arguments
    return message("tools/call", {"name": name, "arguments": given}, **more)


def value(text: bytes) -> bytes:
    """The call of a tool with this JSON as its argument."""
    return call().replace(b'"hi"', text)


def modern(
    status: int, code: int | str | None, *, name: str = "echo", given: str = "", field: str = ""
) -> Case:
    """A call of the modern revision; ``given`` replaces the argument's JSON."""
    meta = {
        "io.modelcontextprotocol/protocolVersion": MODERN,
        "io.modelcontextprotocol/clientCapabilities": {},
    }
    arguments = {"text": "hi"} if name == "echo" else {}
    body = message("tools/call", {"name": name, "arguments": arguments, "_meta": meta})
    return post(
        status,
        code,
        body.replace(b'"hi"', given.encode() or b'"hi"'),
        f"MCP-Protocol-Version: {MODERN}",
        "Mcp-Method: tools/call",
        f"Mcp-Name: {field or name}",
    )


NEST = b"[" * 10000 + b"]" * 10000
EVIL = "http://evil.example"

CASES = {
    # Who asks.
    "no token": head(401, lacks="token"),
    "a wrong token": head(401, "Authorization: Bearer " + "x" * 43, lacks="token"),
    "a token with more": head(401, "Authorization: Bearer {token}x", lacks="token"),
    "a token beyond ASCII": head(401, "Authorization: Bearer \xff\xfe\xe9", lacks="token"),
    "a token of 10 KB": head(401, "Authorization: Bearer " + "x" * 10000, lacks="token"),
    "an empty token": head(401, "Authorization: Bearer ", lacks="token"),
    "no scheme": head(401, "Authorization: {token}", lacks="token"),
    "another scheme": head(401, "Authorization: Basic {token}", lacks="token"),
    "a wrong and a right token": head(
        401, "Authorization: Bearer wrong", "Authorization: Bearer {token}", lacks="token"
    ),
    "the right token twice": head(401, "Authorization: Bearer {token}"),
    "the token in the query": head(404, first="POST /mcp?token={token} HTTP/1.1"),
    "the token in the query alone": head(
        401, first="POST /mcp?token={token} HTTP/1.1", lacks="token"
    ),
    "the token as a cookie": head(401, "Cookie: token={token}", lacks="token"),
    # Where it believes to be.
    "another host": head(421, "Host: evil.example", lacks="host"),
    "our host as a prefix": head(421, "Host: {host}.evil.example", lacks="host"),
    "a host with user": head(421, "Host: {host}@evil.example", lacks="host"),
    "localhost": head(421, "Host: localhost", lacks="host"),
    "IPv6 loopback": head(421, "Host: [::1]", lacks="host"),
    "another loopback address": head(421, "Host: 127.0.0.2:80", lacks="host"),
    "the host without its port": head(421, "Host: 127.0.0.1", lacks="host"),
    "an empty host": head(421, "Host:", lacks="host"),
    "no host": head(400, lacks="host"),
    "another host without a token": raw(
        421, b"POST /mcp HTTP/1.1\r\nHost: evil.example\r\nContent-Length: 2\r\n\r\n{}"
    ),
    "two hosts": head(400, "Host: evil.example"),
    "our host twice": head(400, "Host: {host}"),
    "absolute form": head(400, first="POST http://evil.example/mcp HTTP/1.1"),
    "absolute form with our host": head(400, first="POST http://{host}/mcp HTTP/1.1"),
    "asterisk form": head(400, first="OPTIONS * HTTP/1.1"),
    "authority form": head(400, first="CONNECT evil.example:80 HTTP/1.1"),
    # Where it comes from.
    "a foreign origin": head(403, f"Origin: {EVIL}"),
    "origin null": head(403, "Origin: null"),
    "an empty origin": head(403, "Origin:"),
    "our origin and a foreign one": head(403, "Origin: http://{host}", f"Origin: {EVIL}"),
    "our origin as a prefix": head(403, "Origin: http://{host}.evil.example"),
    "a foreign origin without a token": head(403, f"Origin: {EVIL}", lacks="token"),
    "a preflight": head(
        403,
        f"Origin: {EVIL}",
        "Access-Control-Request-Method: POST",
        first="OPTIONS /mcp HTTP/1.1",
    ),
    # What it asks for.
    "the root": head(404, first="POST / HTTP/1.1"),
    "a slash more": head(404, first="POST /mcp/ HTTP/1.1"),
    "an escaped path": head(404, first="POST /%6dcp HTTP/1.1"),
    "a path with dots": head(404, first="POST /x/../mcp HTTP/1.1"),
    "two slashes": head(404, first="POST //mcp HTTP/1.1"),
    "a query": head(404, first="POST /mcp?x=1 HTTP/1.1"),
    "capitals": head(404, first="POST /MCP HTTP/1.1"),
    "a path without a token": head(401, first="POST /other HTTP/1.1", lacks="token"),
    "resource metadata": head(404, first="GET /.well-known/oauth-protected-resource/mcp HTTP/1.1"),
    "resource metadata without a token": head(
        401, first="GET /.well-known/oauth-protected-resource HTTP/1.1", lacks="token"
    ),
    "client registration without a token": head(
        401, first="POST /register HTTP/1.1", lacks="token"
    ),
    "a held stream": head(405, "Accept: text/event-stream", first="GET /mcp HTTP/1.1"),
    "a held stream of the modern revision": head(
        405, f"MCP-Protocol-Version: {MODERN}", first="GET /mcp HTTP/1.1"
    ),
    "the end of a session": head(405, "Mcp-Session-Id: x", first="DELETE /mcp HTTP/1.1"),
    "PUT": head(405, first="PUT /mcp HTTP/1.1"),
    "HEAD": replace(head(405, first="HEAD /mcp HTTP/1.1"), code=None),
    "TRACE": head(405, first="TRACE /mcp HTTP/1.1"),
    "OPTIONS": head(405, first="OPTIONS /mcp HTTP/1.1"),
    "an unknown method": head(400, first="WOBBLE /mcp HTTP/1.1"),
    "a method in small letters": head(400, first="post /mcp HTTP/1.1"),
    # What it brings.
    "text, as a form may send": head(415, "Content-Type: text/plain", lacks="type"),
    "a form": head(415, "Content-Type: application/x-www-form-urlencoded", lacks="type"),
    "no type": head(415, lacks="type"),
    "an empty type": head(415, "Content-Type:", lacks="type"),
    "two types": head(415, "Content-Type: text/plain"),
    "a type with JSON as a parameter": head(
        415, "Content-Type: text/plain; a=application/json", lacks="type"
    ),
    "no length": raw(411, ("\r\n".join([POST, *RIGHT.values()]) + "\r\n\r\n").encode()),
    "chunks": head(411, "Transfer-Encoding: chunked", end="\r\n\r\n2\r\n{}\r\n0\r\n\r\n"),
    "chunks of 6 MB": head(
        411,
        "Transfer-Encoding: chunked",
        end="\r\n\r\n" + ("10000\r\n" + " " * 65536 + "\r\n") * 90 + "0\r\n\r\n",
    ),
    "packed chunks": head(411, "Transfer-Encoding: gzip, chunked", end="\r\n\r\n0\r\n\r\n"),
    "an unknown coding": head(400, "Transfer-Encoding: gzip"),
    "chunks before another coding": head(400, "Transfer-Encoding: chunked, gzip"),
    "a length and chunks": head(400, "Content-Length: 3", "Transfer-Encoding: chunked"),
    "chunks and a length": head(400, "Transfer-Encoding: chunked", "Content-Length: 3"),
    "two lengths": head(400, "Content-Length: 2", "Content-Length: 3"),
    "the same length twice": head(400, "Content-Length: 2", "Content-Length: 2"),
    "a list of lengths": head(400, "Content-Length: 2, 2"),
    "an empty length": head(400, "Content-Length:"),
    "a negative length": head(400, "Content-Length: -1"),
    "a signed length": head(400, "Content-Length: +2"),
    "a length in words": head(400, "Content-Length: two"),
    "a hexadecimal length": head(400, "Content-Length: 0x2"),
    "a length with a blank": head(400, "Content-Length: 1 2"),
    "a length beyond 64 bits": head(400, "Content-Length: 99999999999999999999"),
    "10 GB to come": head(413, "Content-Length: 10000000000"),
    "5 MB": head(413, "Content-Length: 5242880", end="\r\n\r\n" + " " * 5242880),
    # How it is written.
    "bare line feeds": raw(400, b"POST /mcp HTTP/1.1\nHost: x\n\n"),
    "one bare line feed": head(400, "X: a\nY: b"),
    "a bare carriage return": head(400, "X: a\rY: b"),
    "a folded field": head(400, "X: a\r\n b"),
    "a folded length": head(400, "Content-Length:\r\n 2"),
    "a blank before the colon": head(400, "X : a"),
    "a blank before a name": head(400, " X: a"),
    "no name": head(400, ": a"),
    "no colon": head(400, "X"),
    "a name beyond ASCII": head(400, "\xe9: a"),
    "a NUL in a value": head(400, "X: a\0b"),
    "a NUL in a name": head(400, "X\0: a"),
    "a NUL in the path": head(400, first="POST /mcp\0 HTTP/1.1"),
    "a control character": head(400, "X: a\x01b"),
    "a blank in the path": head(400, first="POST /m cp HTTP/1.1"),
    "no path": head(400, first="POST HTTP/1.1"),
    "no version": head(505, first="POST /mcp"),
    "HTTP/1.0": head(505, first="POST /mcp HTTP/1.0"),
    "HTTP/1.2": head(400, first="POST /mcp HTTP/1.2"),
    "HTTP/2.0": head(505, first="POST /mcp HTTP/2.0"),
    "another protocol": head(505, first="DESCRIBE /mcp RTSP/1.0"),
    "HTTP/2's preface": raw(400, b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n"),
    "a TLS greeting": raw(400, b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03\r\n\r\n"),
    "an empty line first": raw(400, b"\r\n\r\n"),
    "noise": raw(400, bytes(range(128, 256)) + b"\r\n\r\n"),
    "a field of 20 KB": head(431, "X: " + "a" * 20000),
    "a field of 200 KB": head(431, "X: " + "a" * 200000),
    "a field of 3 MB": head(431, "X: " + "a" * 3000000),
    "a path of 20 KB": head(431, first=f"POST /{'a' * 20000} HTTP/1.1"),
    "a head without an end": head(431, "X: " + "a" * 20000, end=""),
    "500 fields": head(431, *["X: 1"] * 500),
    # The JSON.
    "nothing": post(400, PARSE, b""),
    "blanks": post(400, PARSE, b" \r\n\t "),
    "no JSON": post(400, PARSE, b"{not json"),
    "half a value": post(400, PARSE, call()[:-1]),
    "two values": post(400, PARSE, call() + call()),
    "a byte order mark": post(400, PARSE, b"\xef\xbb\xbf" + call()),
    "UTF-16": post(400, PARSE, call().decode().encode("utf-16")),
    "UTF-32": post(400, PARSE, call().decode().encode("utf-32")),
    "Latin-1": post(400, PARSE, value('"é"'.encode("latin-1"))),
    "a lone surrogate": post(400, PARSE, value(rb'"\ud800"')),
    "an encoded surrogate": post(400, PARSE, value(b'"\xed\xa0\x80"')),
    "an overlong encoding": post(400, PARSE, value(b'"\xc0\xaf"')),
    "a raw line feed in a text": post(400, PARSE, value(b'"\n"')),
    "not a number": post(400, PARSE, value(b"NaN")),
    "infinity": post(400, PARSE, value(b"-Infinity")),
    "a number out of range": post(400, PARSE, value(b"1e999")),
    "5,000 digits": post(400, PARSE, value(b"9" * 5000)),
    "a key twice": post(400, PARSE, call().replace(b'{"text"', b'{"text":"a","text"')),
    "the method twice": post(400, PARSE, call().replace(b'{"json', b'{"method":"ping","json')),
    "10,000 brackets": post(400, PARSE, value(NEST)),
    "10,000 brackets without an end": post(400, PARSE, value(b"[" * 10000)),
    "150 brackets": post(200, "invalid_input", value(b"[" * 150 + b"]" * 150)),
    # The message.
    "a batch": post(400, INVALID, b"[" + call() + b"," + call() + b"]"),
    "an empty batch": post(400, INVALID, b"[]"),
    "a text": post(400, INVALID, b'"ping"'),
    "null": post(400, INVALID, b"null"),
    "another JSON-RPC": post(400, INVALID, message("ping", jsonrpc="1.0")),
    "no JSON-RPC": post(400, INVALID, b'{"id":1,"method":"ping"}'),
    "no method": post(400, INVALID, b'{"jsonrpc":"2.0","id":1}'),
    "a number as the method": post(400, INVALID, b'{"jsonrpc":"2.0","id":1,"method":1}'),
    "a posted response": post(400, INVALID, b'{"jsonrpc":"2.0","id":1,"result":{}}'),
    "id null": post(400, INVALID, b'{"jsonrpc":"2.0","id":null,"method":"ping"}'),
    "id 1.5": post(400, INVALID, message("ping", id=1.5)),
    "id true": post(400, INVALID, message("ping", id=True)),
    "a list as the id": post(400, INVALID, message("ping", id=[1])),
    "an id of 100 KB": post(200, None, call(id="x" * 100000)),
    "params in a list": post(400, INVALID, message("tools/call", [1])),
    "arguments in a list": post(200, PARAMS, call(arguments=[1])),
    "no name of a tool": post(200, PARAMS, message("tools/call", {})),
    "an unknown tool": post(200, PARAMS, call("nope")),
    "a method that is not offered": post(200, METHOD, message("x/y")),
    "wrong arguments": post(200, "invalid_input", call(arguments={"text": 1})),
    "an unknown notification": post(202, None, b'{"jsonrpc":"2.0","method":"notifications/x"}'),
    "an unknown revision": post(400, REVISION, call(), "MCP-Protocol-Version: 1999-01-01"),
    "two revisions": post(400, MISMATCH, call(), *["MCP-Protocol-Version: 2025-06-18"] * 2),
    "an unknown session": post(200, None, call(), "Mcp-Session-Id: junk"),
    # The modern revision.
    "modern, without an envelope": post(
        400, PARAMS, call(), f"MCP-Protocol-Version: {MODERN}", "Mcp-Method: tools/call"
    ),
    "modern, of another tool": modern(400, MISMATCH, field="crash"),
    "modern, an unknown tool": modern(400, PARAMS, name="nope"),
    "modern, not a number": modern(400, PARSE, given="NaN"),
    "modern, a lone surrogate": modern(400, PARSE, given='"\\ud800"'),
    "modern, 10,000 brackets": modern(400, PARSE, given=NEST.decode()),
    # What tools do.
    "a tool that crashes": post(200, "internal_error", call("crash", {})),
    "modern, a tool that crashes": modern(200, "internal_error", name="crash"),
    "a tool that answers nonsense": post(200, "internal_error", call("nonsense", {})),
    "modern, a tool that answers nonsense": modern(200, "internal_error", name="nonsense"),
    "a tool that leaves": post(200, "internal_error", call("leave", {})),
}


def crash() -> str:
    raise RuntimeError("secret text of a handler")


def leave() -> str:
    raise SystemExit("secret text of a handler")


def nonsense() -> dict[str, float | str]:
    return {"number": float("nan"), "text": "\ud800"}


@pytest.fixture
def counter(open_counter: Opener, echo: tool.Tool) -> Counter:
    handlers = (crash, leave, nonsense)
    return open_counter(echo, *(tool.define(each.__name__, "A tool.", each) for each in handlers))


def secrets(counter: Counter) -> Iterator[str]:
    """What no answer may tell."""
    yield from (counter.token, counter.token[:16], "secret", "Traceback", "toolcrib/")
    yield from (platform.node(), getpass.getuser() + "@", str(Path.cwd()), "ython")


def outcome(reply: Reply) -> int | str | None:
    """The code of whatever went wrong."""
    said = reply.json if reply.body else {}
    if "error" in said:
        code: int = said["error"]["code"]
        return code
    failed: str | None = reply.failure["code"] if said.get("result", {}).get("isError") else None
    return failed


@pytest.mark.parametrize("name", CASES)
def test_each_kind_has_its_exact_answer_and_harms_nobody(counter: Counter, name: str) -> None:
    case = CASES[name]
    host = f"127.0.0.1:{counter.port}"
    sent = case.sent.replace(b"{host}", host.encode()).replace(b"{token}", counter.token.encode())
    client = counter.connect().send(sent)

    reply = client.answer()

    assert reply.status == case.status
    assert not [each for each in secrets(counter) if each.encode() in reply.body]
    assert not [each for each in secrets(counter) if each in str(reply.fields)]
    assert outcome(reply) == case.code
    if case.refusal:
        assert_refusal(reply, empty=name == "HEAD")
        assert client.ended()
    assert counter.call("echo", {"text": "still here"}).status == 200


def assert_refusal(reply: Reply, *, empty: bool = False) -> None:
    """A refusal says its status, in JSON where it may have a body, and nothing else."""
    assert reply.fields["connection"] == "close"
    assert ("www-authenticate" in reply.fields) == (reply.status == 401)
    assert reply.fields.get("www-authenticate", "Bearer ").startswith("Bearer ")
    assert reply.fields.get("allow") == ("POST" if reply.status == 405 else None)
    known = {"content-type", "content-length", "connection", "www-authenticate", "allow"}
    assert reply.fields.keys() <= known
    if empty:
        assert reply.body == b""
        return
    assert reply.json.keys() == {"jsonrpc", "id", "error"}
    assert reply.json["error"].keys() == {"code", "message"}
    assert len(reply.json["error"]["message"]) < 40


STALLED = {
    "nothing": b"",
    "half a line": b"POST /m",
    "half a head": b"POST /mcp HTTP/1.1\r\nHost: {host}\r\nX-",
    "a head without its empty line": CASES["no token"].sent[:-2],
    "half a body": b"\r\n".join(
        [*CASES["no length"].sent.split(b"\r\n")[:4], b"Content-Length: 9"]
    )
    + b"\r\n\r\n{",
}


@pytest.mark.parametrize("name", STALLED)
def test_what_never_comes_to_an_end_is_ended(
    open_counter: Opener, echo: tool.Tool, name: str
) -> None:
    counter = open_counter(echo, head_timeout=0.2, body_timeout=0.2)
    sent = STALLED[name].replace(b"{host}", f"127.0.0.1:{counter.port}".encode())
    client = counter.connect().send(sent.replace(b"{token}", counter.token.encode()))

    reply = client.reply()

    assert (reply and reply.status) == (408 if sent else None)
    assert client.ended()
    assert counter.call("echo", {"text": "still here"}).status == 200


def test_300_strangers_delay_no_call(open_counter: Opener, echo: tool.Tool) -> None:
    counter = open_counter(echo)
    known = counter.connect()
    request = counter.call_bytes("echo", {"text": "hi"})
    assert known.send(request).answer().status == 200
    for number in range(300):
        counter.connect().send([*STALLED.values()][number % len(STALLED)])

    began = time.monotonic()
    assert known.send(request).answer().status == 200
    assert counter.call("echo", {"text": "hi"}).status == 200

    # Both together; the timeouts of the strangers are 5 s.
    assert time.monotonic() - began < 2
