"""The events of a run, as an application sees them: one closed union, `Event`.

Every event carries the run's id, the thread's key, a sequence number that
strictly increases from 1 within its run, the time, and its source. A driver
makes events without those; the run stamps them when it publishes.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Any, Literal

from .approvals import Choice, Decider, Outcome, Responder
from .frozen import FrozenMap
from .policy import ApprovalKind
from .results import Usage

__all__ = [
    "ApprovalRequest",
    "ApprovalSettled",
    "Dropped",
    "Event",
    "Notice",
    "Phase",
    "ProcessInfo",
    "RunFinished",
    "RunStarted",
    "Subagent",
    "TextDelta",
    "Thinking",
    "ToolCall",
    "ToolResult",
]

Phase = Literal["start", "delta", "end"]
"""Where in its life a piece of text or thinking is."""

_NEVER = datetime.fromtimestamp(0, UTC)


@dataclass(frozen=True, slots=True, kw_only=True)
class EventBase:
    """What every event has; filled in by the run that publishes it."""

    run_id: str = ""
    """The run that this belongs to."""
    thread_key: str | None = None
    """The key of the run's thread; ``None`` outside a thread."""
    sequence: int = 0
    """Position in the run's stream, from 1, strictly increasing."""
    time: datetime = _NEVER
    """When the run published it, in UTC."""
    source: str = ""
    """Who said it: ``toolcrib``, or the provider's name."""


@dataclass(frozen=True, slots=True, kw_only=True)
class RunStarted(EventBase):
    """The run was admitted. Always the first event."""

    provider: str
    """The driver's provider name, such as ``cursor``."""
    prompt: str
    """The prompt as the caller gave it."""


