"""OpenAI's chat completions, as CodeBuddy speaks them."""

from __future__ import annotations

import secrets
from collections.abc import Iterator, Mapping
from typing import Any

from .answer import (
    CACHED_TOKENS,
    INPUT_TOKENS,
    OUTPUT_TOKENS,
    Block,
    Event,
    Text,
    Thought,
    ToolUse,
    pieces,
)
from .content import flat, text_of
from .exchange import ModelMessage, ModelRequest, OfferedTool
from .responses import error

__all__ = ["error", "read", "stream", "whole"]

_USAGE = {
    "prompt_tokens": INPUT_TOKENS,
    "completion_tokens": OUTPUT_TOKENS,
    "total_tokens": INPUT_TOKENS + OUTPUT_TOKENS,
    "prompt_tokens_details": {"cached_tokens": CACHED_TOKENS},
}


def read(body: dict[str, Any]) -> ModelRequest:
    """Read a request."""
    found: list[ModelMessage] = []
    for message in body.get("messages", ()):
        found += _messages(message)
    functions = (tool["function"] for tool in body.get("tools") or () if "function" in tool)
    tools = tuple(
        OfferedTool(each["name"], each.get("description") or "", each.get("parameters") or {})
        for each in functions
    )
    return ModelRequest("completions", str(body.get("model")), tools, flat(found), body)


def _messages(message: Mapping[str, Any]) -> Iterator[ModelMessage]:
    role: Any = message["role"]
    texts = text_of(message.get("content"))
    if role == "tool":
        yield ModelMessage("result", "\n".join(texts), call_id=message["tool_call_id"])
        return
    yield from (ModelMessage("system" if role == "developer" else role, text) for text in texts)
    for call in message.get("tool_calls") or ():
        function = call["function"]
        arguments, name = function.get("arguments") or "", function["name"]
        yield ModelMessage("call", arguments, tool=name, call_id=call["id"])


def stream(request: ModelRequest, blocks: tuple[Block, ...]) -> Iterator[Event]:
    """Write an answer as events."""
    head = _head(request, "chat.completion.chunk")
    for delta in _deltas(blocks):
        yield Event({**head, "choices": [_choice(delta=delta)]})
    yield Event({**head, "choices": [_choice(delta={}, finish_reason=_finish(blocks))]})
    yield Event({**head, "choices": [], "usage": _USAGE})
    yield Event("[DONE]")


def whole(request: ModelRequest, blocks: tuple[Block, ...]) -> dict[str, Any]:
    """Write an answer as one document."""
    calls = [_call(block) for block in blocks if isinstance(block, ToolUse)]
    message: dict[str, Any] = {"role": "assistant", "content": _joined(blocks, Text)}
    if thought := _joined(blocks, Thought):
        message["reasoning_content"] = thought
    if calls:
        message["tool_calls"] = calls
    choice = _choice(message=message, finish_reason=_finish(blocks))
    return {**_head(request, "chat.completion"), "choices": [choice], "usage": _USAGE}


def _head(request: ModelRequest, kind: str) -> dict[str, Any]:
    id = f"chatcmpl-{secrets.token_hex(8)}"
    return {"id": id, "object": kind, "created": 1, "model": request.model}


def _choice(finish_reason: str | None = None, **what: Any) -> dict[str, Any]:
    return {"index": 0, **what, "finish_reason": finish_reason}


def _finish(blocks: tuple[Block, ...]) -> str:
    return "tool_calls" if any(isinstance(block, ToolUse) for block in blocks) else "stop"


def _joined(blocks: tuple[Block, ...], kind: type[Text | Thought]) -> str | None:
    return "".join(block.text for block in blocks if isinstance(block, kind)) or None


def _call(block: ToolUse) -> dict[str, Any]:
    function = {"name": block.tool.name, "arguments": block.arguments}
    return {"id": block.id, "type": "function", "function": function}


def _deltas(blocks: tuple[Block, ...]) -> Iterator[dict[str, Any]]:
    calls = 0
    for block in blocks:
        match block:
            case Text(text=text):
                for piece in pieces(text):
                    yield {"role": "assistant", "content": piece}
            case Thought(text=text):
                for piece in pieces(text):
                    yield {"role": "assistant", "reasoning_content": piece}
            case ToolUse():
                call = {**_call(block), "index": calls}
                yield {"role": "assistant", "content": None, "tool_calls": [call]}
                calls += 1
