"""Anthropic's Messages API, as Claude Code speaks it."""

from __future__ import annotations

import json
import secrets
from collections.abc import Iterator, Mapping
from typing import Any

from .answer import (
    CACHED_TOKENS,
    INPUT_TOKENS,
    OUTPUT_TOKENS,
    Block,
    Event,
    Refusal,
    Text,
    Thought,
    ToolUse,
    pieces,
)
from .content import flat, text_of
from .exchange import ModelMessage, ModelRequest, OfferedTool

__all__ = ["error", "read", "stream", "whole"]

_USAGE = {
    "input_tokens": INPUT_TOKENS - CACHED_TOKENS,
    "cache_creation_input_tokens": 0,
    "cache_read_input_tokens": CACHED_TOKENS,
    "output_tokens": OUTPUT_TOKENS,
}
_ERRORS = {
    401: "authentication_error",
    403: "permission_error",
    404: "not_found_error",
    429: "rate_limit_error",
    529: "overloaded_error",
}


def read(body: dict[str, Any]) -> ModelRequest:
    """Read a request."""
    found = [ModelMessage("system", text) for text in text_of(body.get("system"))]
    for message in body.get("messages", ()):
        found += _messages(message["role"], message["content"])
    tools = tuple(
        OfferedTool(tool["name"], tool.get("description") or "", tool.get("input_schema") or {})
        for tool in body.get("tools") or ()
    )
    return ModelRequest("messages", str(body.get("model")), tools, flat(found), body)


def _messages(role: Any, content: Any) -> Iterator[ModelMessage]:
    blocks = content if isinstance(content, list) else [{"type": "text", "text": content}]
    for block in blocks:
        match block:
            case {"type": "tool_use", "id": id, "name": name, "input": arguments}:
                text = json.dumps(arguments, ensure_ascii=False)
                yield ModelMessage("call", text, tool=name, call_id=id)
            case {"type": "tool_result", "tool_use_id": id}:
                text = "\n".join(text_of(block.get("content")))
                failed = bool(block.get("is_error"))
                yield ModelMessage("result", text, call_id=id, is_error=failed)
            case {"type": "thinking"}:
                pass
            case _:
                yield from (ModelMessage(role, text) for text in text_of([block]))


def stream(request: ModelRequest, blocks: tuple[Block, ...]) -> Iterator[Event]:
    """Write an answer as events."""
    message = whole(request, blocks)
    stop = {"stop_reason": message["stop_reason"], "stop_sequence": None}
    begun = {
        **message,
        "content": [],
        "stop_reason": None,
        "usage": {**_USAGE, "output_tokens": 1},
    }
    yield _event("message_start", message=begun)
    for index, (block, content) in enumerate(zip(blocks, message["content"], strict=True)):
        place = {"index": index}
        yield _event("content_block_start", **place, content_block=_emptied(content))
        for delta in _deltas(block):
            yield _event("content_block_delta", **place, delta=delta)
        yield _event("content_block_stop", **place)
    yield _event("message_delta", delta=stop, usage={"output_tokens": OUTPUT_TOKENS})
    yield _event("message_stop")


def whole(request: ModelRequest, blocks: tuple[Block, ...]) -> dict[str, Any]:
    """Write an answer as one document."""
    calls = any(isinstance(block, ToolUse) for block in blocks)
    return {
        "id": f"msg_{secrets.token_hex(8)}",
        "type": "message",
        "role": "assistant",
        "model": request.model,
        "content": [_content(block) for block in blocks],
        "stop_reason": "tool_use" if calls else "end_turn",
        "stop_sequence": None,
        "usage": _USAGE,
    }


def error(refusal: Refusal) -> dict[str, Any]:
    """Write an error's document."""
    other = "api_error" if refusal.status >= 500 else "invalid_request_error"
    kind = _ERRORS.get(refusal.status, other)
    return {"type": "error", "error": {"type": kind, "message": refusal.message}}


def _content(block: Block) -> dict[str, Any]:
    match block:
        case Text(text=text):
            return {"type": "text", "text": text}
        case Thought(text=text):
            return {"type": "thinking", "thinking": text, "signature": "scripted"}
        case ToolUse(tool=tool, arguments=arguments):
            given = json.loads(arguments)
            return {"type": "tool_use", "id": block.id, "name": tool.name, "input": given}


def _emptied(content: Mapping[str, Any]) -> dict[str, Any]:
    blank = {"text": "", "thinking": "", "signature": "", "input": {}}
    return {
        name: blank.get(name, value) if name != "type" else value
        for name, value in content.items()
    }


def _deltas(block: Block) -> Iterator[dict[str, Any]]:
    match block:
        case Text(text=text):
            for piece in pieces(text):
                yield {"type": "text_delta", "text": piece}
        case Thought(text=text):
            for piece in pieces(text):
                yield {"type": "thinking_delta", "thinking": piece}
            yield {"type": "signature_delta", "signature": "scripted"}
        case ToolUse(arguments=arguments):
            for piece in pieces(arguments):
                yield {"type": "input_json_delta", "partial_json": piece}


def _event(name: str, **fields: Any) -> Event:
    return Event({"type": name, **fields}, name)
