"""A Run actor with services: attached in order, detached in reverse, whatever happens."""

from __future__ import annotations

import logging
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from third_party import Gate

from toolcrib import (
    ConfigurationError,
    Event,
    Notice,
    RunError,
    RunFinished,
    RunReason,
    RunStarted,
    ServerConflictError,
    TextDelta,
)
from toolcrib.actors.base import Ref, Services
from toolcrib.errors import UnsupportedError
from toolcrib.messages.agent import CancelRun, ProviderStarting, RunEnded
from toolcrib.messages.cleaner import MakeClone
from toolcrib.messages.driver import CloseProcess
from toolcrib.messages.resources import HttpServer, Identity, StdioServer
from toolcrib.messages.run import (
    CloneFailed,
    EventsRead,
    RunDeadlinePassed,
    SpawnFailed,
    TurnEnded,
)
from toolcrib.messages.services import Attachment, RunInfo, RunService
from toolcrib.messages.turn import ProcessExit, TurnOutcome

from .conftest import WAIT
from .run_stage import OK, Capable, Stage

SECRET = "a long password"


class Service(RunService):
    """Writes down when it is attached and detached."""

    def __init__(
        self,
        name: str,
        log: list[str],
        brings: Attachment | None = None,
        *,
        attach_error: BaseException | None = None,
        detach_error: BaseException | None = None,
    ) -> None:
        self.name, self.log, self.brings = name, log, brings or Attachment()
        self.attach_error, self.detach_error = attach_error, detach_error
        self.gate = Gate()
        self.infos: list[RunInfo] = []

    def attach(self, run: RunInfo) -> Attachment:
        self.gate.go_through()
        self.infos.append(run)
        if self.attach_error is not None:
            raise self.attach_error
        self.log.append(f"+{self.name}")
        return self.brings

    def detach(self, run: RunInfo) -> None:
        self.log.append(f"-{self.name}")
        if self.detach_error is not None:
            raise self.detach_error


@pytest.fixture
def stage(services: Services, launch: Callable[..., Ref], tmp_path: Path) -> Stage:
    return Stage(services, launch, tmp_path)


@pytest.fixture
def log() -> list[str]:
    return []


def begin(stage: Stage, *services: Service, **options: Any) -> Capable:
    driver = Capable()
    stage.begin(driver, services=services, **options)
    return driver


def test_services_are_attached_before_the_clone_and_detached_after_the_process(
    stage: Stage, log: list[str]
) -> None:
    one, two = Service("one", log), Service("two", log)
    identity = Identity(id="ada")
    begin(stage, one, two, metadata={"ticket": "7"}, identity=identity)
    stage.cleaner.expect(MakeClone)
    assert log == ["+one", "+two"]
    (info,) = one.infos
    assert (info.run_id, info.provider, info.metadata, info.identity) == (
        "r", "echo", {"ticket": "7"}, identity,
    )  # fmt: skip
    stage.tell(SpawnFailed(OSError("no")))
    stage.error(RunError)
    stage.agent.skip_to(RunEnded)
    assert log == ["+one", "+two", "-two", "-one"]


ENDS: dict[str, Callable[[Stage], None]] = {
    "success": lambda stage: stage.tell(OK),
    "failure": lambda stage: stage.tell(
        TurnEnded(
            TurnOutcome(ok=False, reason=RunReason.PROVIDER_FAILED, message="no"),
            ProcessExit(code=1, stderr=""),
        )
    ),
    "a process that can't start": lambda stage: stage.tell(SpawnFailed(OSError("no"))),
    "cancellation": lambda stage: stage.tell(CancelRun("r", RunReason.CANCELLED, "why"), OK),
    "a fault of ours": lambda stage: stage.tell(EventsRead(None), OK),  # type: ignore[arg-type]
}


@pytest.mark.parametrize("end", ENDS)
def test_a_service_is_detached_once_however_the_run_ends(
    stage: Stage, log: list[str], end: str
) -> None:
    begin(stage, Service("one", log))
    stage.launched()
    ENDS[end](stage)
    stage.agent.skip_to(RunEnded)
    assert log == ["+one", "-one"]


