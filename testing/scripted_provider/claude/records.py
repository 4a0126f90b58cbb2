"""The records of Claude Code's stream-json output."""

from __future__ import annotations

import json
import time
import uuid
from collections.abc import Mapping, Sequence
from typing import Any

from ..telling import Answer, Call

__all__ = ["Records", "full_name"]

_VERSION = "2.1.332"
_OWN_TOOLS = ("Task", "Bash", "Edit", "Read", "WebFetch", "WebSearch", "Write")
_FOR_PEOPLE = ("AskUserQuestion", "ExitPlanMode")
_INPUT_PRICE = 1e-6
_OUTPUT_PRICE = 5e-6


def full_name(call: Call) -> str:
    """Return the name of a tool as the model sees it."""
    return f"mcp__{call.server}__{call.name}" if call.server else call.name


class Records:
    """Makes the records of one conversation's turn.

    Args:
        session_id: The conversation's id, which most records carry.
        model: The model's name.
    """

    def __init__(self, session_id: str, model: str) -> None:
        self._session_id = session_id
        self._model = model
        self._denials: list[dict[str, Any]] = []

    def init(
        self, cwd: str, mode: str, servers: Mapping[str, Sequence[str] | str], *, prompts: bool
    ) -> dict[str, Any]:
        """Return the first record of a turn.

        Args:
            cwd: The workspace.
            mode: The permission mode.
            servers: The tools of each server that was connected, or its state.
                Where there are none, the record tells neither servers nor tools.
            prompts: Whether people can be asked.
        """
        told: dict[str, Any] = {}
        if servers:
            tools = [*_OWN_TOOLS, *(_FOR_PEOPLE if prompts else ())]
            states = []
            for key, found in servers.items():
                state = found if isinstance(found, str) else "connected"
                states.append({"name": key, "status": state, "source": "user"})
                names = () if isinstance(found, str) else found
                tools += [f"mcp__{key}__{name}" for name in names]
            told = {"tools": tools, "mcp_servers": states}
        return {
            "type": "system",
            "subtype": "init",
            "cwd": cwd,
            "session_id": self._session_id,
            **told,
            "model": self._model,
            "permissionMode": mode,
            "slash_commands": [],
            "apiKeySource": "ANTHROPIC_API_KEY",
            "claude_code_version": _VERSION,
            "output_style": "default",
            "agents": [],
            "skills": [],
            "plugins": [],
            "uuid": str(uuid.uuid4()),
        }

    def stream_event(self, message_id: str, event: Mapping[str, Any]) -> dict[str, Any]:
        """Return a record about a piece of a message."""
        return {
            "type": "stream_event",
            "event": event,
            "session_id": self._session_id,
            "parent_tool_use_id": None,
            "uuid": str(uuid.uuid4()),
            "api_message_id": message_id,
        }

    def message(self, message_id: str, content: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
        """Return a message of the model, as it stands in records and events."""
        return {
            "id": message_id,
            "type": "message",
            "role": "assistant",
            "model": self._model,
            "content": content,
            "stop_reason": None,
            "stop_sequence": None,
            "usage": _counts(1, 1),
        }

    def assistant(self, message_id: str, block: Mapping[str, Any]) -> dict[str, Any]:
        """Return the record of one whole block of a message."""
        return self._spoken("assistant", self.message(message_id, [block]))

    def tool_result(self, call: Call, answer: Answer) -> dict[str, Any]:
        """Return the record of what came back from a call."""
        text = answer.text
        told: Any = {"content": text}
        block: dict[str, Any] = {"tool_use_id": call.id, "type": "tool_result"}
        if answer.is_error:
            block["is_error"] = True
            told = f"Error: {text}"
        elif answer.structured is not None:
            # Where there is structure, the model reads that alone.
            text = json.dumps(answer.structured, ensure_ascii=False, separators=(",", ":"))
            told["structuredContent"] = answer.structured
        block["content"] = text
        record = self._spoken("user", {"role": "user", "content": [block]})
        return {**record, "tool_use_result": told}

    def permission_denied(self, call: Call, message: str) -> dict[str, Any]:
        """Return the record of a call that was refused without asking."""
        return {
            "type": "system",
            "subtype": "permission_denied",
            "tool_name": full_name(call),
            "tool_use_id": call.id,
            "message": message,
            "uuid": str(uuid.uuid4()),
            "session_id": self._session_id,
        }

    def can_use_tool(self, number: str, call: Call, *, for_people: bool) -> dict[str, Any]:
        """Return the request for leave to call a tool."""
        name = full_name(call)
        suggestion = {
            "type": "addRules",
            "rules": [{"toolName": name}],
            "behavior": "allow",
            "destination": "localSettings",
        }
        more: dict[str, Any] = {"permission_suggestions": [suggestion]}
        if for_people:
            more = {"requires_user_interaction": True}
        elif isinstance(call.arguments.get("description"), str):
            more["description"] = call.arguments["description"]
        request = {
            "subtype": "can_use_tool",
            "tool_name": name,
            "display_name": call.title or call.name,
            "input": call.arguments,
            **more,
            "tool_use_id": call.id,
        }
        return {"type": "control_request", "request_id": number, "request": request}

    def withdrawal(self, number: str) -> dict[str, Any]:
        """Return the record that a request needs no answer any more."""
        return {"type": "control_cancel_request", "request_id": number}

    def denied(self, call: Call) -> None:
        """Remember a call that was not allowed, for the result record."""
        self._denials.append(
            {"tool_name": full_name(call), "tool_use_id": call.id, "tool_input": call.arguments}
        )

    def result(
        self, text: str, tokens: tuple[int, int], milliseconds: int, override: Mapping[str, Any]
    ) -> dict[str, Any]:
        """Return the terminal record.

        Args:
            text: The answer.
            tokens: A plausible count of them, read and said.
            milliseconds: How long it took.
            override: Fields to put in place; ``None`` leaves a field out.
        """
        read, said = tokens
        record = {
            "type": "result",
            "subtype": "success",
            "is_error": False,
            "result": text,
            "session_id": self._session_id,
            "stop_reason": "end_turn",
            "terminal_reason": "completed",
            "num_turns": 1,
            "duration_ms": milliseconds,
            "duration_api_ms": milliseconds,
            "total_cost_usd": round(read * _INPUT_PRICE + said * _OUTPUT_PRICE, 9),
            "usage": _counts(read, said),
            "permission_denials": self._denials,
            "uuid": str(uuid.uuid4()),
            **override,
        }
        return {key: value for key, value in record.items() if value is not None}

    def _spoken(self, kind: str, message: Mapping[str, Any]) -> dict[str, Any]:
        now = time.time()
        stamp = time.strftime("%Y-%m-%dT%H:%M:%S", time.gmtime(now))
        return {
            "type": kind,
            "message": message,
            "parent_tool_use_id": None,
            "session_id": self._session_id,
            "uuid": str(uuid.uuid4()),
            "timestamp": f"{stamp}.{int(now * 1000) % 1000:03}Z",
        }


def _counts(read: int, said: int) -> dict[str, int]:
    return {
        "input_tokens": read,
        "cache_creation_input_tokens": 0,
        "cache_read_input_tokens": 0,
        "output_tokens": said,
    }
