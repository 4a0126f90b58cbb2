"""A tool as a value: what it is called, what it takes, and how to call it."""

from __future__ import annotations

import inspect
import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from .context import Context
from .plan import OUTPUT_LIMIT, Plan
from .providers import Provider, WireView, wire_view

__all__ = ["Tool", "ToolAnnotations", "plan_of"]


@dataclass(frozen=True, slots=True, kw_only=True)
class ToolAnnotations:
    """What a tool claims about itself; ``None`` claims nothing."""

    read_only: bool | None = None
    """Whether it changes nothing."""
    destructive: bool | None = None
    """Whether it may destroy something."""
    idempotent: bool | None = None
    """Whether a second equal call changes nothing more."""
    open_world: bool | None = None
    """Whether it reaches beyond the application."""


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Tool:
    """A function of the application, ready to be lent. Made by `define` only."""

    name: str
    """Its name, as the model calls it."""
    description: str
    """What it does, for the model."""
    title: str | None
    """A name for people."""
    revision: str | None
    """Names the meaning of the tool; change it when the meaning changes."""
    deadline: float | None
    """The longest that a hosted call may take, in seconds; ``None`` for the
    gateway's default. A provider that accepts no event stream is answered after 240 s
    at the latest."""
    output_limit: int | None
    """The largest result, in bytes of its JSON text; ``None`` for 4 MiB, hosted
    for the gateway's limit."""
    annotations: ToolAnnotations
    """What it claims about itself."""
    _input_text: str = field(repr=False)
    _output_text: str = field(repr=False)
    _plan: Plan = field(repr=False)

    @property
    def input_schema(self) -> dict[str, Any]:
        """The JSON Schema of the arguments; a fresh copy."""
        schema: dict[str, Any] = json.loads(self._input_text)
        return schema

    @property
    def output_schema(self) -> dict[str, Any]:
        """The JSON Schema of the structured result; a fresh copy.

        A result that is no object is under ``result`` there.
        """
        schema: dict[str, Any] = json.loads(self._output_text)
        return schema

    def wire_schema(self, provider: Provider) -> WireView:
        """Return the tool as a provider's model sees it, to be read or printed.

        Args:
            provider: ``codex``, ``claude``, ``cursor`` or ``codebuddy``.

        Returns:
            Name, schema, and plain sentences on what is kept, renamed or
            dropped. Seen with the real command lines, except Cursor's.

        Raises:
            ConfigurationError: There is no such provider.
        """
        return wire_view(provider, self.name, self.description, self.input_schema)

    def invoke(self, arguments: Mapping[str, Any], /, *, context: Context | None = None) -> Any:
        """Call the tool as a model would, in this thread and its context.

        Args:
            arguments: JSON values by name.
            context: What the handler gets as its ``tool.Context``; by default
                one without a deadline that nobody cancels.

        Returns:
            The result as JSON values.

        Raises:
            InvalidInputError: The arguments do not fit; says where and why.
            InvalidOutputError: The handler's result is not what it declares.
            RuntimeError: The handler is async, and this thread runs a loop.
            BaseException: What the handler raises, unchanged; `as_rejection`
                tells rejections from the rest.
        """
        plan = self._plan
        result = plan.start(plan.arguments(arguments), context or Context(self.name))
        if plan.is_async and inspect.isawaitable(result):
            from .loop import run_here

            result = run_here(result, self.name)
        return plan.answer(result, self.output_limit or OUTPUT_LIMIT).value

    async def ainvoke(
        self, arguments: Mapping[str, Any], /, *, context: Context | None = None
    ) -> Any:
        """Call the tool as `invoke` does, from async code.

        An async handler runs in this task, a sync one on a worker thread with a
        copy of this context; cancelling this task cancels its ``tool.Context``.

        Args:
            arguments: JSON values by name.
            context: As for `invoke`.

        Returns:
            The result as JSON values.

        Raises:
            InvalidInputError: The arguments do not fit; says where and why.
            InvalidOutputError: The handler's result is not what it declares.
            BaseException: What the handler raises, unchanged.
        """
        plan = self._plan
        values = plan.arguments(arguments)
        call = context or Context(self.name)
        if plan.is_async:
            result = plan.start(values, call)
        else:
            from .loop import run_in_thread

            result = await run_in_thread(lambda: plan.start(values, call), call)
        if plan.is_async and inspect.isawaitable(result):
            result = await result
        return plan.answer(result, self.output_limit or OUTPUT_LIMIT).value


def plan_of(tool: Tool) -> Plan:
    """Return how a tool is called; for the host's side of a call."""
    return tool._plan
