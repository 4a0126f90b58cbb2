"""The CLIs' sides of the protocols of their models, as small clients."""

from __future__ import annotations

import http.client
import json
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

from toolcrib.testing import ModelServer

DEADLINE = 20.0
LOOKUP = {"type": "object", "properties": {"key": {"type": "string"}}}
SHELL = {"type": "object"}


@dataclass
class Heard:
    """What a provider understood of an answer."""

    status: int
    text: str = ""
    thought: str = ""
    calls: list[tuple[str, str, dict[str, Any]]] = field(default_factory=list)
    usage: dict[str, Any] = field(default_factory=dict)
    error: Any = None

    @property
    def names(self) -> list[str]:
        return [name for _, name, _ in self.calls]


def post(url: str, path: str, body: bytes, **headers: str) -> tuple[int, bytes]:
    host = url.removeprefix("http://")
    connection = http.client.HTTPConnection(host, timeout=DEADLINE)
    try:
        connection.request("POST", path, body, {"Content-Type": "application/json", **headers})
        response = connection.getresponse()
        return response.status, response.read()
    finally:
        connection.close()


def events(body: bytes) -> Iterator[tuple[str, dict[str, Any]]]:
    for block in body.decode().strip().split("\n\n"):
        lines = dict(line.split(": ", 1) for line in block.splitlines())
        if lines["data"] != "[DONE]":
            yield lines.get("event", ""), json.loads(lines["data"])


class Responses:
    """Codex's side of the Responses API."""

    protocol = "responses"
    path = "/v1/responses"
    shell = "exec_command"

    def __init__(self) -> None:
        self.items: list[dict[str, Any]] = []

    def user(self, text: str) -> None:
        content = [{"type": "input_text", "text": text}]
        self.items.append({"type": "message", "role": "user", "content": content})

    def result(self, call: str, text: str) -> None:
        self.items.append({"type": "function_call_output", "call_id": call, "output": text})

    def body(self, *, tools: bool = True) -> dict[str, Any]:
        lookup = {"type": "function", "name": "lookup_issue", "description": "Look up."}
        shell = {"type": "function", "name": self.shell, "parameters": SHELL}
        group = {"type": "namespace", "name": "mcp__toolcrib"}
        offered = [shell, {**group, "tools": [{**lookup, "parameters": LOOKUP}]}]
        head = {"model": "m", "stream": True, "instructions": "Be brief."}
        return {**head, "input": self.items, "tools": offered if tools else []}

    def hear(self, body: bytes) -> Heard:
        heard, items = Heard(200), []
        for name, data in events(body):
            assert name == data["type"]
            if name == "response.output_text.delta":
                heard.text += data["delta"]
            elif name == "response.output_item.done":
                items.append(data["item"])
            elif name == "response.completed":
                assert data["response"]["output"] == items
                usage = data["response"]["usage"]
                cached = usage["input_tokens_details"]["cached_tokens"]
                heard.usage = {
                    "in": usage["input_tokens"],
                    "cached": cached,
                    "out": usage["output_tokens"],
                }
        return self._gather(heard, items)

    def _gather(self, heard: Heard, items: list[dict[str, Any]]) -> Heard:
        whole = ""
        for item in items:
            if item["type"] == "message":
                whole += item["content"][0]["text"]
            elif item["type"] == "reasoning":
                heard.thought += item["summary"][0]["text"]
            else:
                name = "__".join(filter(None, (item.get("namespace"), item["name"])))
                heard.calls.append((item["call_id"], name, json.loads(item["arguments"])))
        assert whole == heard.text
        self.items += items
        return heard

    def whole(self, document: dict[str, Any]) -> str:
        return "".join(item["content"][0]["text"] for item in document["output"])

    def error(self, document: dict[str, Any]) -> str:
        return str(document["error"]["message"])


