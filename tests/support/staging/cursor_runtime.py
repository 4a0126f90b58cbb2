"""Stands where Cursor's CLI would, and runs the agent runtime of Cursor's own SDK.

The runtime finds the MCP servers in the profile that the driver made. Its model
is behind Cursor's private protocol, so it gets no further than the tools: once
they were listed, this program reports success in the CLI's words.
"""

from __future__ import annotations

import importlib
import json
import os
import sys
import tempfile
import threading
import time
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

from staging.wire import Wire

# Not part of the environment: it is beside the CLIs, where those are.
_sdk: Any = importlib.import_module("cursor_sdk")

_DEADLINE = 40.0
_MODELS = {"items": [{"id": "scripted", "displayName": "Scripted"}]}


class _Backend(BaseHTTPRequestHandler):
    """Lets an API key in, and offers nothing else."""

    protocol_version = "HTTP/1.1"

    def do_POST(self) -> None:
        self.rfile.read(int(self.headers.get("content-length") or 0))
        if self.path.startswith("/auth/exchange_user_api_key"):
            self._answer(200, {"accessToken": "dummy", "refreshToken": "dummy"})
        else:
            self._answer(501, {"error": "not implemented"})

    def do_GET(self) -> None:
        self._answer(200, _MODELS) if "/models" in self.path else self._answer(501, {})

    def log_message(self, format: str, *arguments: object) -> None:
        """Say nothing."""

    def _answer(self, status: int, document: dict[str, Any]) -> None:
        body = json.dumps(document).encode()
        self.send_response(status)
        self.send_header("content-type", "application/json")
        self.send_header("content-length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)


def _converse(client: Any) -> None:
    local = _sdk.LocalAgentOptions(cwd=Path.cwd(), setting_sources=["user", "project"])
    try:
        agent = _sdk.Agent.create(client=client, model="scripted", api_key="dummy", local=local)
        for message in agent.send("List your tools.").stream():
            sys.stderr.write(f"{message}\n")
    except Exception as error:  # the model can't be reached, sooner or later
        sys.stderr.write(f"{error}\n")


def main() -> None:
    sys.stdin.read()
    wire = Wire(int(os.environ["GATEWAY"]))
    backend = ThreadingHTTPServer(("127.0.0.1", 0), _Backend)
    threading.Thread(target=backend.serve_forever, daemon=True).start()
    address = f"http://127.0.0.1:{backend.server_port}"
    os.environ["CURSOR_BACKEND_URL"] = os.environ["CURSOR_WEBSITE_URL"] = address
    with (
        tempfile.TemporaryDirectory() as state,
        _sdk.Bridge.launch(workspace=Path.cwd(), state_root=state) as bridge,
    ):
        client = _sdk.Client(bridge.endpoint)
        threading.Thread(target=_converse, args=(client,), daemon=True).start()
        listed = _wait_for_list(wire)
    wire.end()
    session = {"session_id": "sdk"}
    for record in (
        {"type": "system", "subtype": "init", "model": "scripted", **session},
        {"type": "result", "subtype": "success", "is_error": not listed, "result": "", **session},
    ):
        sys.stdout.write(json.dumps(record) + "\n")
    sys.stdout.flush()
    os._exit(0)  # the SDK's threads wait for a model that never answers


def _wait_for_list(wire: Wire) -> bool:
    end = time.monotonic() + _DEADLINE
    while time.monotonic() < end:
        if any(request["method"] == "tools/list" for request in wire.requests()):
            return True
        threading.Event().wait(0.1)
    return False


if __name__ == "__main__":
    main()
