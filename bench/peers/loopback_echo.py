"""The floor: a thread for each connection, that reads HTTP and sends the same result back.

It reads no JSON, checks nothing and calls nothing, so a server in CPython that
answers from threads can't be much faster. The arguments are those of the other
servers, and mean nothing here.
"""

from __future__ import annotations

import json
import socket
import sys
import threading
from http import HTTPStatus

_BODY = (
    b'{"jsonrpc":"2.0","id":3,"result":{"content":[{"type":"text",'
    b'"text":"{\\"text\\":\\"hello world\\"}"}],'
    b'"structuredContent":{"text":"hello world"},"isError":false}}'
)
_FIELDS = {"Content-Type": "application/json"}


def serve(client: socket.socket) -> None:
    """Answer one client until it is gone."""
    client.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    data = bytearray()
    with client:
        try:
            while chunk := client.recv(65536):
                data += chunk
                if _take(data):
                    client.sendall(_answer(HTTPStatus.OK, _FIELDS, _BODY))
        except ConnectionError:
            return


def _take(data: bytearray) -> bool:
    """Take a request away; ``False`` while it is not complete."""
    end = data.find(b"\r\n\r\n")
    if end < 0:
        return False
    _, *lines = data[:end].decode("latin-1").split("\r\n")
    fields = {}
    for line in lines:
        name, _, value = line.partition(":")
        fields[name.lower()] = value.strip()
    size = end + 4 + int(fields.get("content-length", "0"))
    if len(data) < size:
        return False
    del data[:size]
    return True


def _answer(status: HTTPStatus, fields: dict[str, str], body: bytes) -> bytes:
    head = f"HTTP/1.1 {status.value} {status.phrase}\r\n"
    head += "".join(f"{name}: {value}\r\n" for name, value in fields.items())
    return f"{head}Content-Length: {len(body)}\r\n\r\n".encode("latin-1") + body


def accept(listening: socket.socket) -> None:
    """Serve each client on a thread of its own."""
    while True:
        client, _ = listening.accept()
        threading.Thread(target=serve, args=(client,), daemon=True).start()


def main() -> None:
    listening = socket.create_server(("127.0.0.1", 0), backlog=128)
    threading.Thread(target=accept, args=(listening,), daemon=True).start()
    print(json.dumps({"port": listening.getsockname()[1]}), flush=True)
    sys.stdin.read()


if __name__ == "__main__":
    main()
