"""What crosses the loopback interface, read passively.

Every provider's requests to the gateway are seen as they are on the wire, with
nothing between the provider and the gateway. Needs the rights of root, or of a
user namespace that owns the network namespace.
"""

from __future__ import annotations

import ctypes
import json
import re
import socket
import struct
import threading
import time
from collections.abc import Iterator
from typing import Any

__all__ = ["Wire"]

_IPV4 = 0x0800
_ATTACH_FILTER = 26
_STARTS = (b"POST /mcp", b"GET /mcp", b"DELETE /mcp")
_METHOD = re.compile(rb'"method"\s*:\s*"([\w/]+)"')


class Wire:
    """Records the requests for ``/mcp`` from its start to its end.

    Args:
        ports: The ports of the servers to listen to.
    """

    def __init__(self, *ports: int) -> None:
        self._socket = socket.socket(socket.AF_PACKET, socket.SOCK_DGRAM, socket.htons(_IPV4))
        _attach(self._socket, _filter(ports))
        self._socket.bind(("lo", _IPV4))
        self._socket.settimeout(0.1)
        self._streams: dict[tuple[bytes, bytes], tuple[float, bytearray]] = {}
        self._ended = threading.Event()
        self._thread = threading.Thread(target=self._read)
        self._thread.start()

    def requests(self) -> list[dict[str, Any]]:
        """Return the requests so far, in the order of their connections."""
        streams = sorted(self._streams.copy().values(), key=lambda stream: stream[0])
        return [request for _, data in streams for request in _requests(bytes(data))]

    def end(self) -> list[dict[str, Any]]:
        """Stop, and return all requests."""
        self._ended.set()
        self._thread.join()
        self._socket.close()
        return self.requests()

    def _read(self) -> None:
        # After the end, what the kernel holds already is read before the time is up.
        while True:
            try:
                self._take(self._socket.recv(1 << 17))
            except TimeoutError:
                if self._ended.is_set():
                    return

    def _take(self, packet: bytes) -> None:
        segment = packet[(packet[0] & 15) * 4 : int.from_bytes(packet[2:4], "big")]
        payload = segment[(segment[12] >> 4) * 4 :]
        ends = (segment[0:2], segment[2:4])
        if ends in self._streams:
            self._streams[ends][1].extend(payload)
        elif payload.startswith(_STARTS):
            self._streams[ends] = (time.monotonic(), bytearray(payload))


def _filter(ports: tuple[int, ...]) -> list[tuple[int, int, int, int]]:
    """Return the kernel's filter: TCP to one of the ports, all of it."""
    jumps = [(0x15, len(ports) - number, 0, port) for number, port in enumerate(ports)]
    return [
        (0x30, 0, 0, 9),  # the protocol
        (0x15, 0, len(ports) + 2, 6),  # TCP, else nothing
        (0xB1, 0, 0, 0),  # the length of the IP header
        (0x48, 0, 0, 2),  # the port behind it
        *jumps,
        (0x06, 0, 0, 0),
        (0x06, 0, 0, 0xFFFFFFFF),
    ]


def _attach(listener: socket.socket, program: list[tuple[int, int, int, int]]) -> None:
    # Without it, the model's traffic would fill the socket's buffer.
    code = ctypes.create_string_buffer(b"".join(struct.pack("HBBI", *each) for each in program))
    pointer = struct.pack("HL", len(program), ctypes.addressof(code))
    listener.setsockopt(socket.SOL_SOCKET, _ATTACH_FILTER, pointer)


def _requests(data: bytes) -> Iterator[dict[str, Any]]:
    while data:
        head, _, rest = data.partition(b"\r\n\r\n")
        lines = head.decode("latin-1").split("\r\n")
        pairs = (line.partition(":") for line in lines[1:])
        headers = {name.strip().lower(): value.strip() for name, _, value in pairs}
        body, data = _body(headers, rest)
        yield {
            "verb": lines[0].partition(" ")[0],
            "authorization": headers.get("authorization"),
            "revision": headers.get("mcp-protocol-version"),
            "host": headers.get("host"),
            **_call(body),
        }


def _body(headers: dict[str, str], rest: bytes) -> tuple[bytes, bytes]:
    if "chunked" in headers.get("transfer-encoding", ""):
        body, _, rest = rest.partition(b"\r\n0\r\n\r\n")
        return body, rest
    length = int(headers.get("content-length", "0"))
    return rest[:length], rest[length:]


def _call(body: bytes) -> dict[str, Any]:
    try:
        message = json.loads(body)
    except ValueError:
        found = _METHOD.search(body)
        return {"method": found[1].decode() if found else None, "params": None}
    return {"method": message.get("method"), "params": message.get("params")}
