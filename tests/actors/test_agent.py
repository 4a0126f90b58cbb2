"""The Agent actor alone: registry, cleaner and runs are probes."""

from __future__ import annotations

import contextvars
from collections.abc import Callable
from pathlib import Path, PurePosixPath

import pytest

from toolcrib import AgentClosedError, GatewayError, MemoryStore, RunReason, Secret, tool
from toolcrib.actors.agent import AgentActor, StartRunActor
from toolcrib.actors.base import Ref, Services
from toolcrib.messages.agent import (
    AgentClosed,
    CancelRun,
    CloseAgent,
    CloseTimedOut,
    ProcessClosed,
    ProviderStarting,
    RunAdmitted,
    RunEnded,
    RunRefused,
    RunStopping,
    StartRun,
    ToolsWanted,
)
from toolcrib.messages.base import Address, Message
from toolcrib.messages.cleaner import (
    ClonesRemaining,
    ClonesRemoved,
    OwnerSealed,
    RemoveClones,
    ReturnClone,
    SealOwner,
)
from toolcrib.messages.driver import CloseProcess
from toolcrib.messages.options import RunOptions
from toolcrib.messages.registry import (
    MintToken,
    RetireToken,
    TokenMinted,
    TokenRefused,
    TokenRetired,
    TokenRetiring,
)
from toolcrib.messages.run import ToolsFailed, ToolsReady
from toolcrib.runtime.spec import AgentSpec
from toolcrib.runtime.streams import EventStream
from toolcrib.runtime.tools.catalog import Catalog
from toolcrib.runtime.tracing import Tracer

from .conftest import Probe

NEVER = 60.0
AT_ONCE = 0.05


def echo(text: str) -> str:
    return text


class House:
    """An Agent actor between probes."""

    def __init__(
        self,
        services: Services,
        launch: Callable[..., Ref],
        driver: object,
        max_runs: int | None = None,
    ) -> None:
        self.registry, self.cleaner = Probe("registry"), Probe("cleaner")
        self.runs: list[Probe] = []
        self.started: list[tuple[str, float]] = []
        self.start_run: StartRunActor = self._start_run
        spec = AgentSpec(
            name="agent-1",
            driver=driver,  # type: ignore[arg-type]  # never asked for anything here
            catalog=Catalog([tool.define("echo", "Say it again.", echo)]),
            store=MemoryStore(),
            deadline=120,
            variable="TOOLCRIB_TOKEN_X",
            environment={},
            context=contextvars.copy_context(),
            max_runs=max_runs,
        )
        self.actor = launch(AgentActor, spec, services, self.registry, self.cleaner, self._start)

    def _start(self, request: StartRun, agent: Address, waited: float) -> Address:
        return self.start_run(request, agent, waited)

    def _start_run(self, request: StartRun, agent: Address, waited: float) -> Address:
        run = Probe(f"run-{len(self.runs) + 1}")
        self.runs.append(run)
        self.started.append((request.run_id, waited))
        return run

    def tell(self, *messages: Message) -> None:
        for message in messages:
            self.actor.deliver(message, "test")

    def admit(self, run_id: str) -> Probe:
        host = Probe("host")
        self.tell(start(run_id, host))
        assert host.expect(RunAdmitted).run_id == run_id
        return self.runs[-1]

    def close(self, timeout: float) -> Probe:
        host = Probe("host")
        self.tell(CloseAgent(timeout, host))
        return host


def start(run_id: str, reply_to: Address, timeout: float | None = None) -> StartRun:
    return StartRun(
        run_id=run_id,
        prompt="?",
        options=RunOptions(workspace=Path.cwd(), timeout=timeout),
        thread_key=None,
        sink=EventStream(run_id, None),
        reply_to=reply_to,
    )


@pytest.fixture
def house(services: Services, launch: Callable[..., Ref]) -> House:
    return House(services, launch, object())


def test_the_token_is_minted_once_for_however_many_runs(house: House) -> None:
    runs = [house.admit(f"r{n}") for n in range(3)]
    house.tell(ToolsWanted("r0", runs[0]), ToolsWanted("r1", runs[1]))
    house.registry.expect(MintToken)
    house.tell(TokenMinted("http://127.0.0.1:1/mcp", Secret("t")), ToolsWanted("r2", runs[2]))
    servers = [run.expect(ToolsReady).server for run in runs]
    assert servers[0] == servers[1] == servers[2]
    assert servers[0].variable == "TOOLCRIB_TOKEN_X"
    house.registry.assert_silent()


def test_a_gateway_that_can_not_start_is_told_to_the_waiting_runs_and_tried_again(
    house: House,
) -> None:
    run = house.admit("r")
    house.tell(ToolsWanted("r", run))
    house.registry.expect(MintToken)
    error = GatewayError("no port")
    house.tell(TokenRefused(error))
    assert run.expect(ToolsFailed).error is error
    house.tell(ToolsWanted("r", run))
    house.registry.expect(MintToken)