@dataclass(frozen=True, slots=True, kw_only=True)
class TextDelta(EventBase):
    """A piece of the assistant's answer."""

    text: str
    """The new text; what came before is not repeated."""
    message_id: str = ""
    """Which message of the provider it belongs to; empty where it names none."""
    phase: Phase = "delta"
    """``start``, ``delta`` or ``end`` of that message."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Thinking(EventBase):
    """A piece of the model's visible reasoning."""

    text: str
    """The new text."""
    phase: Phase = "delta"
    """``start``, ``delta`` or ``end`` of the reasoning."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ToolCall(EventBase):
    """The provider reports that the model calls a tool."""

    call_id: str
    """The provider's id of the call; may hold any character."""
    name: str
    """The tool's name. A tool of a server other than ours is ``server/tool``."""
    arguments: Mapping[str, Any]
    """The arguments as the provider reports them."""
    hosted: bool
    """Whether it is one of this Agent's own tools."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ToolResult(EventBase):
    """The provider reports how a tool call ended."""

    call_id: str
    """The id of the `ToolCall` that it answers."""
    name: str
    """The tool's name, as in the `ToolCall`."""
    text: str
    """The result as text, as the provider reports it."""
    is_error: bool
    """Whether the provider reports it as failed."""
    hosted: bool
    """Whether it is one of this Agent's own tools."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ProcessInfo(EventBase):
    """Something about the provider's process."""

    kind: Literal["spawned", "stderr", "exited"]
    """What happened."""
    pid: int
    """The process id."""
    text: str = ""
    """For ``stderr`` a line of it."""
    exit_code: int | None = None
    """For ``exited`` the code; negative for a signal."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Notice(EventBase):
    """Anything else worth telling; unknown provider records arrive as such."""

    kind: str
    """A dotted word, such as ``provider.record`` or ``thread.rebound``."""
    message: str
    """One sentence for people."""
    data: Mapping[str, Any] = field(default_factory=FrozenMap)
    """Details, JSON values only."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Subagent(EventBase):
    """The provider started, moved or finished an agent of its own."""

    agent_id: str
    """The provider's id of it, else the id of the call that started it."""
    name: str
    """Its kind or name."""
    kind: Literal["started", "delta", "finished"]
    """Where in its life it is."""
    text: str = ""
    """What it says, or what it was told at the start."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ApprovalRequest(EventBase):
    """The provider waits for a decision; settle it, once, from any thread.

    All who hold it share one outcome. Whoever is told of it may settle it
    later, from another thread or in another HTTP request, until its deadline.
    A pickled or deep copy is detached from its run and settles nothing.
    """

    request_id: str
    """Unique within the run."""
    kind: ApprovalKind
    """What it asks for."""
    title: str
    """One line for people."""
    tool: str = ""
    """The name of the tool that it is about, as in the `ToolCall`."""
    call_id: str = ""
    """The id of the `ToolCall` that it is about; may be empty."""
    hosted: bool = False
    """Whether that is one of this Agent's own tools."""
    arguments: Mapping[str, Any] = field(default_factory=FrozenMap)
    """The arguments of that call; for a plan or a question what it holds."""
    choices: tuple[Choice, ...] = ()
    """The answers that a question suggests."""
    attempt: int = 1
    """1, and one more each time that the same thing is asked again."""
    deadline: datetime | None = None
    """When it counts as not answered, in UTC; ``None`` with the run."""
    responder: Responder = field(repr=False, compare=False)
    """Where its decision goes."""

    def approve(self, arguments: Mapping[str, Any] | None = None) -> None:
        """Allow what was asked for. Returns at once.

        Args:
            arguments: Arguments to use in place of the model's; ``None`` leaves
                them as they are.

        Raises:
            ApprovalResolvedError: It is settled already.
            ApprovalExpiredError: Its deadline has passed, or its run is over.
            ApprovalKindError: It is a question: answer it.
            ApprovalDetachedError: It belongs to no run of this process.
        """
        self.responder.approve(arguments)

    def deny(self, reason: str = "") -> None:
        """Refuse it, whatever its kind. Returns at once; raises as `approve`.

        Args:
            reason: Why, for the model.
        """
        self.responder.deny(reason)

    def answer(self, text: str) -> None:
        """Answer a question: with a choice's key, or in free text. Returns at once.

        Raises:
            ApprovalKindError: It is no question: approve or deny it.
            ApprovalResolvedError: And what else `approve` raises.
        """
        self.responder.answer(text)

    async def aapprove(self, arguments: Mapping[str, Any] | None = None) -> None:
        """Do as `approve`, which never blocks."""
        self.approve(arguments)

    async def adeny(self, reason: str = "") -> None:
        """Do as `deny`, which never blocks."""
        self.deny(reason)

    async def aanswer(self, text: str) -> None:
        """Do as `answer`, which never blocks."""
        self.answer(text)


@dataclass(frozen=True, slots=True, kw_only=True)
class ApprovalSettled(EventBase):
    """A request for an approval is settled; exactly one for each attempt."""

    request_id: str
    """Which request."""
    kind: ApprovalKind
    """What it asked for."""
    outcome: Outcome
    """How it was settled."""
    by: Decider
    """Who settled it."""
    reason: str = ""
    """Why it was denied, where that was said."""
    answer: str = ""
    """The answer to a question."""
    attempt: int = 1
    """The attempt's number, as in the `ApprovalRequest`."""
    waited: float = 0.0
    """Seconds between the request and its outcome."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Dropped(EventBase):
    """The consumer was too slow: deltas were left out here."""

    count: int
    """How many events were left out since the last report."""
    first_sequence: int
    """The sequence number of the first one left out."""
    last_sequence: int
    """The sequence number of the last one left out."""


@dataclass(frozen=True, slots=True, kw_only=True)
class RunFinished(EventBase):
    """The run ended. Always the last event; nothing comes after it."""

    ok: bool
    """Whether the run succeeded."""
    reason: str | None
    """A `RunReason` value of a failed run, else ``None``."""
    message: str
    """One sentence of a failed run, else empty."""
    text: str
    """The final text, as far as it came."""
    usage: Usage | None
    """What the provider reports; ``None`` is unknown, not zero."""


Event = (
    RunStarted
    | TextDelta
    | Thinking
    | ToolCall
    | ToolResult
    | ProcessInfo
    | Notice
    | Subagent
    | ApprovalRequest
    | ApprovalSettled
    | Dropped
    | RunFinished
)
"""Any event of a run."""
