"""The requests that the benchmark of the gateway sends, and what a right answer has."""

from __future__ import annotations

import http.client
import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

__all__ = ["ERAS", "TOKEN", "Request", "checked", "request"]

ERAS = ("2025-11-25", "2026-07-28")
"""The last revision with a handshake, and the first without."""

TOKEN = "bench-" + "A" * 37
"""What opens every server; as long as a token of ours."""

_META = {
    "io.modelcontextprotocol/protocolVersion": ERAS[1],
    "io.modelcontextprotocol/clientCapabilities": {},
    "io.modelcontextprotocol/clientInfo": {"name": "bench", "version": "1"},
}


@dataclass(frozen=True, slots=True)
class Request:
    """A request to send over and over."""

    headers: Mapping[str, str]
    """Its header fields."""
    body: str
    """Its body."""


def request(method: str, era: str) -> Request:
    """Return a call of the echo tool, or another request without parameters."""
    calls = method == "tools/call"
    params: dict[str, Any] = {}
    if calls:
        params = {"name": "echo", "arguments": {"text": "hello world"}}
    headers = {
        "Content-Type": "application/json",
        "Accept": "application/json, text/event-stream",
        "Authorization": f"Bearer {TOKEN}",
        "MCP-Protocol-Version": era,
    }
    if era == ERAS[1]:
        params["_meta"] = _META
        headers |= {"Mcp-Method": method, **({"Mcp-Name": "echo"} if calls else {})}
    message = {"jsonrpc": "2.0", "id": 3, "method": method, "params": params}
    return Request(headers, json.dumps(message, separators=(",", ":")))


def checked(port: int, asked: Request) -> dict[str, Any]:
    """Send a request once and return its result; so a wrong answer is never measured.

    Raises:
        RuntimeError: The answer is no result, or not the right one.
    """
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=60)
    connection.request("POST", "/mcp", asked.body, dict(asked.headers))
    response = connection.getresponse()
    body = response.read()
    connection.close()
    result = json.loads(body).get("result") if response.status == 200 else None
    echoes = '"tools/call"' not in asked.body or (
        result and result.get("structuredContent") == {"text": "hello world"}
    )
    if not isinstance(result, dict) or not echoes:
        msg = f"port {port} answered {response.status} {body[:300]!r}"
        raise RuntimeError(msg)
    return result
