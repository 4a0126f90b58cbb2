"""Real runs and closes, recorded message by message and drawn."""

from __future__ import annotations

import tempfile
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path

from ..actors.system import System
from ..agent import Agent
from ..messages.events import TextDelta
from ..runtime.tracing import TraceEntry, Tracer, sequence_diagram
from .providers import Opener, scripted
from .tools import lookup_issue

__all__ = ["Recorder", "close_diagram", "close_order", "draw", "run_diagram", "stage"]

_COLUMNS = (
    "application",
    "Agent",
    "run",
    "driver",
    "provider process",
    "tool registry",
    "gateway",
    "profile cleaner",
)
_NAMES = {
    "host": "application",
    "agent": "Agent",
    "process": "provider process",
    "system-registry": "tool registry",
    "system-gateway": "gateway",
    "system-cleaner": "profile cleaner",
}
_CLOSE_STEPS = {
    "CancelRun": "run told to end",
    "CloseProcess": "provider process told to end",
    "ProcessClosed": "provider process gone",
    "SealOwner": "no new clone from here on",
    "RemoveClones": "clone removal begins",
    "ClonesRemoved": "clones removed",
    "RetireToken": "token to be retired",
    "PublishTable": "token refused from here on",
    "HandlersDrained": "tool handlers drained",
    "ListenerClosed": "listener closed, its port is free",
    "TokenRetired": "registration gone",
    "AgentClosed": "Agent closed",
}
# Who sends an actor what it tells itself.
_TO_ITSELF = frozenset({"worker", "timer"})
_STREAM = ("EventsRead", "EventsTaken")
_WAIT = 30.0
_BUSY = {"turns": [{"steps": [{"say": "I am at work."}, {"hang": True}]}]}


class Recorder:
    """An Agent on a system of its own, and what its actors say.

    Args:
        agent: The Agent.
        tracer: Records the system's messages.
    """

    def __init__(self, agent: Agent, tracer: Tracer) -> None:
        self.agent = agent
        self._tracer = tracer
        self._close_from = 0

    def mark_close(self, *, after: str = "RunEnded") -> None:
        """Let the close begin here, once a message of this kind was handled."""
        self._wait_for(after)
        # An ended run gives back the clone that it asked for.
        if after == "RunEnded" and any(said.kind == "MakeClone" for said in self.said):
            self._wait_for("ReturnClone")
        self._close_from = len(self.said)

    @property
    def said(self) -> tuple[TraceEntry, ...]:
        """The messages so far."""
        return self._tracer.entries()

    @property
    def run(self) -> tuple[TraceEntry, ...]:
        """The messages before the close."""
        return self.said[: self._close_from]

    def _wait_for(self, kind: str) -> None:
        self._tracer.wait_for(lambda entry: entry.kind == kind, _WAIT)

    @property
    def close(self) -> tuple[TraceEntry, ...]:
        """The messages of the close, up to the answer that it is done."""
        entries = self.said[self._close_from :]
        closed = next(n for n, entry in enumerate(entries, 1) if entry.kind == "AgentClosed")
        return entries[:closed]


@contextmanager
def stage(driver: Opener) -> Iterator[Recorder]:
    """Make an Agent that lends `lookup_issue` to a provider.

    Everything it needs lies in a temporary directory, and the system that it
    runs on is its own.

    Args:
        driver: Makes the provider's driver.
    """
    tracer = Tracer()
    with tempfile.TemporaryDirectory(prefix="toolcrib-demo-") as folder:
        workspace = Path(folder, "workspace")
        workspace.mkdir()
        system = System(tracer=tracer, clones=Path(folder, "clones"))
        with (
            driver(Path(folder)) as made,
            system,
            Agent(made, tools=[lookup_issue], workspace=workspace, system=system) as agent,
        ):
            yield Recorder(agent, tracer)


def run_diagram(prompt: str) -> str:
    """Run the prompt and draw what was said up to the run's end."""
    with stage(scripted()) as recorder:
        recorder.agent.run(prompt)
        recorder.mark_close()
    return draw(recorder.run, "A run: a host function called by a provider process")


def close_diagram() -> str:
    """Close an Agent whose provider is at work, and draw what was said."""
    with stage(scripted(_BUSY)) as recorder:
        stream = recorder.agent.stream("Work.")
        next(event for event in stream if isinstance(event, TextDelta))
        recorder.mark_close(after="EventsTaken")
        recorder.agent.close()
    said = [entry for entry in recorder.close if entry.kind not in _STREAM]
    return draw(said, "A close while the provider is at work")


def close_order(entries: Iterable[TraceEntry]) -> list[str]:
    """Say in words what happened in a close, in the order it happened."""
    return [_CLOSE_STEPS[entry.kind] for entry in entries if entry.kind in _CLOSE_STEPS]


def draw(entries: Iterable[TraceEntry], title: str) -> str:
    """Draw recorded messages as a Mermaid sequence diagram.

    What an actor tells itself, from a worker or a timer, is left out.
    """
    public = (entry for entry in entries if entry.sender not in _TO_ITSELF)
    return sequence_diagram(
        public,
        title=title,
        participants=_COLUMNS,
        rename=_NAMES,
        varying=_STREAM,
    )
