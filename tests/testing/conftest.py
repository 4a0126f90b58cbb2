"""The scripted provider as a child process, and a real MCP server for it."""

from __future__ import annotations

import asyncio
import contextlib
import json
import os
import signal
import socket
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import mcp_types
import psutil
import pytest
import uvicorn
from claude_session import Session
from mcp import MCPError
from mcp.server.lowlevel import Server
from mcp.server.streamable_http_manager import StreamableHTTPSessionManager

DEADLINE = 30.0
VARIABLE = "TOOLCRIB_TOKEN_0123456789ABCDEF0123456789ABCDEF"
TOKEN = "a-token-of-this-test"
CLAUDE_ASKS = ("--permission-prompt-tool", "stdio")


@dataclass(frozen=True)
class Ended:
    """What a provider left behind."""

    code: int
    lines: list[str]
    stderr: str

    @property
    def records(self) -> list[dict[str, Any]]:
        return [json.loads(line) for line in self.lines]

    @property
    def types(self) -> list[str]:
        return [record["type"] for record in self.records]

    @property
    def terminal(self) -> dict[str, Any]:
        (record,) = [record for record in self.records if record["type"] == "result"]
        return record

    def tool_calls(self) -> list[dict[str, Any]]:
        return [record for record in self.records if record["type"] == "tool_call"]


@dataclass
class Provider:
    """Starts the scripted provider with a home and a workspace of its own."""

    root: Path
    environment: dict[str, str] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self.home = self.root / "home"
        self.workspace = self.root / "workspace"
        self.data = self.root / "data"
        for folder in (self.home / ".cursor", self.workspace, self.data):
            folder.mkdir(parents=True)
        inherited = {
            "PATH",
            "PYTHONPATH",
            "LANG",
            "COVERAGE_PROCESS_START",
            "PYTHONDONTWRITEBYTECODE",
        }
        self.environment.update({k: v for k, v in os.environ.items() if k in inherited})
        self.environment |= {"HOME": str(self.home), "CURSOR_DATA_DIR": str(self.data)}

    def script(self, *steps: Mapping[str, Any], **turn: Any) -> Path:
        return self.write_script({"turns": [{**turn, "steps": list(steps)}]})

    def write_script(self, script: object) -> Path:
        path = self.root / "script.json"
        path.write_text(json.dumps(script), encoding="utf-8")
        return path

    def command(self, script: Path, *arguments: str) -> list[str]:
        return [
            *(sys.executable, "-P", "-m", "toolcrib.testing.scripted_provider"),
            *("--script", str(script), "-p", "--output-format", "stream-json"),
            *("--workspace", str(self.workspace), *arguments),
        ]

    def run(self, script: Path, *arguments: str, prompt: str = "Hello") -> Ended:
        return self.execute(self.command(script, *arguments), prompt)

    def execute(self, command: list[str], prompt: str = "Hello") -> Ended:
        ended = subprocess.run(
            command,
            input=prompt.encode(),
            capture_output=True,
            env=self.environment,
            cwd=self.root,
            timeout=DEADLINE,
            check=False,
        )
        return Ended(
            ended.returncode,
            ended.stdout.decode().splitlines(),
            ended.stderr.decode(),
        )

    @contextlib.contextmanager
    def start(self, script: Path, *arguments: str) -> Iterator[subprocess.Popen[bytes]]:
        process = subprocess.Popen(
            self.command(script, *arguments, "Hello"),
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            env=self.environment,
            start_new_session=True,
        )
        try:
            with process:
                try:
                    yield process
                finally:
                    with contextlib.suppress(ProcessLookupError):
                        os.killpg(process.pid, signal.SIGKILL)
        finally:
            for path in self.workspace.glob("*.pid"):
                with contextlib.suppress(psutil.NoSuchProcess):
                    psutil.Process(int(path.read_text())).kill()

    def declare(self, url: str, *, key: str = "toolcrib", root: Path | None = None) -> None:
        headers = {"Authorization": f"Bearer ${{env:{VARIABLE}}}"}
        path = (root or self.home) / ".cursor" / "mcp.json"
        path.parent.mkdir(exist_ok=True)
        entry = {"type": "http", "url": url, "headers": headers}
        path.write_text(json.dumps({"mcpServers": {key: entry}}), encoding="utf-8")


@pytest.fixture
def provider(tmp_path: Path) -> Provider:
    return Provider(tmp_path)


