"""The server's HTTP: one request read, one answer written."""

from __future__ import annotations

import contextlib
import gzip
import json
import logging
import socket
import sys
import threading
import zlib
from collections.abc import Callable, Iterable
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

from . import completions, messages, responses
from .answer import Answer, Event, Refusal, Wire
from .exchange import ModelRequest

__all__ = ["Listener"]

_WIRES: dict[str, Wire] = {
    "/responses": responses,
    "/messages": messages,
    "/chat/completions": completions,
}
_LEAVE_TIME = 5.0
_LOG = logging.getLogger("toolcrib.testing.model_server")


class Listener(ThreadingHTTPServer):
    """Listens on a free port of loopback, each connection on a thread of its own.

    Args:
        model: The model's name, for providers that ask which there are.
        answer: Answers a request, on the connection's thread.
    """

    def __init__(self, model: str, answer: Callable[[ModelRequest], Answer]) -> None:
        super().__init__(("127.0.0.1", 0), _Exchange)
        self.model = model
        self.answer = answer
        self._open: dict[threading.Thread, socket.socket] = {}
        self._thread = threading.Thread(
            target=self.serve_forever, args=(0.05,), name="toolcrib-model-server", daemon=True
        )
        self._thread.start()

    def process_request(self, request: Any, client_address: Any) -> None:
        """Serve one connection on a thread of its own."""
        thread = threading.Thread(
            target=self.process_request_thread,
            args=(request, client_address),
            name="toolcrib-model-connection",
            daemon=True,
        )
        self._open[thread] = request
        thread.start()

    def process_request_thread(self, request: Any, client_address: Any) -> None:
        """Serve one connection, on its own thread."""
        try:
            super().process_request_thread(request, client_address)
        finally:
            del self._open[threading.current_thread()]

    def handle_error(self, request: Any, client_address: Any) -> None:
        """Leave a connection that broke off, and log what else went wrong."""
        if not isinstance(sys.exception(), OSError):
            _LOG.exception("The model server failed on a connection")

    def close(self) -> None:
        """Stop listening and cut what is still connected."""
        self.shutdown()
        self._thread.join()
        self.server_close()
        left = dict(self._open)
        for connection in left.values():
            with contextlib.suppress(OSError):
                connection.shutdown(socket.SHUT_RDWR)
        for thread in left:
            thread.join(_LEAVE_TIME)


class _Exchange(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def log_message(self, format: str, *args: Any) -> None:
        pass

    def do_HEAD(self) -> None:
        self.send_response(200)
        self.send_header("Content-Length", "0")
        self.end_headers()

    def do_GET(self) -> None:
        if not self._path.endswith("/models"):
            self._json(404, {"error": {"message": f"There is nothing at {self._path}."}})
            return
        model = {
            "id": self._listener.model,
            "object": "model",
            "created": 1,
            "owned_by": "toolcrib",
        }
        self._json(200, {"object": "list", "data": [model], "models": []})

    def do_POST(self) -> None:
        try:
            body = json.loads(self._body())
        except (ValueError, OSError, EOFError, zlib.error):
            self._json(400, {"error": {"message": "The body can't be read as JSON."}})
            return
        if self._path.endswith("/count_tokens"):
            self._json(200, {"input_tokens": 10})
            return
        wire = next((w for end, w in _WIRES.items() if self._path.endswith(end)), None)
        if wire is None or not isinstance(body, dict):
            self._json(404, {"error": {"message": f"No protocol is spoken at {self._path}."}})
            return
        try:
            request = wire.read(body)
        except (AttributeError, KeyError, TypeError) as error:
            refusal = Refusal(400, f"The body is no request of this protocol: {error!r}")
            self._json(refusal.status, wire.error(refusal))
            return
        self._answer(wire, request)

    def _answer(self, wire: Wire, request: ModelRequest) -> None:
        answer = self._listener.answer(request)
        if isinstance(answer, Refusal):
            self._json(answer.status, wire.error(answer))
        elif request.body.get("stream"):
            self._events(wire.stream(request, answer))
        else:
            self._json(200, wire.whole(request, answer))

    @property
    def _listener(self) -> Listener:
        assert isinstance(self.server, Listener)
        return self.server

    @property
    def _path(self) -> str:
        return self.path.partition("?")[0]

    def _body(self) -> bytes:
        if self.headers.get("Transfer-Encoding", "").lower() == "chunked":
            body = b"".join(self._chunks())
        else:
            body = self.rfile.read(int(self.headers.get("Content-Length") or 0))
        return gzip.decompress(body) if self.headers.get("Content-Encoding") == "gzip" else body

    def _chunks(self) -> Iterable[bytes]:
        while size := int(self.rfile.readline().partition(b";")[0], 16):
            yield self.rfile.read(size)
            self.rfile.readline()
        while self.rfile.readline().strip():
            pass

    def _json(self, status: int, document: Any) -> None:
        body = json.dumps(document).encode()
        self.send_response(status)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def _events(self, events: Iterable[Event]) -> None:
        self.send_response(200)
        self.send_header("Content-Type", "text/event-stream")
        self.send_header("Connection", "close")
        self.end_headers()
        for event in events:
            head = f"event: {event.name}\n" if event.name else ""
            data = event.data if isinstance(event.data, str) else json.dumps(event.data)
            self.wfile.write(f"{head}data: {data}\n\n".encode())
