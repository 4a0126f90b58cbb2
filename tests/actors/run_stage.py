"""A Run actor between probes."""

from __future__ import annotations

import contextvars
from collections.abc import Callable
from pathlib import Path

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
from toolcrib.messages.run import (
    CloneReady,
    TurnEnded,
)
from toolcrib.messages.turn import HostedServer, ProcessExit, TurnOutcome
from toolcrib.runtime.drivers.interface import Dialect, Launch
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


def say(text: str) -> str:
    return text


class Stage:
    """A run between probes."""

    def __init__(self, services: Services, launch: Callable[..., Ref], root: Path) -> None:
        self.agent, self.cleaner = Probe("agent"), Probe("cleaner")
        self.driver = Probe("driver")
        self.store = MemoryStore()
        self.events = EventStream("r", None)
        self.clone = Clone(root / "clone")
        self.clone.profile.mkdir(parents=True)
        self.timers = services.timers
        self._services, self._launch, self._root = services, launch, root

    def begin(
        self,
        driver: Echo | None = None,
        *,
        tools: bool = False,
        revision: str | None = "v1",
        thread: str | None = None,
        timeout: float | None = None,
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
        options = RunOptions(workspace=self._root, timeout=timeout)
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
        )

    def _start_driver(
        self, launch: Launch, dialect: Dialect, run: Address, agent: Address
    ) -> Address:
        return self.driver

    def tell(self, *messages: Message) -> None:
        for message in messages:
            self.run.deliver(message, "test")

    def launched(self) -> None:
        """Bring the run to where its process is told to start."""
        self.cleaner.expect(MakeClone)
        self.tell(CloneReady(self.clone.root))
        self.driver.expect(StartProcess)

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