class ToolServer:
    """A real MCP server with a bearer check, which remembers what it was asked."""

    def __init__(self) -> None:
        self.requests: list[tuple[str, str, str | None]] = []
        self.refused_version: bytes | None = None
        self._sessions = StreamableHTTPSessionManager(
            Server("tests", on_list_tools=_list_tools, on_call_tool=_call_tool),
            json_response=True,
        )
        config = uvicorn.Config(
            self._app, interface="asgi3", lifespan="off", log_config=None, ws="none"
        )
        self._server = uvicorn.Server(config)
        self._socket = socket.create_server(("127.0.0.1", 0))
        self.url = f"http://127.0.0.1:{self._socket.getsockname()[1]}/mcp"
        self._thread = threading.Thread(target=lambda: asyncio.run(self._serve()))

    def tokens(self) -> set[str | None]:
        return {token for _, _, token in self.requests}

    def rpc_methods(self) -> list[str]:
        return [detail for verb, detail, _ in self.requests if verb == "POST"]

    async def _serve(self) -> None:
        async with self._sessions.run():
            await self._server.serve(sockets=[self._socket])

    async def _app(self, scope: Any, receive: Any, send: Any) -> None:
        headers = dict(scope["headers"])
        token = headers.get(b"authorization")
        given = None if token is None else token.decode()
        if given != f"Bearer {TOKEN}":
            self.requests.append((scope["method"], scope["path"], given))
            await _refuse(send, 401)
            return
        if self.refused_version and headers.get(b"mcp-protocol-version") == self.refused_version:
            await _refuse(send, 400)
            return
        if scope["method"] != "POST":
            self.requests.append((scope["method"], scope["path"], given))
        await self._sessions.handle_request(scope, self._noting(scope, receive, given), send)

    def _noting(self, scope: Any, receive: Any, token: str | None) -> Any:
        async def noted() -> Any:
            message = await receive()
            if message.get("body"):
                method = json.loads(message["body"]).get("method", "")
                self.requests.append((scope["method"], method, token))
            return message

        return noted

    def start(self) -> None:
        self._thread.start()

    def stop(self) -> None:
        self._server.should_exit = True
        self._server.force_exit = True
        self._thread.join(DEADLINE)
        self._socket.close()


async def _refuse(send: Any, status: int) -> None:
    await send({"type": "http.response.start", "status": status, "headers": []})
    await send({"type": "http.response.body", "body": b"refused"})


async def _list_tools(_context: Any, _params: Any) -> mcp_types.ListToolsResult:
    schema = {
        "type": "object",
        "properties": {"key": {"type": "string"}},
        "required": ["key"],
    }
    look_up = mcp_types.Tool(name="lookup_issue", title="Issue lookup", input_schema=schema)
    plain = mcp_types.Tool(name="say_plainly", input_schema={"type": "object"})
    broken = mcp_types.Tool(name="break_down", input_schema={"type": "object"})
    return mcp_types.ListToolsResult(tools=[look_up, plain, broken])


async def _call_tool(
    _context: Any, params: mcp_types.CallToolRequestParams
) -> mcp_types.CallToolResult:
    if params.name == "say_plainly":
        return mcp_types.CallToolResult(content=[mcp_types.TextContent(text="just words")])
    if params.name == "break_down":
        raise MCPError(code=mcp_types.INTERNAL_ERROR, message="it broke")
    key = (params.arguments or {}).get("key")
    if key != "ISSUE-42":
        refusal = json.dumps({"code": "not_found", "message": f"There is no {key}."})
        return mcp_types.CallToolResult(
            content=[mcp_types.TextContent(text=refusal)], is_error=True
        )
    issue = {"title": "Wrong currency", "state": "open", "votes": 3}
    return mcp_types.CallToolResult(
        content=[mcp_types.TextContent(text=json.dumps(issue))], structured_content=issue
    )


@pytest.fixture(scope="session")
def _tool_server() -> Iterator[ToolServer]:
    server = ToolServer()
    server.start()
    yield server
    server.stop()


@pytest.fixture
def tool_server(_tool_server: ToolServer) -> ToolServer:
    _tool_server.requests.clear()
    _tool_server.refused_version = None
    return _tool_server


@pytest.fixture
def start_claude(tmp_path: Path) -> Iterator[Callable[..., Session]]:
    """Start a process for some steps, with the prompt ``Hello``."""
    (tmp_path / "workspace").mkdir()
    (tmp_path / "profile").mkdir()
    started: list[Session] = []

    def start(
        *steps: Mapping[str, Any], arguments: tuple[str, ...] = CLAUDE_ASKS, prompt: str = "Hello"
    ) -> Session:
        script = {"turns": [{"steps": list(steps)}]}
        (tmp_path / "script.json").write_text(json.dumps(script))
        formats = ("--input-format", "stream-json", "--output-format", "stream-json")
        more = ("--verbose", "--include-partial-messages")
        session = Session(tmp_path, "-p", *formats, *more, *arguments)
        session.start()
        started.append(session)
        if prompt:
            session.say(prompt)
        return session

    yield start
    for session in started:
        with contextlib.suppress(ProcessLookupError):
            os.killpg(session.process.pid, signal.SIGKILL)
        session.process.communicate(timeout=DEADLINE)


@pytest.fixture
def claude_server(tmp_path: Path, tool_server: Any) -> Any:
    """Declare the server in the profile, as a user would."""
    headers = {"Authorization": f"Bearer ${{{VARIABLE}}}"}
    entry = {"type": "http", "url": tool_server.url, "headers": headers, "alwaysLoad": True}
    profile = tmp_path / "profile"
    profile.mkdir(exist_ok=True)
    (profile / ".claude.json").write_text(json.dumps({"mcpServers": {"toolcrib": entry}}))
    return tool_server
