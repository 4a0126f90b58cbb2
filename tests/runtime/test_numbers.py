"""Every public argument that is a number refuses what is none, by its name."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from third_party import Echo

from toolcrib import (
    Agent,
    Approvals,
    Claude,
    CodeBuddy,
    Codex,
    ConfigurationError,
    Cursor,
    Driver,
    Limits,
    Options,
    Stream,
    System,
    Tracer,
    tool,
)
from toolcrib.errors import DefinitionError
from toolcrib.messages.turn import Launch
from toolcrib.runtime.tools.context import Context
from toolcrib.testing import ModelServer, wsgi_app

NAN, INFINITE, LONG = float("nan"), float("inf"), 10**5000
NO_NUMBERS = (NAN, -1, -INFINITE, True, "5", [5])
REFUSED = (TypeError, ValueError, ConfigurationError, DefinitionError)


@pytest.fixture
def system(tmp_path: Path) -> Iterator[System]:
    system = System(clones=tmp_path / "clones")
    yield system
    assert system.stop() == ()


@pytest.fixture
def finished(tmp_path: Path, system: System) -> Iterator[Stream]:
    with Agent(Echo(), system=system, workspace=tmp_path) as agent:
        stream = agent.stream("hello")
        stream.result(20)
        yield stream


def close(timeout: Any) -> None:
    Agent(Echo()).close(timeout)


def aclose(timeout: Any) -> None:
    asyncio.run(Agent(Echo()).aclose(timeout))


def nothing_is_recorded(timeout: Any) -> None:
    Tracer().wait_for(lambda _: True, timeout)


WAITS: dict[str, Callable[[Any], object]] = {
    "Agent.close": close,
    "Agent.aclose": aclose,
    "Tracer.wait_for": nothing_is_recorded,
    "Context.wait_cancelled": lambda given: Context("t").wait_cancelled(given),
    "WsgiApp.close": lambda given: wsgi_app([], "token").close(given),
    "ModelServer.wait_for": lambda given: ModelServer().wait_for(bool, given),
}


@pytest.mark.parametrize("call", WAITS.values(), ids=WAITS)
@pytest.mark.parametrize("given", NO_NUMBERS, ids=repr)
def test_a_time_to_wait_is_a_number_of_seconds(
    call: Callable[[Any], object], given: object
) -> None:
    with pytest.raises((TypeError, ValueError), match=r"^timeout is .*; pass "):
        call(given)


@pytest.mark.parametrize("given", NO_NUMBERS, ids=repr)
def test_so_is_that_for_a_result_or_a_systems_end(
    finished: Stream, system: System, given: Any
) -> None:
    with pytest.raises((TypeError, ValueError), match=r"^timeout is .*; pass "):
        finished.result(given)
    with pytest.raises((TypeError, ValueError), match=r"^timeout is .*; pass "):
        asyncio.run(finished.aresult(given))
    with pytest.raises((TypeError, ValueError), match=r"^timeout is .*; pass "):
        system.stop(given)
    assert system.healthy


@pytest.mark.parametrize("given", [0, 0.5, INFINITE, LONG], ids=["0", "0.5", "inf", "long"])
def test_a_wait_may_be_none_at_all_or_without_end(finished: Stream, given: Any) -> None:
    close(given)
    aclose(given)
    assert finished.result(given).run_id == asyncio.run(finished.aresult(given)).run_id


def options_of(driver: Callable[..., Driver]) -> Callable[[Any], object]:
    return lambda given: driver(grace=given)


def numbers(name: str, call: Callable[[Any], object], also: tuple[object, ...] = (0,)) -> Any:
    return pytest.param(name, call, (*NO_NUMBERS, INFINITE, LONG, *also), id=name)


def a_tool() -> str:
    """Do nothing."""
    return ""


SECONDS = [
    numbers("timeout", lambda given: Options(timeout=given)),
    numbers("idle_timeout", lambda given: Options(idle_timeout=given)),
    numbers("Approvals.timeout", lambda given: Approvals(timeout=given)),
    numbers("deadline", lambda given: tool.define(deadline=given)(a_tool)),
    *(numbers("grace", options_of(driver), ()) for driver in (Claude, CodeBuddy, Codex, Cursor)),
    numbers(
        "Launch.grace",
        lambda given: Launch(argv=("x",), environment={}, cwd=Path(), grace=given),
        (),
    ),
    numbers("Limits.deadline", lambda given: Limits(deadline=given)),
]
COUNTS = [
    pytest.param(name, call, (*NO_NUMBERS, 1.0, INFINITE, *also), id=name)
    for name, call, also in [
        ("event_buffer", lambda given: Agent(Echo(), event_buffer=given), (0,)),
        ("max_runs", lambda given: Agent(Echo(), max_runs=given), (0,)),
        ("Approvals.max_retries", lambda given: Approvals(max_retries=given), ()),
        ("output_limit", lambda given: tool.define(output_limit=given)(a_tool), (0,)),
        ("Limits.running", lambda given: Limits(running=given), (0,)),
        ("capacity", Tracer, (0,)),
        ("port", lambda given: System(port=given), (65536,)),
    ]
]


@pytest.mark.parametrize(("named", "call", "refused"), [*SECONDS, *COUNTS])
def test_limits_and_counts_refuse_what_makes_no_sense(
    named: str, call: Callable[[Any], object], refused: tuple[object, ...]
) -> None:
    for given in refused:
        with pytest.raises(REFUSED, match=rf"\b{named}\b.*(pass|must be)"):
            call(given)
