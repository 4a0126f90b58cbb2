"""From `import toolcrib` to the first answer of the gateway, in this new interpreter.

Prints seconds since the start of the import, and the memory at the end, as JSON.
"""

from __future__ import annotations

import contextvars
import json
import socket
import time
from typing import Any

_CALL = (
    b'{"jsonrpc":"2.0","id":1,"method":"tools/call",'
    b'"params":{"name":"echo","arguments":{"text":"hello world"}}}'
)


def main() -> None:
    began = time.perf_counter()
    from toolcrib import tool

    times = {"imported": time.perf_counter() - began}

    @tool.define
    def echo(text: str) -> dict[str, str]:
        """Echo the text."""
        return {"text": text}

    times["needed"] = time.perf_counter() - began
    listener, port, token = _opened(echo)
    times["listening"] = time.perf_counter() - began
    answer = _asked(port, token)
    times["answered"] = time.perf_counter() - began
    assert b'"structuredContent":{"text":"hello world"}' in answer, answer[:300]

    import psutil

    memory = psutil.Process().memory_info().rss / 2**20
    listener.close(10)
    print(json.dumps({**times, "memory": memory}))


def _opened(tool: Any) -> tuple[Any, int, str]:
    from toolcrib.runtime.gateway.front import Listener
    from toolcrib.runtime.gateway.registration import Registration
    from toolcrib.runtime.gateway.tokens import digest, new_token
    from toolcrib.runtime.tools.catalog import Catalog

    listener, token = Listener(), new_token()
    port = listener.open().port
    registration = Registration("bench", Catalog([tool]), contextvars.copy_context())
    listener.publish({digest(token): registration})
    return listener, port, token


def _asked(port: int, token: str) -> bytes:
    head = (
        f"POST /mcp HTTP/1.1\r\nHost: 127.0.0.1:{port}\r\nAuthorization: Bearer {token}\r\n"
        "Content-Type: application/json\r\nConnection: close\r\n"
        f"Content-Length: {len(_CALL)}\r\n\r\n"
    )
    with socket.create_connection(("127.0.0.1", port), timeout=60) as client:
        client.sendall(head.encode() + _CALL)
        answer = b""
        while chunk := client.recv(65536):
            answer += chunk
    return answer


if __name__ == "__main__":
    main()