def test_a_service_stays_attached_while_the_process_of_a_stopped_run_lives(
    stage: Stage, log: list[str]
) -> None:
    begin(stage, Service("one", log))
    stage.launched()
    stage.tell(RunDeadlinePassed(1.0))
    stage.driver.expect(CloseProcess)
    assert log == ["+one"]
    stage.tell(OK)
    stage.agent.skip_to(RunEnded)
    assert log == ["+one", "-one"]


def test_a_clone_that_fails_detaches_too(stage: Stage, log: list[str]) -> None:
    begin(stage, Service("one", log))
    stage.cleaner.expect(MakeClone)
    stage.tell(CloneFailed(ConfigurationError("no clone")))
    stage.error(ConfigurationError)
    stage.agent.skip_to(RunEnded)
    assert log == ["+one", "-one"]


def test_an_attach_that_fails_detaches_the_earlier_ones_and_fails_the_run(
    stage: Stage, log: list[str]
) -> None:
    broken = Service("two", log, attach_error=OSError("no database"))
    begin(stage, Service("one", log), broken, Service("three", log))
    error = stage.error(RunError)
    assert isinstance(error, RunError)
    assert error.reason is RunReason.INFRASTRUCTURE
    assert "no database" in str(error)
    assert log == ["+one", "-one"]
    stage.cleaner.assert_silent()


BAD: dict[str, tuple[Any, type[Exception]]] = {
    "no attachment": (None, ConfigurationError),
    "the token's variable": (Attachment(environment={"V": "x"}), ConfigurationError),
    "a variable of ours": (Attachment(environment={"TOOLCRIB_HOST": "x"}), ConfigurationError),
    "a variable of another service": (Attachment(environment={"DB": "x"}), ConfigurationError),
    "no variable's name": (Attachment(environment={"A=B": "x"}), ConfigurationError),
    "our server's key": (
        Attachment(mcp=(StdioServer(key="toolcrib", command="x"),)),
        ServerConflictError,
    ),
    "a key of the run's": (
        Attachment(mcp=(StdioServer(key="mine", command="x"),)),
        ServerConflictError,
    ),
    "a key of the run's but for its case": (
        Attachment(mcp=(StdioServer(key="Mine", command="x"),)),
        ServerConflictError,
    ),
    "a key that can't be one": (
        Attachment(mcp=(StdioServer(key="a b", command="x"),)),
        ConfigurationError,
    ),
    "a url that holds a login": (
        Attachment(mcp=(HttpServer(key="db", url="http://me:secret@127.0.0.1:1"),)),
        ConfigurationError,
    ),
    "no servers": (Attachment(mcp=("x",)), ConfigurationError),  # type: ignore[arg-type]
}


@pytest.mark.parametrize("bad", BAD)
def test_what_a_service_may_not_bring_is_refused_and_all_is_detached(
    stage: Stage, log: list[str], bad: str
) -> None:
    brings, kind = BAD[bad]
    second = Service("two", log)
    second.brings = brings
    first = Service("one", log, Attachment(environment={"DB": "y"}))
    begin(stage, first, second, mcp=(HttpServer(key="mine", url="http://127.0.0.1:1"),))
    assert "Service" in str(stage.error(kind))  # type: ignore[arg-type]
    assert log == ["+one", "+two", "-two", "-one"]
    stage.cleaner.assert_silent()


def test_a_server_that_the_driver_can_not_add_is_refused_and_all_is_detached(
    stage: Stage, log: list[str]
) -> None:
    server = StdioServer(key="db", command="db-mcp")
    service = Service("one", log, Attachment(mcp=(server,)))

    class Plain(Capable):
        capabilities = type(Capable.capabilities)()

    stage.begin(Plain(), services=(service,))
    stage.error(UnsupportedError)
    assert log == ["+one", "-one"]


def test_what_services_bring_reaches_the_driver_and_is_masked(
    stage: Stage, log: list[str]
) -> None:
    server = StdioServer(key="db", command="db-mcp")
    brings = Attachment(environment={"DB_PASSWORD": SECRET, "DB_PORT": "5432"}, mcp=(server,))
    driver = begin(stage, Service("one", log, brings))
    stage.launched()
    (request,) = driver.requests
    assert request.environment["DB_PASSWORD"] == SECRET
    assert request.mcp == (server,)
    (launch,) = stage.launches
    # A port is no secret, and hiding its digits would break the provider's records.
    assert [secret.reveal() for secret in launch.secrets] == [SECRET]
    assert SECRET not in repr(request) + repr(launch) + repr(brings)
    stage.tell(OK)
    assert stage.result().text == "hello"


