"""FastMCP with an echo tool under uvicorn.

    python fastmcp_server.py TOKEN TOOLS CATALOGS sync|async

One server has one catalog, so CATALOGS is always 1.
"""

from __future__ import annotations

import importlib
import sys
from typing import Any

from pydantic import BaseModel

fastmcp: Any = importlib.import_module("fastmcp")
uvicorn_thread: Any = importlib.import_module("uvicorn_thread")
jwt: Any = importlib.import_module("fastmcp.server.auth.providers.jwt")


class Echoed(BaseModel):
    """What came in."""

    text: str


def echo(text: str) -> Echoed:
    """Echo the text."""
    return Echoed(text=text)


async def echo_async(text: str) -> Echoed:
    """Echo the text."""
    return Echoed(text=text)


def other(
    subject: str, body: str = "", place: str = "", start: str = "", end: str = "", note: str = ""
) -> Echoed:
    """Take what a tool of an application may take."""
    return Echoed(text=subject + body + place + start + end + note)


def main() -> None:
    token, tools, _, kind = sys.argv[1:]
    known = {token: {"client_id": "bench", "scopes": []}}
    server = fastmcp.FastMCP("bench", version="1", auth=jwt.StaticTokenVerifier(known))
    server.tool(echo_async if kind == "async" else echo, name="echo")
    for number in range(int(tools) - 1):
        about = f"Synthetic tool number {number} of a catalog."
        server.tool(other, name=f"tool_{number:04}", description=about)
    uvicorn_thread.serve(
        lambda port: server.http_app(
            stateless_http=True,
            json_response=True,
            host_origin_protection=True,
            allowed_hosts=[f"127.0.0.1:{port}"],
        )
    )


if __name__ == "__main__":
    main()
