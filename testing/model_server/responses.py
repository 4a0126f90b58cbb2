"""OpenAI's Responses API, as Codex speaks it."""

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
    "input_tokens": INPUT_TOKENS,
    "input_tokens_details": {"cached_tokens": CACHED_TOKENS},
    "output_tokens": OUTPUT_TOKENS,
    "output_tokens_details": {"reasoning_tokens": 0},
    "total_tokens": INPUT_TOKENS + OUTPUT_TOKENS,
}


def read(body: dict[str, Any]) -> ModelRequest:
    """Read a request."""
    items = body.get("input", ())
    if isinstance(items, str):
        items = [{"type": "message", "role": "user", "content": items}]
    messages = [ModelMessage("system", body["instructions"])] if body.get("instructions") else []
    messages += [message for item in items for message in _messages(item)]
    tools = tuple(tool for entry in body.get("tools") or () for tool in _tools(entry))
    return ModelRequest("responses", str(body.get("model")), tools, flat(messages), body)


def _messages(item: Mapping[str, Any]) -> Iterator[ModelMessage]:
    match item:
        case {"role": str(role), "content": content}:
            yield from (
                ModelMessage("system" if role == "developer" else role, text)  # type: ignore[arg-type]
                for text in text_of(content)
            )
        case {"type": "function_call", "name": name, "call_id": id, "arguments": arguments}:
            yield ModelMessage("call", arguments, tool=name, call_id=id)
        case {"type": str(kind), "call_id": id, "output": output} if kind.endswith("call_output"):
            yield ModelMessage("result", "\n".join(text_of(output)), call_id=id)


def _tools(entry: Mapping[str, Any], namespace: str = "") -> Iterator[OfferedTool]:
    if entry.get("type") == "namespace":
        for tool in entry.get("tools", ()):
            yield from _tools(tool, str(entry["name"]))
        return
    name = str(entry.get("name") or entry.get("type"))
    description, schema = entry.get("description") or "", entry.get("parameters") or {}
    yield OfferedTool(name, description, schema, namespace)


def stream(request: ModelRequest, blocks: tuple[Block, ...]) -> Iterator[Event]:
    """Write an answer as events."""
    response = whole(request, blocks)
    begun = {**response, "status": "in_progress", "output": [], "usage": None}
    yield _event("created", response=begun)
    for index, (item, block) in enumerate(zip(response["output"], blocks, strict=True)):
        place = {"output_index": index}
        empty: dict[str, Any] = (
            {"arguments": ""} if isinstance(block, ToolUse) else {"content": []}
        )
        yield _event("output_item.added", **place, item={**item, **empty, "status": "in_progress"})
        place["item_id"] = item["id"]
        if isinstance(block, Text):
            for piece in pieces(block.text):
                yield _event("output_text.delta", **place, content_index=0, delta=piece)
        yield _event("output_item.done", output_index=index, item=item)
    yield _event("completed", response=response)


def whole(request: ModelRequest, blocks: tuple[Block, ...]) -> dict[str, Any]:
    """Write an answer as one document."""
    return {
        "id": f"resp_{secrets.token_hex(8)}",
        "object": "response",
        "status": "completed",
        "model": request.model,
        "output": [_item(block) for block in blocks],
        "usage": _USAGE,
    }


def error(refusal: Refusal) -> dict[str, Any]:
    """Write an error's document."""
    kind = "server_error" if refusal.status >= 500 else "invalid_request_error"
    return {"error": {"message": refusal.message, "type": kind, "code": None, "param": None}}


def _item(block: Block) -> dict[str, Any]:
    match block:
        case Text(text=text):
            content = {"type": "output_text", "text": text, "annotations": []}
            return _new("message", role="assistant", content=[content])
        case Thought(text=text):
            return _new("reasoning", summary=[{"type": "summary_text", "text": text}])
        case ToolUse(tool=tool, arguments=arguments):
            call = {"name": tool.name, "call_id": block.id, "arguments": arguments}
            group = {"namespace": tool.namespace} if tool.namespace else {}
            return _new("function_call", **call, **group)


def _new(kind: str, **fields: Any) -> dict[str, Any]:
    return {"type": kind, "id": f"item_{secrets.token_hex(8)}", "status": "completed", **fields}


def _event(kind: str, **fields: Any) -> Event:
    name = f"response.{kind}"
    return Event({"type": name, **fields}, name)
