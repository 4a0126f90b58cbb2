"""What runs prompts: an Agent, or one of its threads."""

from __future__ import annotations

import sys
from collections.abc import Coroutine
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeVar, Unpack, overload

from .link import Link, Wish
from .messages.options import OutputSchema
from .messages.results import Result
from .options import Options, SharedKeywords, layered
from .runtime.layers import Layer
from .runtime.tools.scope import Scope, scope_of
from .stream import Stream

__all__ = ["Door", "Runner"]

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class Door:
    """Where an Agent and its threads ask for runs."""

    link: Link
    """The line to the Agent's actor."""
    layer: Layer
    """The Agent's own options."""
    workspace: Path
    """The working directory where no option names one."""


class Runner:
    """Runs prompts, one turn each. An `Agent` is one, and so is a `Thread`.

    Every call takes `Options` and keywords, the keywords nearest; they are
    nearer than the Agent's own. What is wrong with them raises before anything
    starts: `TypeError` for what is no option of a run or is of the wrong type,
    `ValueError` for values that an option does not take, `ConfigurationError`
    for what does not go together or is not there.
    """

    def __init__(self, door: Door, thread_key: str | None) -> None:
        self._door = door
        self._thread_key = thread_key

    def run(self, prompt: str, *options: Options, **keywords: Unpack[SharedKeywords]) -> Result:
        """Run one prompt and wait for its result.

        Args:
            prompt: What to ask.
            *options: Options of this run, the last nearest.
            **keywords: Those of `SharedKeywords`, nearer still.

        Raises:
            AgentClosedError: The Agent is closing or closed.
            ConfigurationError: Something is set up wrongly; nothing was started.
            UnsupportedError: The driver can't do what an option asks for.
            GatewayError: The tools' listener could not start.
            ThreadError: The thread is busy, incompatible, or can't be stored.
            RunError: The run failed; has the partial result.
        """
        return _finish(self._begin(prompt, options, keywords, None))

    async def arun(
        self, prompt: str, *options: Options, **keywords: Unpack[SharedKeywords]
    ) -> Result:
        """Do as `run`, without blocking the running event loop, asyncio's or trio's.

        Cancelling the awaiting task cancels the run.
        """
        return await self._arun(prompt, options, keywords, None)

    def stream(self, prompt: str, *options: Options, **keywords: Unpack[SharedKeywords]) -> Stream:
        """Start one prompt and return its events, for ``for`` or ``async for``.

        Returns as soon as the run is admitted. Arguments are those of `run`.

        Raises:
            AgentClosedError: The Agent is closing or closed.
        """
        return self._begin(prompt, options, keywords, None)

    @overload
    def run_as(
        self,
        kind: type[T],
        prompt: str,
        *options: Options,
        **keywords: Unpack[SharedKeywords],
    ) -> T: ...
    @overload
    def run_as(
        self, kind: Any, prompt: str, *options: Options, **keywords: Unpack[SharedKeywords]
    ) -> Any: ...
    def run_as(
        self, kind: Any, prompt: str, *options: Options, **keywords: Unpack[SharedKeywords]
    ) -> Any:
        """Run one prompt whose answer is a value of a type, and return that value.

        The provider is held to the type's schema where it can do that itself;
        else the prompt says what the answer has to be. In both cases the answer
        is validated strictly, as a tool's arguments are.

        Args:
            kind: Any type that a tool can take, such as a dataclass, a pydantic
                model, a TypedDict or ``list[str]``.
            prompt: What to ask.
            *options: Options of this run, the last nearest.
            **keywords: Those of `SharedKeywords`, nearer still.

        Raises:
            DefinitionError: The type is none that a tool can take.
            RunError: The answer is none of the type (``INVALID_OUTPUT``); and
                what else `run` raises.
        """
        output = _schema(kind, scope_of(sys._getframe(1)))
        return _finish(self._begin(prompt, options, keywords, output)).output

    @overload
    def arun_as(
        self,
        kind: type[T],
        prompt: str,
        *options: Options,
        **keywords: Unpack[SharedKeywords],
    ) -> Coroutine[Any, Any, T]: ...
    @overload
    def arun_as(
        self, kind: Any, prompt: str, *options: Options, **keywords: Unpack[SharedKeywords]
    ) -> Coroutine[Any, Any, Any]: ...
    def arun_as(
        self, kind: Any, prompt: str, *options: Options, **keywords: Unpack[SharedKeywords]
    ) -> Coroutine[Any, Any, Any]:
        """Do as `run_as`, without blocking the running event loop.

        What is wrong with the type raises at once, the rest when it is awaited.
        """
        # No coroutine itself: the caller's names are needed, and it may never call.
        return self._arun_as(prompt, options, keywords, _schema(kind, scope_of(sys._getframe(1))))

    def stream_as(
        self, kind: Any, prompt: str, *options: Options, **keywords: Unpack[SharedKeywords]
    ) -> Stream:
        """Do as `run_as`, but return the events; the value is the result's ``output``."""
        return self._begin(prompt, options, keywords, _schema(kind, scope_of(sys._getframe(1))))

    async def _arun_as(
        self,
        prompt: str,
        options: tuple[Options, ...],
        keywords: SharedKeywords,
        output: OutputSchema,
    ) -> Any:
        return (await self._arun(prompt, options, keywords, output)).output

    async def _arun(
        self,
        prompt: str,
        options: tuple[Options, ...],
        keywords: SharedKeywords,
        output: OutputSchema | None,
    ) -> Result:
        wish = self._wish(prompt, options, keywords, output)
        stream = await self._door.link.abegin(wish)
        stream.discard()
        try:
            return await stream.aresult()
        except BaseException:
            stream.cancel()
            raise

    def _begin(
        self,
        prompt: str,
        options: tuple[Options, ...],
        keywords: SharedKeywords,
        output: OutputSchema | None,
    ) -> Stream:
        return self._door.link.begin(self._wish(prompt, options, keywords, output))

    def _wish(
        self,
        prompt: str,
        options: tuple[Options, ...],
        keywords: SharedKeywords,
        output: OutputSchema | None,
    ) -> Wish:
        if not isinstance(prompt, str):
            msg = f"prompt is a {type(prompt).__name__}; pass a str."
            raise TypeError(msg)
        door = self._door
        layer = door.layer | layered(options, keywords, "A run", construction=False)
        return Wish(
            prompt=prompt,
            thread_key=self._thread_key,
            options=layer.run_options(door.workspace, output),
            owner=self,
        )


def _schema(kind: Any, scope: Scope) -> OutputSchema:
    from .runtime.tools.output import output_schema  # loads the libraries of types

    return output_schema(kind, scope)


def _finish(stream: Stream) -> Result:
    stream.discard()
    try:
        return stream.result()
    except BaseException:
        stream.cancel()  # Ctrl-C must not leave the run behind
        raise
