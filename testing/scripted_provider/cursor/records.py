"""The records of Cursor's stream-json output."""

from __future__ import annotations

import time
import uuid
from collections.abc import Mapping, Sequence
from typing import Any

__all__ = ["Records", "mcp_call", "mcp_failure", "mcp_success", "new_call_id"]


class Records:
    """Makes the records of one invocation.

    Args:
        session_id: The conversation's id, which every record carries.
    """

    def __init__(self, session_id: str) -> None:
        self._session = {"session_id": session_id}

    def init(self, cwd: str, model: str) -> dict[str, Any]:
        """Return the first record."""
        return {
            "type": "system",
            "subtype": "init",
            "apiKeySource": "login",
            "cwd": cwd,
            **self._session,
            "model": model,
            "permissionMode": "default",
        }

    def message(self, role: str, text: str) -> dict[str, Any]:
        """Return a ``user`` or ``assistant`` record."""
        content = [{"type": "text", "text": text}]
        return {"type": role, "message": {"role": role, "content": content}, **self._session}

    def thinking(self, text: str | None) -> dict[str, Any]:
        """Return a piece of thinking, or its end where there is no text."""
        subtype = {"subtype": "completed"} if text is None else {"subtype": "delta", "text": text}
        now = time.time_ns() // 1_000_000
        return {"type": "thinking", **subtype, **self._session, "timestamp_ms": now}

    def tool_call(
        self, call_id: str, call: Mapping[str, Any], result: Mapping[str, Any] | None = None
    ) -> dict[str, Any]:
        """Return a ``tool_call`` record: started, or completed with a result.

        Args:
            call_id: The id of the call.
            call: What `mcp_call` returned.
            result: How it ended; ``None`` while it has not.
        """
        body = dict(call) if result is None else {**call, "result": result}
        return {
            "type": "tool_call",
            "subtype": "started" if result is None else "completed",
            "call_id": call_id,
            "tool_call": {
                "mcpToolCall": body,
                "hookAdditionalContexts": [],
                "toolCallId": call_id,
            },
            **self._session,
        }

    def result(
        self, text: str, prompt: str, milliseconds: int, override: Mapping[str, Any]
    ) -> dict[str, Any]:
        """Return the terminal record.

        Args:
            text: The whole answer.
            prompt: The prompt, for a plausible count of tokens.
            milliseconds: How long it took.
            override: Fields to put in place; ``None`` leaves a field out.
        """
        usage = {"inputTokens": len(prompt) // 4 + 1, "outputTokens": len(text) // 4 + 1}
        record = {
            "type": "result",
            "subtype": "success",
            "duration_ms": milliseconds,
            "is_error": False,
            "result": text,
            **self._session,
            "request_id": str(uuid.uuid4()),
            "usage": usage,
            **override,
        }
        return {key: value for key, value in record.items() if value is not None}


def new_call_id() -> str:
    """Return a call id; like the real ones it holds a newline."""
    return f"call_{uuid.uuid4().hex[:24]}\nfc_{uuid.uuid4().hex}"


def mcp_call(
    call_id: str, server: str, tool: str, arguments: Mapping[str, Any], description: str
) -> dict[str, Any]:
    """Return the ``mcpToolCall`` part of a record."""
    return {
        "args": {
            "name": f"{server}-{tool}",
            "args": arguments,
            "toolCallId": call_id,
            "providerIdentifier": server,
            "toolName": tool,
            "smartModeApprovalOnly": False,
            "skipApproval": False,
            "serverIdentifier": server,
        },
        "description": description,
    }


def mcp_success(texts: Sequence[str], *, is_error: bool) -> dict[str, Any]:
    """Return the ``result`` of a call that the server answered."""
    content = [{"text": {"text": text}} for text in texts]
    return {"success": {"content": content, "isError": is_error}}


def mcp_failure(message: str) -> dict[str, Any]:
    """Return the ``result`` of a call that got no answer."""
    return {"error": {"error": message}}
