"""The Driver actor alone, with real processes; run and Agent are probes."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import psutil
import pytest
from third_party import Echo

from toolcrib import ProviderNotFoundError, RunReason, TextDelta
from toolcrib.actors.base import Ref, Services
from toolcrib.actors.driver import DriverActor
from toolcrib.messages.agent import ProcessClosed
from toolcrib.messages.base import Message
from toolcrib.messages.driver import CloseProcess, EventsTaken, StartProcess
from toolcrib.messages.run import EventsRead, ProcessStarted, SpawnFailed, TurnEnded
from toolcrib.messages.turn import Launch
from toolcrib.runtime.drivers.interface import Dialect, TurnRequest
from toolcrib.runtime.processes.interface import ProcessListener
from toolcrib.runtime.processes.session import ProviderProcess
from toolcrib.runtime.profiles.clone import Clone

from .conftest import WAIT, Probe


class Stage:
    """A Driver actor between probes."""

    def __init__(self, services: Services, launch: Callable[..., Ref], root: Path) -> None:
        self.run, self.agent = Probe("run"), Probe("agent")
        self._services, self._launch, self._root = services, launch, root
        (root / "profile").mkdir()

    def begin(self, prompt: str, command: tuple[str, ...] | None = None) -> None:
        request = TurnRequest(
            run_id="r",
            prompt=prompt,
            workspace=self._root,
            clone=Clone(self._root),
            environment={},
            server=None,
            resume=None,
        )
        driver = Echo() if command is None else Echo(command=command)
        what, dialect = driver.prepare(request), driver.dialect(request)
        self.actor = self._launch(
            DriverActor,
            "driver-1",
            self._services,
            self._maker(what, dialect),
            self.run,
            self.agent,
        )

    @staticmethod
    def _maker(launch: Launch, dialect: Dialect) -> Callable[[ProcessListener], ProviderProcess]:
        return lambda listener: ProviderProcess(launch, dialect, listener)

    def tell(self, *messages: Message) -> None:
        for message in messages:
            self.actor.deliver(message, "test")

    def gone(self) -> None:
        """Expect the actor's end."""
        assert self.actor.join(WAIT)


@pytest.fixture
def stage(services: Services, launch: Callable[..., Ref], tmp_path: Path) -> Stage:
    return Stage(services, launch, tmp_path)


def test_a_process_is_told_from_start_to_end(stage: Stage) -> None:
    stage.begin("hello")
    stage.tell(StartProcess())
    stage.run.expect(ProcessStarted)
    events = stage.run.expect(EventsRead).events
    assert [e.text for e in events if isinstance(e, TextDelta)] == ["you said hello"]
    stage.tell(EventsTaken(len(events)))
    ended = stage.run.expect(TurnEnded)
    assert (ended.outcome.ok, ended.exit.code) == (True, 0)
    assert stage.agent.expect(ProcessClosed).driver == "driver-1"
    stage.gone()


def test_a_process_is_closed_with_its_partial_outcome(stage: Stage) -> None:
    stage.begin("stay")
    stage.tell(StartProcess())
    pid = stage.run.expect(ProcessStarted).pid
    stage.run.expect(EventsRead)
    stage.tell(CloseProcess(), CloseProcess())
    ended = stage.run.expect(TurnEnded)
    assert (ended.outcome.ok, ended.outcome.text) == (False, "staying")
    assert not psutil.pid_exists(pid)
    stage.agent.expect(ProcessClosed)
    stage.gone()
    stage.run.assert_silent()
    stage.agent.assert_silent()


@pytest.mark.parametrize("late", [(), (StartProcess(),), (CloseProcess(), StartProcess())])
def test_a_process_that_is_closed_before_its_start_never_comes(
    stage: Stage, late: tuple[Message, ...]
) -> None:
    stage.begin("hello")
    stage.tell(CloseProcess(), *late)
    assert stage.run.expect(TurnEnded).outcome.reason is RunReason.CANCELLED
    stage.agent.expect(ProcessClosed)
    stage.gone()
    stage.run.assert_silent()
    stage.agent.assert_silent()


def test_a_second_start_starts_nothing(stage: Stage) -> None:
    stage.begin("hello")
    stage.tell(StartProcess(), StartProcess())
    stage.run.expect(ProcessStarted)
    stage.run.skip_to(TurnEnded)
    stage.gone()
    stage.run.assert_silent()


def test_a_command_that_is_gone_is_told_as_such(stage: Stage) -> None:
    stage.begin("hello", ("/no/such/command",))
    stage.tell(StartProcess())
    error = stage.run.expect(SpawnFailed).error
    assert isinstance(error, ProviderNotFoundError)
    assert "/no/such/command" in str(error)
    stage.agent.expect(ProcessClosed)
    stage.gone()


def test_a_fault_of_ours_ends_the_process(stage: Stage) -> None:
    stage.begin("stay")
    stage.tell(StartProcess())
    pid = stage.run.expect(ProcessStarted).pid
    stage.tell(EventsTaken("many"))  # type: ignore[arg-type]  # what a bug would do
    stage.run.skip_to(TurnEnded)
    assert not psutil.pid_exists(pid)
    stage.agent.expect(ProcessClosed)
