"""The official SDK's client, in both eras of the protocol."""

from __future__ import annotations

import asyncio
import subprocess
import sys
from typing import Any, Literal

import pytest
from mcp import Client, MCPError
from mcp.client.streamable_http import streamable_http_client
from mcp.shared._httpx_utils import create_mcp_http_client

from toolcrib import tool
from toolcrib.runtime.gateway.front import Listener

from .conftest import MODERN, Counter, Opener

Mode = Literal["legacy", "auto"]


def double(number: int) -> int:
    """Double a number.

    Args:
        number: The number.
    """
    return 2 * number


def refuse() -> str:
    raise tool.reject("no_way", "Try something else.")


@pytest.fixture
def counter(open_counter: Opener) -> Counter:
    return open_counter(
        tool.define("double", "Double a number.", double, title="Double", read_only=True),
        tool.define("refuse", "Refuse.", refuse),
    )


def connected(counter: Counter, mode: Mode, use: Any, token: str = "") -> Any:
    """Run ``use(client)`` with a connected client."""

    async def run() -> Any:
        headers = {"Authorization": f"Bearer {token or counter.token}"}
        url = f"http://127.0.0.1:{counter.port}/mcp"
        async with create_mcp_http_client(headers=headers) as http:
            transport = streamable_http_client(url, http_client=http)
            async with Client(transport, mode=mode) as client:
                return await use(client)

    return asyncio.run(run())


@pytest.mark.parametrize(("mode", "version"), [("legacy", "2025-11-25"), ("auto", MODERN)])
def test_the_official_client_lists_and_calls(counter: Counter, mode: Mode, version: str) -> None:
    async def use(client: Client) -> tuple[Any, ...]:
        return (
            client.protocol_version,
            (await client.list_tools()).tools,
            await client.call_tool("double", {"number": 21}),
            await client.call_tool("refuse"),
        )

    negotiated, tools, doubled, refused = connected(counter, mode, use)

    assert negotiated == version
    assert [each.name for each in tools] == ["double", "refuse"]
    assert (tools[0].title, tools[0].annotations.read_only_hint) == ("Double", True)
    assert doubled.structured_content == {"result": 42}
    assert refused.is_error
    assert "no_way" in refused.content[0].text


@pytest.mark.parametrize("mode", ["legacy", "auto"])
def test_the_official_client_calls_in_parallel(counter: Counter, mode: Mode) -> None:
    async def use(client: Client) -> list[Any]:
        calls = (client.call_tool("double", {"number": each}) for each in range(20))
        return await asyncio.gather(*calls)

    results = connected(counter, mode, use)

    assert [each.structured_content["result"] for each in results] == list(range(0, 40, 2))


@pytest.mark.parametrize("mode", ["legacy", "auto"])
def test_the_official_client_reports_an_unknown_tool(counter: Counter, mode: Mode) -> None:
    async def use(client: Client) -> None:
        await client.call_tool("nope")

    with pytest.raises((MCPError, ExceptionGroup)) as caught:
        connected(counter, mode, use)

    assert "Unknown tool" in "".join(map(str, _leaves(caught.value)))


def _leaves(error: BaseException) -> list[BaseException]:
    if isinstance(error, BaseExceptionGroup):
        return [leaf for each in error.exceptions for leaf in _leaves(each)]
    return [error]


# The import of the SDK is held until a client has connected and asked.
EARLY_CLIENT = """
import contextvars, socket, sys, threading
from toolcrib.runtime.gateway.front import Listener
from toolcrib.runtime.gateway.registration import Registration
from toolcrib.runtime.gateway.tokens import digest
from toolcrib.runtime.tools.catalog import Catalog

asked = threading.Event()

class Hold:
    def find_spec(self, name, path=None, target=None):
        if name == "mcp":
            assert asked.wait(30)

sys.meta_path.insert(0, Hold())
listener = Listener()
port = listener.open().port
registration = Registration("agent", Catalog([]), contextvars.copy_context())
listener.publish({digest("token"): registration})
sock = socket.create_connection(("127.0.0.1", port), 40)  # the import is most of it
body = b'{"jsonrpc":"2.0","id":1,"method":"ping"}'
sock.sendall(
    b"POST /mcp HTTP/1.1\\r\\nHost: 127.0.0.1:%d\\r\\nAuthorization: Bearer token\\r\\n"
    b"Content-Type: application/json\\r\\nContent-Length: %d\\r\\n\\r\\n%b"
    % (port, len(body), body)
)
assert "mcp.server" not in sys.modules
asked.set()
assert sock.recv(1000).startswith(b"HTTP/1.1 200 OK")
sock.close()
assert listener.close(10)
"""


def test_a_client_that_comes_before_the_sdk_is_loaded_is_answered_after() -> None:
    subprocess.run([sys.executable, "-c", EARLY_CLIENT], check=True, timeout=50)


def test_importing_the_listener_imports_nothing_heavy() -> None:
    heavy = ["mcp", "mcp_types", "pydantic", "pydantic_core", "werkzeug", "jsonschema"]
    script = f"""
import sys
import {Listener.__module__}
assert not sys.modules.keys() & set({heavy!r}), sys.modules.keys() & set({heavy!r})
"""
    subprocess.run([sys.executable, "-c", script], check=True, timeout=50)
