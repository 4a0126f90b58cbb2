"""What a provider asks its model, in one form for all protocols."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Literal

__all__ = ["ModelMessage", "ModelRequest", "OfferedTool"]

# Providers put words of their own between the user's, each in an element.
_INSERTED = re.compile(r"\s*<([\w-]+)[^>]*>.*</\1>\s*", re.DOTALL)
# And one, CodeBuddy, puts the user's into one too.
_QUERY = re.compile(r"<user_query>(.*)</user_query>", re.DOTALL)
_STEP = re.compile(r"call_(\d+)_")


@dataclass(frozen=True, slots=True)
class OfferedTool:
    """A tool that the provider offered to the model.

    Args:
        name: Its name.
        description: What the model is told about it.
        schema: The JSON Schema of its arguments; empty for a tool without one.
        namespace: Codex groups the tools of an MCP server under such a name;
            empty elsewhere.
    """

    name: str
    description: str
    schema: Mapping[str, Any]
    namespace: str = ""

    @property
    def full_name(self) -> str:
        """The namespace and the name, joined as the other providers do it."""
        return f"{self.namespace}__{self.name}" if self.namespace else self.name


@dataclass(frozen=True, slots=True)
class ModelMessage:
    """One piece of the conversation that a request carries.

    Args:
        role: Whose it is. ``call`` is the model's call of a tool, ``result``
            what came back.
        text: Its text; of a call the arguments, as JSON.
        tool: The name of the tool that was called; empty for other roles.
        call_id: What joins a call and its result; empty for other roles.
        is_error: Whether the result is marked as an error. Only Anthropic's
            protocol has such a mark.
    """

    role: Literal["system", "user", "assistant", "call", "result"]
    text: str
    tool: str = ""
    call_id: str = ""
    is_error: bool = False


@dataclass(frozen=True, slots=True)
class ModelRequest:
    """One request of a provider to its model.

    Args:
        protocol: ``responses`` is OpenAI's Responses API (Codex), ``messages``
            Anthropic's Messages API (Claude Code), ``completions`` OpenAI's
            chat completions (CodeBuddy).
        model: The model that was asked for.
        tools: The tools that the model was offered.
        messages: The whole conversation so far, the system prompt included.
        body: The request as it came, parsed.
    """

    protocol: Literal["responses", "messages", "completions"]
    model: str
    tools: tuple[OfferedTool, ...]
    messages: tuple[ModelMessage, ...]
    body: Mapping[str, Any]

    @property
    def prompt(self) -> str:
        """The last thing that the user said; what a provider inserts is left out."""
        text = self.messages[self._last].text if self._last >= 0 else ""
        query = _QUERY.search(text)
        return query[1] if query else text

    @property
    def results(self) -> tuple[ModelMessage, ...]:
        """The tool results since the prompt, in order."""
        return tuple(message for message in self._since if message.role == "result")

    @property
    def step(self) -> int:
        """How many replies the model gave since the prompt: 0 for the first request."""
        # The number is in the ids that the server gives its calls, so that it holds
        # whatever a provider makes of several calls in one reply.
        found = [_STEP.search(message.call_id) for message in self._since]
        return max((int(match[1]) + 1 for match in found if match), default=0)

    def find(self, name: str) -> OfferedTool | None:
        """Return the offered tool of this name, or whose full name ends with it."""
        for tool in self.tools:
            if name in {tool.name, tool.full_name}:
                return tool
        ending = (tool for tool in self.tools if tool.full_name.endswith(name))
        return min(ending, key=lambda tool: len(tool.full_name), default=None)

    @property
    def _last(self) -> int:
        said = [n for n, message in enumerate(self.messages) if message.role == "user"]
        own = [n for n in said if _is_own(self.messages[n].text)]
        return (own or said or [-1])[-1]

    @property
    def _since(self) -> tuple[ModelMessage, ...]:
        return self.messages[self._last + 1 :]


def _is_own(text: str) -> bool:
    return _QUERY.search(text) is not None or _INSERTED.fullmatch(text) is None
