"""The driver interface: what toolcrib needs to know of a provider.

A driver is a frozen description. It owns no process and no thread; the Driver
actor does. Third parties implement `Driver` and `Dialect` for a provider of
their own.

The rules:

1. **A resumed invocation refreshes everything from the current request.**
   `Driver.prepare` is called before every process and writes the provider's
   configuration anew. A driver keeps no MCP endpoint, token, variable name,
   profile path or environment from an earlier call, and trusts none that a
   conversation file holds.
2. Every method may block and runs on a worker thread, never on an actor's.
   `Dialect` methods run on the one thread that reads the process's output.
3. The source profile is read only. A driver writes below the clone alone.
4. The token goes into the child's environment and nowhere else: not into argv
   and not into a file.
5. A provider that starts without the Agent's tools is a failed turn, not a
   silent one, wherever the provider reports the state of its servers.
6. The terminal record and the exit code are judged together, in
   `Dialect.ended`. A record that the driver does not know is a `Notice`.
7. Errors are those of `toolcrib.errors`; they name the thing and the next step.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path, PurePosixPath
from types import MappingProxyType
from typing import ClassVar, Literal

from ...messages.approvals import Ask, Decision
from ...messages.events import Event
from ...messages.options import OutputSchema
from ...messages.policy import Access, ApprovalKind, Mode, Policy, Sandbox
from ...messages.resources import McpServer, Resources, Skill
from ...messages.secret import Secret
from ...messages.turn import HostedServer, Launch, ProcessExit, TurnOutcome
from ..profiles.clone import Clone

__all__ = [
    "Ask",
    "Capabilities",
    "CloseInput",
    "Decision",
    "Dialect",
    "Driver",
    "Emit",
    "Finished",
    "HostedServer",
    "Launch",
    "MaskedLine",
    "Preflight",
    "ProcessExit",
    "Step",
    "Stop",
    "TurnOutcome",
    "TurnRequest",
    "Withdraw",
    "Write",
]


@dataclass(frozen=True, slots=True, kw_only=True)
class Preflight:
    """What can be checked before anything is created."""

    environment: Mapping[str, str] = field(repr=False)
    """The environment that the child will be built from."""
    workspace: Path
    """The directory that the provider will work in."""
    server_key: str | None
    """Our MCP server's key; ``None`` for an Agent without tools."""
    variable: str | None
    """The name of the token's variable; ``None`` for an Agent without tools."""
    resources: Resources = field(default_factory=Resources)
    """What the turn will bring, as far as the `Capabilities` have it."""


@dataclass(frozen=True, slots=True, kw_only=True)
class TurnRequest:
    """Everything about one turn; a driver takes nothing from elsewhere."""

    run_id: str
    """The run's id."""
    prompt: str
    """What to ask."""
    workspace: Path
    """The provider's working directory."""
    clone: Clone
    """The isolated profile, already seeded."""
    environment: Mapping[str, str] = field(repr=False)
    """The environment to build the child's from."""
    server: HostedServer | None
    """The Agent's tools; ``None`` where it has none."""
    resume: str | None
    """The provider's id of the conversation to go on with; its files lie in
    the clone already. ``None`` starts a new one."""
    model: str | None = None
    """The model of this turn; ``None`` leaves it to the driver's own options."""
    instructions: str | None = None
    """What the model is told before the prompt, beside the profile's own."""
    policy: Policy = field(default_factory=Policy)
    """What the turn may do; its set values are among the `Capabilities`."""
    skills: tuple[Skill, ...] = ()
    """Skills to lay into the clone."""
    mcp: tuple[McpServer, ...] = ()
    """MCP servers to add to the profile's own; their keys are not ours."""
    resources: Resources = field(default_factory=Resources)
    """Agents and settings to lay into the clone; all turns of one clone have
    the same."""
    secrets: tuple[Secret, ...] = field(default=(), repr=False)
    """Further values to mask in all that the process prints."""
    output: OutputSchema | None = None
    """What the answer has to be. A driver that declares `native_output` hands
    the schema to its provider; for the others the prompt says it already."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Capabilities:
    """What a driver can do beyond running a prompt with tools.

    Options that ask for more are refused before anything starts.
    """

    sandbox: frozenset[Sandbox] = frozenset()
    """The values of `Policy.sandbox` that it can enforce."""
    web_search: frozenset[Access] = frozenset()
    """The values of `Policy.web_search` that it can enforce."""
    browser: frozenset[Access] = frozenset()
    """The values of `Policy.browser` that it can enforce."""
    approvals: Mapping[ApprovalKind, frozenset[Mode]] = field(
        default_factory=lambda: MappingProxyType({})
    )
    """For each kind of approval the modes that it can honour."""
    model: bool = False
    """Whether the model can be chosen for a turn."""
    instructions: bool = False
    """Whether a turn can have instructions."""
    skills: bool = False
    """Whether skills can be laid into the clone."""
    mcp: frozenset[Literal["stdio", "http"]] = frozenset()
    """The MCP servers that can be added to a turn."""
    resources: frozenset[Literal["agents", "config"]] = frozenset()
    """The parts of `Resources` that can be laid into the clone. Settings that
    are the driver's own are refused by `Driver.preflight`."""
    native_output: bool = False
    """Whether the provider itself holds its answer to a JSON Schema."""


