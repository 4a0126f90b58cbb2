"""The user's own MCP server, over standard input and output: it keeps notes."""

from __future__ import annotations

import json
import sys
from typing import Any

_TOOL = {
    "name": "remember",
    "description": "Keep a note.",
    "inputSchema": {
        "type": "object",
        "properties": {"note": {"type": "string"}},
        "required": ["note"],
    },
}


def _answer(method: str, params: dict[str, Any]) -> dict[str, Any] | None:
    match method:
        case "initialize":
            return {
                "protocolVersion": params.get("protocolVersion", "2025-06-18"),
                "capabilities": {"tools": {}},
                "serverInfo": {"name": "notes", "version": "1"},
            }
        case "tools/list":
            return {"tools": [_TOOL]}
        case "tools/call":
            note = params["arguments"]["note"]
            return {"content": [{"type": "text", "text": f"noted: {note}"}], "isError": False}
        case "ping":
            return {}
    return None


def main() -> None:
    for line in sys.stdin:
        message = json.loads(line)
        if "id" not in message or "method" not in message:
            continue
        result = _answer(message["method"], message.get("params") or {})
        answer: dict[str, Any] = {"jsonrpc": "2.0", "id": message["id"]}
        if result is None:
            answer["error"] = {"code": -32601, "message": "no such method"}
        else:
            answer["result"] = result
        sys.stdout.write(json.dumps(answer) + "\n")
        sys.stdout.flush()


if __name__ == "__main__":
    main()
