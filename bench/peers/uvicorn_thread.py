"""An ASGI application under uvicorn with uvloop and httptools, on a loopback port."""

from __future__ import annotations

import importlib
import json
import socket
import sys
import threading
from collections.abc import Callable
from typing import Any

__all__ = ["serve"]

uvicorn: Any = importlib.import_module("uvicorn")


class _Telling(uvicorn.Server):  # type: ignore[misc]
    """Prints its port when it accepts connections."""

    async def startup(self, sockets: Any = None) -> None:
        await super().startup(sockets=sockets)
        print(json.dumps({"port": sockets[0].getsockname()[1]}), flush=True)


def serve(application: Callable[[int], Any]) -> None:
    """Serve until the input ends; print the port as JSON.

    Args:
        application: Makes the application for the port.
    """
    # With protocol 0, asyncio would not set TCP_NODELAY, and answers wait 40 ms.
    listening = socket.socket(socket.AF_INET, socket.SOCK_STREAM, socket.IPPROTO_TCP)
    listening.bind(("127.0.0.1", 0))
    config = uvicorn.Config(
        application(listening.getsockname()[1]),
        loop="uvloop",
        http="httptools",
        log_level="warning",
        access_log=False,
    )
    server = _Telling(config)
    thread = threading.Thread(target=server.run, args=([listening],))
    thread.start()
    sys.stdin.read()
    server.should_exit = True
    thread.join()