@dataclass(frozen=True, slots=True)
class Emit:
    """Publish an event, without run id, sequence and time."""

    event: Event
    """The event."""


@dataclass(frozen=True, slots=True)
class Write:
    """Write to the process's standard input."""

    data: bytes
    """The bytes."""


@dataclass(frozen=True, slots=True)
class CloseInput:
    """Close the process's standard input."""


@dataclass(frozen=True, slots=True)
class Finished:
    """The terminal record came: the process should end by itself now."""


@dataclass(frozen=True, slots=True)
class Stop:
    """End the process now, before its terminal record, such as where the tools
    are missing. It is asked to end and killed after the launch's grace; the end
    counts as forced, so the dialect has to remember why."""


@dataclass(frozen=True, slots=True)
class Withdraw:
    """Take an `Ask` back: the provider does not wait for it any more."""

    ask_id: str
    """Its id."""


Step = Emit | Ask | Withdraw | Write | CloseInput | Finished | Stop
"""What a dialect wants done, in order."""


class MaskedLine(str):
    """A line in which a secret was masked, so not quite what the provider printed.

    What is read in it must not be sent back as the provider's own words.
    """

    __slots__ = ()


class Dialect(ABC):
    """One turn's conversation with a process, without any input or output.

    Lines come in, steps go out. All methods run on the thread that reads the
    process's output, one at a time.
    """

    @abstractmethod
    def opening(self) -> tuple[Step, ...]:
        """Return what to do as soon as the process runs, such as its prompt."""

    @abstractmethod
    def line(self, text: str) -> tuple[Step, ...]:
        """Take one line of standard output, without its line end.

        It is a `MaskedLine` where something was masked.

        Must not raise for anything that a process may print: what it does not
        understand it remembers for `ended`, or emits as a notice.
        """

    def decided(self, ask: Ask, decision: Decision) -> tuple[Step, ...]:
        """Take what was decided about an `Ask` of this dialect.

        Called once for each, unless it was withdrawn or the process has ended.
        """
        del ask, decision
        return ()

    @abstractmethod
    def ended(self, exit: ProcessExit) -> TurnOutcome:
        """Judge the turn, after the last line and the process's end."""


class Driver(ABC):
    """A provider, as toolcrib drives it. See the module for the rules."""

    provider: ClassVar[str]
    """The provider's name, such as ``cursor``; the same in every instance."""

    capabilities: ClassVar[Capabilities] = Capabilities()
    """What it can do beyond running a prompt with tools."""

    @abstractmethod
    def preflight(self, check: Preflight) -> None:
        """Find what would fail, before anything is created.

        Raises:
            ProviderNotFoundError: The command is not there.
            ProfileError: The source profile is missing or unusable.
            ServerConflictError: Another MCP server that the provider would
                read uses our server key or our token variable.
            ConfigurationError: A setting of ``resources.config`` is the
                driver's to decide; it is named, with what to use instead.
        """

    @abstractmethod
    def seed(self, clone: Clone, environment: Mapping[str, str]) -> None:
        """Fill a new clone from the source profile, which stays as it is.

        Raises:
            ProfileError: The source can't be read or cloned.
        """

    @abstractmethod
    def prepare(self, request: TurnRequest) -> Launch:
        """Write this turn's configuration into the clone and say how to start.

        Raises:
            ConfigurationError: Something does not fit; nothing was started.
        """

    @abstractmethod
    def dialect(self, request: TurnRequest) -> Dialect:
        """Return a new dialect for this turn."""

    @abstractmethod
    def conversation_files(self, clone: Clone, session_id: str) -> tuple[PurePosixPath, ...]:
        """Return the files that a resume of this conversation needs.

        Paths are relative to ``clone.profile``; they are kept with the
        thread's checkpoint and laid into the next clone.
        """

    def fingerprint(self) -> str:
        """Return what must stay equal for a stored conversation to go on.

        Never holds an endpoint, a token, a variable's name or a clone's path.
        """
        return self.provider