def test_a_detach_that_raises_is_told_and_the_others_are_detached(
    stage: Stage, log: list[str]
) -> None:
    broken = Service("two", log, detach_error=SystemExit("no"))
    begin(stage, Service("one", log), broken)
    stage.launched()
    stage.tell(OK)
    assert stage.result().text == "hello"  # the turn itself succeeded
    assert log == ["+one", "+two", "-two", "-one"]
    kinds = [event.kind for event in stage.seen() if isinstance(event, Notice)]
    assert kinds == ["services.not_detached"]


def test_a_detach_that_raises_is_among_the_causes_of_a_failed_run(
    stage: Stage, log: list[str]
) -> None:
    oops = OSError("no")
    begin(stage, Service("one", log, detach_error=oops))
    stage.launched()
    ENDS["failure"](stage)
    error = stage.error(RunError)
    assert isinstance(error, RunError)
    assert error.causes == (oops,)


def test_a_run_that_is_cancelled_while_a_service_attaches_detaches_it(
    stage: Stage, log: list[str]
) -> None:
    slow = Service("one", log)
    slow.gate.hold()
    begin(stage, slow)
    assert slow.gate.entered.wait(WAIT)
    stage.tell(CancelRun("r", RunReason.CANCELLED, "why"))
    slow.gate.release.set()
    stage.error(RunError)
    stage.agent.skip_to(RunEnded)
    assert log == ["+one", "-one"]
    stage.cleaner.assert_silent()


class Recorder:
    """An observer."""

    def __init__(self) -> None:
        self.events: list[Event] = []
        self.threads: set[str] = set()

    def __call__(self, event: Event) -> None:
        self.events.append(event)
        self.threads.add(threading.current_thread().name)


def test_an_observer_hears_everything_in_order_before_its_service_is_detached(
    stage: Stage, log: list[str]
) -> None:
    recorder = Recorder()

    class Ordered(Service):
        def detach(self, run: RunInfo) -> None:
            self.log.append(type(recorder.events[-1]).__name__)

    def observe(event: Event) -> None:
        if isinstance(event, RunFinished):
            threading.Event().wait(0.1)  # the last one is late, and waited for
        recorder(event)

    begin(stage, Ordered("one", log, Attachment(observe=observe)))
    stage.events.discard()  # whoever reads the stream or not
    stage.launched()
    stage.tell(EventsRead(tuple(TextDelta(text=str(n)) for n in range(500))), OK)
    assert stage.result().text == "hello"
    assert isinstance(recorder.events[0], RunStarted)
    texts = [e.text for e in recorder.events if isinstance(e, TextDelta)]
    assert texts == [str(n) for n in range(500)]
    assert sum(isinstance(e, RunFinished) for e in recorder.events) == 1
    assert [e.sequence for e in recorder.events] == list(range(1, len(recorder.events) + 1))
    assert {e.run_id for e in recorder.events} == {"r"}
    assert all("worker" in name for name in recorder.threads)
    assert log == ["+one", "RunFinished"]


def test_an_observer_that_raises_is_logged_once_and_changes_nothing(
    stage: Stage, log: list[str], caplog: pytest.LogCaptureFixture
) -> None:
    def observe(event: Event) -> None:
        raise SystemExit("oops")

    recorder = Recorder()
    begin(
        stage,
        Service("one", log, Attachment(observe=observe)),
        Service("two", log, Attachment(observe=recorder)),
    )
    with caplog.at_level(logging.ERROR, "toolcrib.services"):
        stage.launched()
        stage.tell(EventsRead((TextDelta(text="a"), TextDelta(text="b"))), OK)
        assert stage.result().text == "hello"
    assert sum("observer" in record.getMessage() for record in caplog.records) == 1
    assert sum(isinstance(e, TextDelta) for e in recorder.events) == 2


def test_a_run_without_services_attaches_nothing(stage: Stage) -> None:
    stage.begin(Capable())
    stage.launched()
    stage.agent.expect(ProviderStarting)
    assert not [e for e in stage.tracer.entries() if e.kind == "ServicesAttached"]