def test_a_cancellation_reaches_its_run_and_no_other(house: House) -> None:
    first, second = house.admit("r1"), house.admit("r2")
    cancel = CancelRun("r2", RunReason.CANCELLED, "why")
    house.tell(cancel, CancelRun("unknown", RunReason.CANCELLED, "why"))
    assert second.expect(CancelRun) == cancel
    house.admit("r3")
    first.assert_silent()


def test_a_closing_agent_admits_nothing(house: House) -> None:
    house.admit("r1")
    house.close(NEVER)
    host = Probe("host")
    house.tell(start("r2", host))
    assert isinstance(host.expect(RunRefused).error, AgentClosedError)


def test_close_goes_through_its_phases_in_order(house: House, tracer: Tracer) -> None:
    run = house.admit("r")
    driver = Probe("driver-1")
    house.tell(ProviderStarting("r", driver))
    host = house.close(NEVER)
    run.expect(CancelRun)
    driver.assert_silent()  # not before the run has promised to start nothing
    house.tell(RunStopping("r"))
    driver.expect(CloseProcess)
    house.cleaner.assert_silent()
    house.tell(ProcessClosed("driver-1"))
    house.tell(RunEnded("r"))
    house.cleaner.expect(SealOwner)
    house.tell(OwnerSealed("agent-1", 1))
    house.cleaner.expect(RemoveClones)
    house.registry.assert_silent()  # the token outlives the clones
    house.tell(ClonesRemoved("agent-1"))
    house.registry.expect(RetireToken)
    host.assert_silent()
    house.tell(TokenRetired("agent-1"))
    host.expect(AgentClosed)


PHASES: dict[str, list[Message]] = {
    "cancelling_runs": [],
    "closing_processes": [RunStopping("r")],
    "draining_runs": [RunStopping("r"), ProcessClosed("driver-1")],
    "reaping_late_writers": [RunStopping("r"), ProcessClosed("driver-1"), RunEnded("r")],
    "removing_clones": [
        RunEnded("r"),
        ProcessClosed("driver-1"),
        OwnerSealed("agent-1", 1),
        ClonesRemaining("agent-1", (Path("/clones/1"),), "why"),
    ],
    "revoking_token": [
        RunEnded("r"),
        ProcessClosed("driver-1"),
        OwnerSealed("agent-1", 1),
        ClonesRemoved("agent-1"),
        TokenRetiring(("echo",)),
    ],
}
LEFT = {
    "cancelling_runs": ("run r",),
    "closing_processes": ("the process of driver-1",),
    "draining_runs": ("run r",),
    "reaping_late_writers": ("a clone that is being made",),
    "removing_clones": (f"clone {PurePosixPath('/clones/1')} (why)",),
    "revoking_token": ("a handler of tool echo",),
}
REST: list[Message] = [
    RunEnded("r"),
    ProcessClosed("driver-1"),
    OwnerSealed("agent-1", 1),
    ClonesRemoved("agent-1"),
    TokenRetired("agent-1"),
]


@pytest.mark.parametrize("phase", list(PHASES))
def test_a_close_that_is_held_names_its_phase_and_goes_on_from_there(
    phase: str, house: House, tracer: Tracer
) -> None:
    house.admit("r")
    house.tell(ProviderStarting("r", Probe("driver-1")))
    first = house.close(AT_ONCE)
    house.tell(*PHASES[phase])
    timed_out = first.expect(CloseTimedOut)
    assert (timed_out.phase, timed_out.remaining) == (phase, LEFT[phase])
    again = house.close(NEVER)
    house.tell(*REST)
    again.expect(AgentClosed)
    # Each request of the sequence went out once, over both calls.
    for probe, kind in (
        (house.cleaner, SealOwner),
        (house.cleaner, RemoveClones),
        (house.registry, RetireToken),
    ):
        probe.expect(kind)
    house.cleaner.assert_silent()
    house.registry.assert_silent()
    house.runs[0].expect(CancelRun)
    house.runs[0].assert_silent()


def test_concurrent_closers_share_one_sequence_each_with_a_deadline_of_its_own(
    house: House,
) -> None:
    house.admit("r")
    patient, hasty = house.close(NEVER), house.close(AT_ONCE)
    hasty.expect(CloseTimedOut)
    house.tell(*REST)
    patient.expect(AgentClosed)
    house.runs[0].expect(CancelRun)
    house.runs[0].assert_silent()


def test_a_process_that_came_late_is_closed_too(house: House) -> None:
    house.admit("r")
    house.close(NEVER)
    late = Probe("driver-9")
    house.tell(RunStopping("r"), ProviderStarting("r", late), RunEnded("r"))
    late.expect(CloseProcess)
    house.tell(OwnerSealed("agent-1", 0))
    house.cleaner.expect(SealOwner)
    house.cleaner.assert_silent()  # clones stay while a process may write to them


def test_a_closed_agent_stops(house: House) -> None:
    host = house.close(NEVER)
    house.tell(*REST)
    host.expect(AgentClosed)
    assert house.actor.join(10)


def test_a_run_that_ended_gives_its_clone_back(house: House) -> None:
    run = house.admit("r")
    house.tell(RunEnded("r", "key"))
    back = house.cleaner.expect(ReturnClone)
    assert (back.agent, back.key, back.run, back.run_id) == ("agent-1", "key", run.name, "r")
