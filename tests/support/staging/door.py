"""A door before a server: nothing comes back through it until a time has passed."""

from __future__ import annotations

import socket
import threading
import time

__all__ = ["SlowDoor"]


class SlowDoor:
    """Accepts at once, and passes bytes on only some seconds after the first visitor.

    What visitors call the door is put right on the way, since the server
    answers to its own address alone.

    Args:
        port: The loopback port of the server.
        seconds: How long it stays shut.
    """

    def __init__(self, port: int, seconds: float) -> None:
        self._server = port
        self._seconds = seconds
        self._opens_at: float | None = None
        self._listener = socket.create_server(("127.0.0.1", 0))
        self.port: int = self._listener.getsockname()[1]
        threading.Thread(target=self._accept, daemon=True).start()

    def _accept(self) -> None:
        while True:
            visitor, _ = self._listener.accept()
            if self._opens_at is None:
                self._opens_at = time.monotonic() + self._seconds
            threading.Thread(target=self._serve, args=(visitor,), daemon=True).start()

    def _serve(self, visitor: socket.socket) -> None:
        assert self._opens_at is not None
        threading.Event().wait(max(0.0, self._opens_at - time.monotonic()))
        try:
            server = socket.create_connection(("127.0.0.1", self._server))
        except OSError:
            visitor.close()
            return
        threading.Thread(target=_copy, args=(server, visitor, b"", b""), daemon=True).start()
        here, there = (f"127.0.0.1:{port}".encode() for port in (self.port, self._server))
        _copy(visitor, server, here, there)


def _copy(source: socket.socket, target: socket.socket, old: bytes, new: bytes) -> None:
    try:
        while data := source.recv(1 << 16):
            target.sendall(data.replace(old, new) if old else data)
        target.shutdown(socket.SHUT_WR)
    except OSError:
        source.close()
        target.close()
