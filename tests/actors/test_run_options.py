"""A Run actor with options: what the driver gets, and what comes back in the result."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any, ClassVar

import pytest
from third_party import Gate

from toolcrib import InvalidInputError, MemoryStore, RunError, RunReason, TextDelta, ToolCall
from toolcrib.actors.base import Ref, Services
from toolcrib.errors import ThreadIncompatibleError
from toolcrib.messages.agent import CancelRun, RunEnded
from toolcrib.messages.cleaner import MakeClone
from toolcrib.messages.driver import CloseProcess, EventsTaken
from toolcrib.messages.options import OutputSchema
from toolcrib.messages.policy import Policy
from toolcrib.messages.resources import HttpServer, Identity, Resources, Skill
from toolcrib.messages.run import EventsRead, RunDeadlinePassed, TurnEnded
from toolcrib.messages.turn import ProcessExit, TurnOutcome
from toolcrib.runtime.drivers.interface import Capabilities
from toolcrib.runtime.streams import EventStream

from .conftest import WAIT
from .run_stage import OK, Capable, Stage

SCHEMA = {"type": "object", "required": ["n"]}


@pytest.fixture
def stage(services: Services, launch: Callable[..., Ref], tmp_path: Path) -> Stage:
    return Stage(services, launch, tmp_path)


def load(text: str) -> Any:
    try:
        return json.loads(text)["n"]
    except (ValueError, KeyError, TypeError):
        msg = "n: is missing"
        raise InvalidInputError(msg) from None


def output(loader: Callable[[str], Any] = load) -> OutputSchema:
    return OutputSchema(name="Count", schema=SCHEMA, load=loader)


def ended(text: str, **more: Any) -> TurnEnded:
    outcome = TurnOutcome(ok=True, text=text, session_id="s1", **more)
    return TurnEnded(outcome, ProcessExit(code=0, stderr="", stdout="line\n"))


class Native(Capable):
    """A driver whose provider keeps to a schema by itself."""

    capabilities: ClassVar[Capabilities] = Capabilities(native_output=True)


def test_the_driver_gets_everything_that_was_asked_for(stage: Stage) -> None:
    driver = Capable()
    skill = Skill(name="s", content="#")
    server = HttpServer(key="web", url="http://127.0.0.1:1")
    policy = Policy(sandbox="read_only")
    resources = Resources(config={"a": [1]})
    stage.begin(
        driver,
        model="m",
        instructions="be brief",
        policy=policy,
        skills=(skill,),
        mcp=(server,),
        resources=resources,
    )
    stage.launched()
    (request,) = driver.requests
    assert (request.model, request.instructions, request.policy) == ("m", "be brief", policy)
    assert (request.skills, request.mcp) == ((skill,), (server,))
    assert request.resources == resources
    assert request.prompt == "?"


def test_the_result_tells_what_was_said_and_done(stage: Stage) -> None:
    stage.begin(Capable(), metadata={"ticket": "7"})
    stage.events.discard()
    stage.launched()
    call = ToolCall(call_id="c", name="say", arguments={}, hosted=True)
    stage.tell(EventsRead((TextDelta(text="hel"), TextDelta(text="lo"), call)), ended("hello"))
    result = stage.result()
    assert result.metadata == {"ticket": "7"}
    assert [(item.kind, item.text) for item in result.transcript] == [
        ("user", "?"), ("assistant", "hello"), ("tool_call", "{}"),
    ]  # fmt: skip
    assert result.stdout == "line\n"
    assert result.output is None


def test_a_prompt_asks_for_the_output_where_the_provider_does_not_know_schemas(
    stage: Stage,
) -> None:
    driver = Capable()
    stage.begin(driver, output=output())
    stage.launched()
    (request,) = driver.requests
    assert request.prompt.startswith("?\n")
    assert "Count" in request.prompt
    assert json.dumps(SCHEMA) in request.prompt
    stage.tell(ended(' {"n": 3}\n'))
    result = stage.result()
    assert (result.output, result.text) == (3, ' {"n": 3}\n')
    assert result.transcript[0].text == "?"  # as the caller gave it


@pytest.mark.parametrize(
    ("given", "value"), [({"output": '{"n": 4}'}, 4), ({}, 3)], ids=["native", "text"]
)
def test_a_provider_that_knows_schemas_is_handed_them(
    stage: Stage, given: dict[str, str], value: int
) -> None:
    driver = Native()
    stage.begin(driver, output=output())
    stage.launched()
    assert driver.requests[0].prompt == "?"
    assert driver.requests[0].output == output()
    stage.tell(ended('{"n": 3}', **given))
    assert stage.result().output == value


@pytest.mark.parametrize("text", ['```json\n{"n": 3}\n```', 'Here: {"n": 3}', "", "{}"])
def test_an_answer_that_is_not_exactly_the_output_fails_the_run_with_its_text(
    stage: Stage, text: str
) -> None:
    stage.begin(Capable(), thread="t", output=output())
    stage.launched()
    (stage.clone.profile / "chat.txt").write_text("history")
    stage.tell(ended(text))
    error = stage.error(RunError)
    assert isinstance(error, RunError)
    assert error.reason is RunReason.INVALID_OUTPUT
    assert "Count" in error.message
    assert "n: is missing" in error.message
    assert error.result.text == text
    assert stage.store.load("t") is None  # no history
    stage.store.acquire("t", "the next run")


def test_an_output_is_loaded_before_the_thread_is_kept(stage: Stage) -> None:
    stage.begin(Capable(), thread="t", output=output())
    stage.launched()
    (stage.clone.profile / "chat.txt").write_text("history")
    stage.tell(ended('{"n": 3}'))
    assert stage.result().output == 3
    assert stage.store.load("t") is not None


def test_a_loader_with_a_bug_fails_its_run_as_infrastructure(stage: Stage) -> None:
    def broken(text: str) -> Any:
        raise ZeroDivisionError("oops")

    stage.begin(Capable(), output=output(broken))
    stage.launched()
    stage.tell(ended("{}"))
    error = stage.error(RunError)
    assert isinstance(error, RunError)
    assert error.reason is RunReason.INFRASTRUCTURE
    assert isinstance(error.__cause__, ZeroDivisionError)


def test_a_failed_turn_is_not_read_as_an_output(stage: Stage) -> None:
    stage.begin(Capable(), output=output())
    stage.launched()
    outcome = TurnOutcome(ok=False, reason=RunReason.PROVIDER_FAILED, message="no", text="{}")
    stage.tell(TurnEnded(outcome, ProcessExit(code=1, stderr="")))
    error = stage.error(RunError)
    assert isinstance(error, RunError)
    assert error.reason is RunReason.PROVIDER_FAILED


def key_of(stage: Stage, **options: Any) -> str:
    stage.begin(Capable(), **options)
    return stage.cleaner.expect(MakeClone).key


def test_runs_share_a_clone_only_with_runs_like_them(stage: Stage) -> None:
    ada, bob = Identity(id="ada", tenant="x"), Identity(id="bob", tenant="x")
    skill, server = Skill(name="s", content="#"), HttpServer(key="k", url="http://127.0.0.1:1")
    keys = [
        key_of(stage),
        key_of(stage, identity=ada),
        key_of(stage, identity=bob),
        key_of(stage, identity=Identity(id="ada", tenant="y")),
        key_of(stage, identity=Identity(id="xada")),
        key_of(stage, skills=(skill,)),
        key_of(stage, mcp=(server,)),
        key_of(stage, resources=Resources(config={"a": 1})),
        key_of(stage, resources=Resources(config={"a": True})),
    ]
    assert len(set(keys)) == len(keys)
    assert keys[0] == key_of(stage, model="m", metadata={"a": "b"})
    assert keys[0] == key_of(stage, resources=Resources())
    assert keys[1] == key_of(stage, identity=Identity(id="ada", tenant="x", name="Ada"))


@pytest.mark.parametrize("other", [None, Identity(id="bob"), Identity(id="ada", tenant="x")])
def test_a_thread_goes_on_only_for_the_identity_that_began_it(
    stage: Stage, other: Identity | None
) -> None:
    ada = Identity(id="ada")
    stage.begin(Capable(), thread="t", identity=ada)
    stage.launched()
    (stage.clone.profile / "chat.txt").write_text("history")
    stage.tell(OK)
    stage.result()
    stage.events = EventStream("r", None)
    stage.begin(Capable(), thread="t", identity=other)
    assert "another identity" in str(stage.error(ThreadIncompatibleError))
    stage.agent.skip_to(RunEnded)
    stage.events = EventStream("r", None)
    driver = Capable()
    stage.begin(driver, thread="t", identity=Identity(id="ada", name="Ada"))
    stage.launched()
    assert driver.requests[0].resume == "s1"


def test_a_paced_stream_takes_from_the_provider_only_what_is_read(stage: Stage) -> None:
    stage.begin(Capable(), sink=EventStream("r", None, paces=True))
    stage.launched()
    stage.tell(EventsRead(tuple(TextDelta(text=str(n)) for n in range(3))))
    stage.next(TextDelta)
    stage.next(TextDelta)
    stage.driver.assert_silent()
    stage.next(TextDelta)  # nothing is left, so that the reads are reported
    assert taken(stage, 3) == 3  # and not those of the run's own events
    stage.tell(OK)
    assert stage.result().text == "hello"


def taken(stage: Stage, count: int) -> int:
    total = 0
    while total < count:
        total += stage.driver.expect(EventsTaken).count
    return total


def test_a_paced_stream_that_is_discarded_lets_the_provider_run(stage: Stage) -> None:
    stage.begin(Capable(), sink=EventStream("r", None, paces=True))
    stage.launched()
    stage.tell(EventsRead((TextDelta(text="1"), TextDelta(text="2"))))
    stage.events.discard()
    stage.tell(EventsRead((TextDelta(text="3"),)))
    assert taken(stage, 3) == 3


def test_a_paced_stream_that_nobody_reads_does_not_hold_up_the_end(stage: Stage) -> None:
    stage.begin(Capable(), sink=EventStream("r", None, paces=True))
    stage.launched()
    stage.tell(EventsRead((TextDelta(text="1"),)), RunDeadlinePassed(1.0))
    stage.driver.skip_to(CloseProcess)
    stage.tell(OK)
    error = stage.error(RunError)
    assert isinstance(error, RunError)
    assert error.reason is RunReason.TIMED_OUT
    stage.agent.skip_to(RunEnded)


@pytest.mark.parametrize("held", ["check", "store", "load"])
def test_a_cancellation_does_not_wait_for_code_that_hangs(stage: Stage, held: str) -> None:
    gate, driver = Gate(), Capable()
    options: dict[str, Any] = {}
    gate.hold()

    class Hanging(MemoryStore):
        def release(self, lease: Any) -> None:
            gate.go_through()
            super().release(lease)

    def hang(text: str) -> Any:
        gate.go_through()
        return text

    match held:
        case "check":
            driver = Capable(checking=gate)
        case "store":
            stage.store, options = Hanging(), {"thread": "t"}
        case _:
            options = {"output": output(hang)}
    stage.begin(driver, grace=0.05, **options)
    if held == "store":
        stage.cleaner.expect(MakeClone)
    elif held == "load":
        stage.launched()
        stage.tell(ended("{}"))
        assert gate.entered.wait(WAIT)
    stage.tell(CancelRun("r", RunReason.CANCELLED, "the host said so"))
    error = stage.error(RunError)
    assert isinstance(error, RunError)
    assert error.reason is RunReason.CANCELLED
    gate.release.set()
    stage.agent.skip_to(RunEnded)
