"""The official SDK's Streamable HTTP app under uvicorn, with an echo tool.

    python sdk_server.py TOKEN TOOLS CATALOGS sync|async

It has what the SDK offers for a gateway like ours: bearer tokens, exact Host and
Origin, a body limit, JSON answers without sessions. Arguments and results are
judged by jsonschema-rs, as ours are, and a sync handler runs on a thread.
"""

from __future__ import annotations

import functools
import importlib
import json
import secrets
import sys
from typing import Any

anyio: Any = importlib.import_module("anyio.to_thread")
jsonschema_rs: Any = importlib.import_module("jsonschema_rs")
mcp: Any = importlib.import_module("mcp")
lowlevel: Any = importlib.import_module("mcp.server.lowlevel")
provider: Any = importlib.import_module("mcp.server.auth.provider")
settings: Any = importlib.import_module("mcp.server.auth.settings")
security: Any = importlib.import_module("mcp.server.transport_security")
uvicorn_thread: Any = importlib.import_module("uvicorn_thread")

TEXT = {
    "type": "object",
    "properties": {"text": {"type": "string"}},
    "required": ["text"],
    "additionalProperties": False,
}
MANY = {
    **TEXT,
    "properties": {
        name: {"type": "string"} for name in ("subject", "body", "place", "start", "end", "note")
    },
    "required": ["subject"],
}
judge = jsonschema_rs.Draft202012Validator(TEXT)
INVALID_PARAMS = -32602


def descriptors(tools: int) -> list[dict[str, Any]]:
    """Describe the echo tool and so many others that there are as many as asked for."""
    described = [("echo", "Echo the text.", TEXT)]
    described += [
        (f"tool_{number:04}", f"Synthetic tool number {number} of a catalog.", MANY)
        for number in range(tools - 1)
    ]
    return [
        {"name": name, "description": about, "inputSchema": takes, "outputSchema": TEXT}
        for name, about, takes in described
    ]


def run(arguments: dict[str, Any]) -> dict[str, Any]:
    """Call the tool: judge the arguments, echo, judge the result."""
    judge.validate(arguments)
    result = {"text": arguments["text"]}
    judge.validate(result)
    return {
        "content": [{"type": "text", "text": json.dumps(result)}],
        "structuredContent": result,
        "isError": False,
        "resultType": "complete",
    }


class Verifier:
    """Knows the tokens."""

    def __init__(self, owners: dict[str, str]) -> None:
        self._owners = owners

    async def verify_token(self, token: str) -> Any:
        """Tell whose token it is."""
        owner = self._owners.get(token)
        return owner and provider.AccessToken(token=token, client_id=owner, scopes=[])


def server(catalogs: dict[str, list[dict[str, Any]]], kind: str) -> Any:
    """Make the SDK's server for these catalogs."""
    names = {owner: {one["name"] for one in listed} for owner, listed in catalogs.items()}

    def owner(context: Any) -> str:
        name: str = context.request.user.access_token.client_id
        return name

    async def list_tools(context: Any, _: Any) -> Any:
        listed = catalogs[owner(context)]
        return {"tools": listed, "resultType": "complete", "ttlMs": 0, "cacheScope": "private"}

    async def call_tool(context: Any, params: Any) -> Any:
        if params.name not in names[owner(context)]:
            raise mcp.MCPError(code=INVALID_PARAMS, message="Unknown tool")
        if kind == "async":
            return run(params.arguments or {})
        return await anyio.run_sync(run, params.arguments or {})

    # Without the hook, each call of 2026-07-28 would list all tools first.
    return lowlevel.Server(
        "bench",
        version="1",
        on_list_tools=list_tools,
        on_call_tool=call_tool,
        get_tool_input_schema=lambda _: None,
    )


def application(port: int, *, token: str, tools: int, catalogs: int, kind: str) -> Any:
    """Make the ASGI application."""
    tokens = [token, *(secrets.token_urlsafe(32) for _ in range(catalogs - 1))]
    owners = {each: f"bench-{number}" for number, each in enumerate(tokens)}
    authority = f"127.0.0.1:{port}"
    listed = {owner: descriptors(tools) for owner in owners.values()}
    return server(listed, kind).streamable_http_app(
        stateless_http=True,
        json_response=True,
        auth=settings.AuthSettings(issuer_url=f"http://{authority}", resource_server_url=None),
        token_verifier=Verifier(owners),
        transport_security=security.TransportSecuritySettings(
            allowed_hosts=[authority], allowed_origins=[f"http://{authority}"]
        ),
        max_request_body_size=4 * 1024 * 1024,
    )


def main() -> None:
    token, tools, catalogs, kind = sys.argv[1:]
    uvicorn_thread.serve(
        functools.partial(
            application, token=token, tools=int(tools), catalogs=int(catalogs), kind=kind
        )
    )


if __name__ == "__main__":
    main()