class Messages:
    """Claude Code's side of the Messages API."""

    protocol = "messages"
    path = "/v1/messages?beta=true"
    shell = "Bash"

    def __init__(self) -> None:
        self.messages: list[dict[str, Any]] = []

    def user(self, text: str) -> None:
        content = [{"type": "text", "text": text}]
        self.messages.append({"role": "user", "content": content})

    def result(self, call: str, text: str) -> None:
        block = {"type": "tool_result", "tool_use_id": call, "content": text, "is_error": True}
        self.messages.append({"role": "user", "content": [block]})

    def body(self, *, tools: bool = True) -> dict[str, Any]:
        lookup = {"name": "mcp__toolcrib__lookup_issue", "description": "Look up."}
        offered = [{"name": "Bash", "input_schema": SHELL}, {**lookup, "input_schema": LOOKUP}]
        head = {"model": "m", "stream": True, "system": [{"type": "text", "text": "Be brief."}]}
        return {**head, "messages": self.messages, "tools": offered if tools else []}

    def hear(self, body: bytes) -> Heard:
        heard, blocks = Heard(200), list[dict[str, Any]]()
        for name, data in events(body):
            assert name == data["type"]
            if name == "message_start":
                usage = data["message"]["usage"]
                cached = usage["cache_read_input_tokens"]
                heard.usage = {"in": usage["input_tokens"] + cached, "cached": cached}
            elif name == "content_block_start":
                assert data["index"] == len(blocks)
                blocks.append({**data["content_block"], "json": ""})
            elif name == "content_block_delta":
                self._join(blocks[data["index"]], data["delta"])
            elif name == "message_delta":
                heard.usage["out"] = data["usage"]["output_tokens"]
        for block in blocks:
            heard.text += block.get("text", "")
            heard.thought += block.get("thinking", "")
            if block["type"] == "tool_use":
                block["input"] = json.loads(block["json"])
                heard.calls.append((block["id"], block["name"], block["input"]))
        self.messages.append({"role": "assistant", "content": blocks})
        return heard

    def _join(self, block: dict[str, Any], delta: dict[str, Any]) -> None:
        kind = delta.pop("type")
        ((key, piece),) = delta.items()
        assert kind == {"partial_json": "input_json_delta"}.get(key, f"{key}_delta")
        block["json" if key == "partial_json" else key] += piece

    def whole(self, document: dict[str, Any]) -> str:
        return "".join(block["text"] for block in document["content"])

    def error(self, document: dict[str, Any]) -> str:
        assert document["type"] == "error"
        return str(document["error"]["message"])


class Completions:
    """CodeBuddy's side of chat completions."""

    protocol = "completions"
    path = "/v1/chat/completions"
    shell = "Bash"

    def __init__(self) -> None:
        self.messages: list[dict[str, Any]] = [{"role": "system", "content": "Be brief."}]

    def user(self, text: str) -> None:
        self.messages.append({"role": "user", "content": f"<user_query>{text}</user_query>"})

    def result(self, call: str, text: str) -> None:
        self.messages.append({"role": "tool", "tool_call_id": call, "content": text})

    def body(self, *, tools: bool = True) -> dict[str, Any]:
        lookup = {"name": "mcp__toolcrib__lookup_issue", "description": "Look up."}
        functions = [{"name": "Bash", "parameters": SHELL}, {**lookup, "parameters": LOOKUP}]
        offered = [{"type": "function", "function": function} for function in functions]
        head = {"model": "m", "stream": True, "messages": self.messages}
        return {**head, "tools": offered if tools else None}

    def hear(self, body: bytes) -> Heard:
        heard, calls, finish = Heard(200), list[dict[str, Any]](), ""
        assert body.endswith(b"data: [DONE]\n\n")
        for _, data in events(body):
            for choice in data["choices"]:
                delta = choice["delta"]
                heard.text += delta.get("content") or ""
                heard.thought += delta.get("reasoning_content", "")
                for call in delta.get("tool_calls", ()):
                    assert call["index"] == len(calls)
                    calls.append(call)
                finish = choice["finish_reason"] or finish
            if usage := data.get("usage"):
                heard.usage = {
                    "in": usage["prompt_tokens"],
                    "cached": usage["prompt_tokens_details"]["cached_tokens"],
                    "out": usage["completion_tokens"],
                }
        assert finish == ("tool_calls" if calls else "stop")
        for call in calls:
            function = call["function"]
            heard.calls.append((call["id"], function["name"], json.loads(function["arguments"])))
        said = {"role": "assistant", "content": heard.text or None}
        self.messages.append({**said, "tool_calls": calls} if calls else said)
        return heard

    def whole(self, document: dict[str, Any]) -> str:
        return str(document["choices"][0]["message"]["content"])

    def error(self, document: dict[str, Any]) -> str:
        return str(document["error"]["message"])


Provider = Responses | Messages | Completions


def ask(server: ModelServer, provider: Provider, prompt: str = "", *, tools: bool = True) -> Heard:
    """Send the conversation with this prompt added, and read the answer."""
    if prompt:
        provider.user(prompt)
    body = json.dumps(provider.body(tools=tools)).encode()
    status, answer = post(server.url, provider.path, body)
    if status != 200:
        return Heard(status, error=provider.error(json.loads(answer)))
    return provider.hear(answer)


def give(provider: Provider, heard: Heard, *results: str) -> None:
    for (call, _, _), text in zip(heard.calls, results, strict=True):
        provider.result(call, text)
