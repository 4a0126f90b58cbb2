"""Options of Agents and runs: values that can be shared and composed.

::

    careful = Options(policy=Policy(sandbox="read_only"), timeout=60)
    labelled = careful | Options(metadata={"team": "search"})

    with Agent(Codex(), labelled, tools=[lookup]) as agent:
        agent.run("Where is it?", Options(model="small"), timeout=10)

What is given later, or nearer to the run, wins. Of the options of one call the
keywords are nearest. ``metadata`` is merged by key, ``skills`` and ``services``
are appended; all others are replaced as a whole. ``None`` clears what was given
before, also where values are otherwise joined.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, Any, TypedDict, Unpack

from .messages.options import ApprovalCallback
from .messages.policy import Policy
from .messages.resources import Identity, McpServer, Resources, Skill
from .messages.services import RunService
from .runtime.layers import CONSTRUCTION, SHARED, Layer, make_layer
from .runtime.threads.interface import ThreadStore
from .runtime.tools.tool import Tool

if TYPE_CHECKING:
    from .actors.system import System

__all__ = ["AgentKeywords", "AgentOptions", "Options", "SharedKeywords", "layered"]


class SharedKeywords(TypedDict, total=False):
    """The options of Agents and of their runs; a run's own are nearer."""

    model: str | None
    """The model; ``None`` leaves it to the driver."""
    instructions: str | None
    """What the model is told before the prompt, beside the profile's own."""
    workspace: str | os.PathLike[str] | None
    """The provider's working directory; ``None`` is the one that was current
    when the Agent was made."""
    timeout: float | None
    """The longest that a run may take, in seconds; ``None`` for no limit."""
    idle_timeout: float | None
    """The longest that the provider may be silent, in seconds, the time in
    which it waits for a tool or an approval left out; ``None`` for no limit."""
    spawn: bool
    """Whether the run needs a provider process of its own. Tools stay as they are."""
    metadata: Mapping[str, str] | None
    """Your own labels, which come back in the result; merged by key."""
    identity: Identity | None
    """On whose behalf the run is made."""
    policy: Policy | None
    """What it may do; replaced as a whole."""
    on_approval: ApprovalCallback | None
    """Called with each request for an approval: a plain function on a worker
    thread, an async one on the loop that async tool handlers run on."""
    skills: Iterable[Skill] | None
    """Skills beside the profile's own; appended."""
    mcp: Iterable[McpServer] | None
    """MCP servers beside the profile's own and the Agent's tools; replaced as a
    whole, and ``()`` clears."""
    resources: Resources | None
    """Agents and settings beside the profile's own; replaced as a whole."""
    services: Iterable[RunService] | None
    """What is attached to each run, in this order; appended, each object once."""


class AgentKeywords(SharedKeywords, total=False):
    """The options of an Agent's construction."""

    tools: Iterable[Tool]
    """The tools it lends, for its whole life; replaced as a whole, ``()`` clears."""
    store: ThreadStore | None
    """Where its threads are kept; ``None`` keeps them in memory for as long as
    the Agent lives."""
    event_buffer: int
    """How many events may wait for a slow consumer before deltas are left out;
    1024 by default."""
    blocking_events: bool
    """Whether nothing is left out: the provider then waits for whoever reads."""
    max_runs: int | None
    """How many runs may go at the same time, 8 by default; further ones wait
    their turn. ``None`` for no limit."""
    system: System | None
    """The actor system to run on; ``None`` is the process's own."""


class _Layered:
    """A layer of options that never changes."""

    __slots__ = ("_layer",)

    _layer: Layer

    @property
    def layer(self) -> Layer:
        """What was given, checked and copied."""
        return self._layer

    def __eq__(self, other: object) -> bool:
        return type(other) is type(self) and self.layer == other.layer

    def __hash__(self) -> int:
        return hash(frozenset(self.layer.values))

    def __repr__(self) -> str:
        # Without the values: those of servers may be secrets.
        return f"<{type(self).__name__}: {', '.join(self.layer.values) or 'nothing'}>"


class Options(_Layered):
    """Options for Agents and runs, as a value to share; remembers only what is given.

    ``first | then`` has both, and what ``then`` has wins; see the module.

    Args:
        **keywords: Those of `SharedKeywords`.

    Raises:
        TypeError: There is no such option, or a value is of the wrong type.
        ValueError: A value is none that the option takes.
        ConfigurationError: Values do not go together, or a folder is not there.
    """

    __slots__ = ()

    def __init__(self, **keywords: Unpack[SharedKeywords]) -> None:
        self._layer = _shared(keywords, "Options")

    def __or__(self, nearer: Options) -> Options:
        if not isinstance(nearer, Options):
            return NotImplemented
        joined = Options()
        joined._layer = self.layer | nearer.layer
        return joined


class AgentOptions(_Layered):
    """Options for the construction of Agents, as a value to share.

    Joined with `Options` or others of its kind by ``|``. No run takes them.

    Args:
        **keywords: Those of `AgentKeywords`.

    Raises:
        TypeError: There is no such option, or a value is of the wrong type.
        ValueError: A value is none that the option takes.
        ConfigurationError: Values do not go together, or a folder is not there.
        DefinitionError: The tools don't form a catalog.
    """

    __slots__ = ()

    def __init__(self, **keywords: Unpack[AgentKeywords]) -> None:
        self._layer = _all(keywords, "AgentOptions")

    def __or__(self, nearer: Options | AgentOptions) -> AgentOptions:
        return _joined(self, nearer)

    def __ror__(self, farther: Options) -> AgentOptions:
        return _joined(farther, self)


def layered(
    given: Iterable[Any], keywords: Mapping[str, Any], where: str, *, construction: bool
) -> Layer:
    """Return the options of one call as one layer.

    Args:
        given: `Options`, in order; for a construction `AgentOptions` as well.
        keywords: The keywords of the call, which are nearest.
        where: What was called, for messages.
        construction: Whether it is that of an Agent.

    Raises:
        TypeError: Something is no option here.
    """
    kinds = (Options, AgentOptions) if construction else Options
    make = _all if construction else _shared
    layer = make({}, where)
    for options in given:
        if not isinstance(options, kinds):
            raise TypeError(_not_an_option(options, where))
        layer |= options.layer
    return layer | make(keywords, where)


def _shared(keywords: Mapping[str, Any], where: str) -> Layer:
    return make_layer(keywords, SHARED, where, {})


def _all(keywords: Mapping[str, Any], where: str) -> Layer:
    return make_layer(keywords, (*SHARED, *CONSTRUCTION), where, {"system": _system})


def _joined(farther: _Layered, nearer: _Layered) -> AgentOptions:
    if not isinstance(farther, _Layered) or not isinstance(nearer, _Layered):
        return NotImplemented
    joined = AgentOptions()
    joined._layer = farther.layer | nearer.layer
    return joined


def _system(given: object) -> object:
    from .actors.system import System

    if not isinstance(given, System):
        msg = f"system is a {type(given).__name__}; pass a System."
        raise TypeError(msg)
    return given


def _not_an_option(given: object, where: str) -> str:
    if isinstance(given, AgentOptions):
        return f"{where} can't take AgentOptions, which are fixed with their Agent; pass Options."
    return f"{where} can't take a {type(given).__name__} here; pass Options, or name the option."
