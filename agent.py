"""The handle of an Agent: what it is made of, and its close."""

from __future__ import annotations

import contextvars
import os
import warnings
from collections.abc import Callable
from pathlib import Path
from types import MappingProxyType, TracebackType
from typing import TYPE_CHECKING, Self, Unpack

from .link import Link
from .options import AgentKeywords, AgentOptions, Options, layered
from .runner import Door, Runner
from .runtime.drivers.interface import Driver
from .runtime.gateway.tokens import new_variable
from .runtime.signals import shielded
from .runtime.spec import AgentSpec
from .runtime.threads.interface import ThreadStore
from .runtime.threads.memory import MemoryStore
from .runtime.tools.catalog import Catalog
from .runtime.tools.tool import Tool
from .thread import Thread

if TYPE_CHECKING:
    from .actors.system import System

__all__ = ["Agent"]

_CLOSE_TIMEOUT = 30.0


class Agent(Runner):
    """Drives one provider and lends it a fixed set of tools.

    Making one starts nothing. The first run starts what it needs: the process's
    actors, the loopback gateway, a private clone of the provider's profile.
    Close it, or use it as a context manager (``with`` or ``async with``).

    Args:
        driver: The provider, such as ``Cursor()``.
        *options: `Options` and `AgentOptions`, the last nearest.
        **keywords: Those of `AgentKeywords`, nearer still: ``tools``, ``store``,
            ``event_buffer``, ``blocking_events``, ``max_runs``, ``system``, and
            all options of runs, as defaults.

    Raises:
        DefinitionError: The tools don't form a catalog.
        TypeError: There is no such option, or something is of the wrong type.
        ValueError: A value is none that its option takes.
        ConfigurationError: Values do not go together, or a folder is not there.
    """

    def __init__(
        self,
        driver: Driver,
        *options: Options | AgentOptions,
        **keywords: Unpack[AgentKeywords],
    ) -> None:
        if not isinstance(driver, Driver):
            msg = f"driver is a {type(driver).__name__}; pass a Driver, such as Cursor()."
            raise TypeError(msg)
        layer = layered((_defaults(), *options), keywords, "An Agent", construction=True)
        self._driver = driver
        self._catalog: Catalog = layer.value("tools", None)
        self._variable = new_variable()
        link = Link(
            repr(self),
            _spec_maker(
                driver=driver,
                catalog=self._catalog,
                store=layer.value("store", None) or MemoryStore(),
                variable=self._variable,
                max_runs=layer.value("max_runs", None),
            ),
            layer.value("system", None),
            event_buffer=layer.value("event_buffer", None),
            paces=layer.value("blocking_events", None),
        )
        super().__init__(Door(link, layer, Path.cwd()), None)

    @property
    def driver(self) -> Driver:
        """The provider that it drives."""
        return self._driver

    @property
    def tools(self) -> tuple[Tool, ...]:
        """The tools that it lends, sorted by name."""
        return tuple(self._catalog.tools.values())

    @property
    def token_variable(self) -> str:
        """The environment variable that the token travels in; reserved for us."""
        return self._variable

    def thread(self, key: str) -> Thread:
        """Return the conversation of that key, to go on with or to begin.

        Args:
            key: The application's name for the conversation; not empty.

        Raises:
            TypeError: The key is no text.
            ValueError: The key is empty.
        """
        return Thread(self, self._door, key)

    def close(self, timeout: float = _CLOSE_TIMEOUT) -> None:
        """Close in order: runs, processes, clones, token. See the README.

        Once it has returned, nothing of the Agent is left, and calling it again
        does nothing. May be called from any thread, and by several at once.

        Args:
            timeout: How long to wait, in seconds; infinity waits for the end.

        Raises:
            TypeError: The timeout is no number; a bool is none.
            ValueError: It is negative, or not a number (NaN).
            CloseTimeout: Something holds it; call it again to go on from there.
            AskTimeout: Not even that was answered, five seconds later.
        """
        self._door.link.close(timeout)

    async def aclose(self, timeout: float = _CLOSE_TIMEOUT) -> None:
        """Do as `close`, without blocking the running event loop."""
        await self._door.link.aclose(timeout)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        self.close()

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        with shielded():
            await self.aclose()

    def __repr__(self) -> str:
        names = ", ".join(self._catalog.names) or "no tools"
        return f"<Agent of {self._driver.provider} with {names}>"

    def __del__(self, warn: object = warnings.warn) -> None:
        door: Door | None = self.__dict__.get("_door")  # not there where it was refused
        if door is None or not door.link.forget(_CLOSE_TIMEOUT):
            return
        if callable(warn):  # last, since a warning may be an error
            warn(f"{self!r} was never closed", ResourceWarning, source=self)


def _defaults() -> AgentOptions:
    return AgentOptions(tools=(), event_buffer=1024, blocking_events=False, max_runs=8)


def _spec_maker(
    *,
    driver: Driver,
    catalog: Catalog,
    store: ThreadStore,
    variable: str,
    max_runs: int | None,
) -> Callable[[System], AgentSpec]:
    """Take the environment and the context of this moment for the Agent's spec."""
    environment = dict(os.environ)
    context = contextvars.copy_context()

    def make(system: System) -> AgentSpec:
        return AgentSpec(
            name=system.name("agent"),
            driver=driver,
            catalog=catalog,
            store=store,
            deadline=system.limits.deadline,
            variable=variable,
            environment=MappingProxyType({**environment, "TOOLCRIB_HOST": system.host}),
            context=context,
            max_runs=max_runs,
        )

    return make
