"""A Run actor between probes."""

from __future__ import annotations

import contextvars
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, ClassVar, TypeVar

import pytest
from third_party import Echo

from toolcrib import (
    Event,
    MemoryStore,
    Result,
    Secret,
    ToolcribError,
    tool,
)
from toolcrib.actors.base import Ref, Services
from toolcrib.actors.run import RunActor
from toolcrib.messages.agent import (
    StartRun,
)
from toolcrib.messages.base import Address, Message
from toolcrib.messages.cleaner import MakeClone
from toolcrib.messages.driver import StartProcess
from toolcrib.messages.options import RunOptions
from toolcrib.messages.policy import Mode
from toolcrib.messages.run import (
    CloneReady,
    ProcessStarted,
    TurnEnded,
)
from toolcrib.messages.turn import HostedServer, ProcessExit, TurnOutcome
from toolcrib.runtime.drivers.interface import Capabilities, Dialect, Launch, TurnRequest
from toolcrib.runtime.profiles.clone import Clone
from toolcrib.runtime.spec import AgentSpec
from toolcrib.runtime.streams import EventStream
from toolcrib.runtime.tools.catalog import Catalog
from toolcrib.runtime.work import TurnWork

from .conftest import WAIT, Probe

SERVER = HostedServer(
    key="toolcrib", url="u", variable="V", token=Secret("t"), tools=("say",), deadline=1
)
OK = TurnEnded(TurnOutcome(ok=True, text="hello", session_id="s1"), ProcessExit(code=0, stderr=""))


E = TypeVar("E", bound=Event)
_MODES: frozenset[Mode] = frozenset({"ask", "auto_approve", "auto_reject"})
CAPABLE = Capabilities(
    sandbox=frozenset({"read_only"}),
    approvals={"permission": _MODES, "plan_review": _MODES, "question": _MODES},
    model=True,
    instructions=True,
    skills=True,
    mcp=frozenset({"stdio", "http"}),
    resources=frozenset({"agents", "config"}),
)


@dataclass(frozen=True)
class Capable(Echo):
    """A driver that can do all that can be asked for, and keeps what it got."""

    capabilities: ClassVar[Capabilities] = CAPABLE
    requests: list[TurnRequest] = field(default_factory=list)

    def prepare(self, request: TurnRequest) -> Launch:
        self.requests.append(request)
        return super().prepare(request)


def say(text: str) -> str:
    return text


class Stage:
    """A run between probes."""

    def __init__(self, services: Services, launch: Callable[..., Ref], root: Path) -> None:
        self.agent, self.cleaner = Probe("agent"), Probe("cleaner")
        self.driver = Probe("driver")
        self.launches: list[Launch] = []
        self.store = MemoryStore()
        self.events = EventStream("r", None)
        self.clone = Clone(root / "clone")
        self.clone.profile.mkdir(parents=True)
        self.timers = services.timers
        assert services.tracer is not None
        self.tracer = services.tracer
        self._services, self._launch, self._root = services, launch, root

    def begin(
        self,
        driver: Echo | None = None,
        *,
        tools: bool = False,
        revision: str | None = "v1",
        thread: str | None = None,
        sink: EventStream | None = None,
        waited: float = 0.0,
        grace: float = WAIT,
        **options_given: Any,
    ) -> None:
        catalog = [tool.define("say", "Say it.", say, revision=revision)] if tools else []
        spec = AgentSpec(
            name="agent-1",
            driver=driver or Echo(),
            catalog=Catalog(catalog),
            store=self.store,
            deadline=120,
            variable="V",
            environment={},
            context=contextvars.copy_context(),
        )
        options = RunOptions(workspace=self._root, **options_given)
        self.events = sink or self.events
        work = TurnWork(spec=spec, run_id="r", prompt="?", options=options, thread_key=thread)
        request = StartRun(
            run_id="r",
            prompt="?",
            options=options,
            thread_key=thread,
            sink=self.events,
            reply_to=Probe("host"),
        )
        self.run = self._launch(
            RunActor,
            "run-1",
            self._services,
            request,
            work,
            self.agent,
            self.cleaner,
            self._start_driver,
            waited=waited,
            grace=grace,
        )

    def _start_driver(
        self, launch: Launch, dialect: Dialect, run: Address, agent: Address
    ) -> Address:
        self.launches.append(launch)
        return self.driver

    def tell(self, *messages: Message) -> None:
        for message in messages:
            self.run.deliver(message, "test")

    def launched(self) -> None:
        """Bring the run to where its process is told to start."""
        self.cleaner.expect(MakeClone)
        self.tell(CloneReady(self.clone.root))
        self.driver.expect(StartProcess)
        self.tell(ProcessStarted(7))

    def next(self, kind: type[E]) -> E:
        """Return the next event of this kind; those before it are left aside."""
        while True:
            event = self.events.get(WAIT)
            assert event is not None, f"no {kind.__name__} came"
            if isinstance(event, kind):
                return event

    def result(self) -> Result:
        return self.events.wait_result(WAIT)

    def error(self, kind: type[ToolcribError]) -> ToolcribError:
        with pytest.raises(kind) as caught:
            self.result()
        return caught.value

    def seen(self) -> list[Event]:
        events: list[Event] = []
        while (event := self.events.get(WAIT)) is not None:
            events.append(event)
        return events
