"""Each waiter has an error of its own, which says what the others' say."""

from __future__ import annotations

import itertools
import socket
import threading
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from typing import Self

import pytest
from third_party import Echo

from toolcrib import (
    Agent,
    AskTimeout,
    CloseTimeout,
    GatewayError,
    ProfileError,
    RunError,
    Stream,
    System,
    ToolcribError,
    Tracer,
    UnsupportedError,
    tool,
)
from toolcrib.runtime.profiles.clone import Clone
from toolcrib.runtime.twin import twin

RUNS = 6
WAIT = 20.0


class Odd(ToolcribError):
    """An application's own, which takes other arguments than it has."""

    def __init__(self, code: int, *, detail: str) -> None:
        super().__init__(f"failed with {code}")
        self.detail = detail


class Slotted(ToolcribError):
    __slots__ = ("detail",)
    detail: str


class Picky(ToolcribError):
    def __new__(cls, *, code: int) -> Self:
        return super().__new__(cls, str(code))

    def __init__(self, *, code: int) -> None:
        super().__init__(f"failed with {code}")


def slotted() -> Slotted:
    error = Slotted("no")
    error.detail = "deep"
    return error


@pytest.mark.parametrize(
    "error",
    [
        ProfileError("no such profile"),
        UnsupportedError("can't", provider="p", option="o", value=3),
        CloseTimeout("draining_runs", ("run r",), 3),
        AskTimeout("late"),
        Odd(3, detail="deep"),
        slotted(),
        Picky(code=3),
        FileNotFoundError(2, "not there"),
    ],
    ids=lambda error: type(error).__name__,
)
def test_a_twin_says_the_same_and_is_another(error: BaseException) -> None:
    error.__cause__ = ValueError("why")
    error.add_note("by the way")

    second = twin(error)

    assert second is not error
    assert (type(second), second.args, str(second)) == (type(error), error.args, str(error))
    for name in ("value", "phase", "detail", "errno"):
        assert getattr(second, name, None) == getattr(error, name, None)
    assert second.__cause__ is error.__cause__
    second.add_note("only here")
    assert error.__notes__ == ["by the way"]


@dataclass(frozen=True)
class Seedless(Echo):
    """Fails to fill the clone, once it may go on."""

    kind: type[Exception] = ProfileError

    def seed(self, clone: Clone, environment: object) -> None:
        self.seeding.go_through()
        raise self.kind("no seed")


def say() -> str:
    """Say it."""
    return ""


def errors_of(streams: list[Stream]) -> list[BaseException]:
    """Wait for all runs at once, each twice, and return what was raised."""
    waiters = [stream for stream in streams for _ in range(2)]
    together = threading.Barrier(len(waiters))

    def wait(stream: Stream) -> BaseException:
        together.wait(WAIT)
        try:
            raise LookupError(stream.run_id)
        except LookupError:
            with pytest.raises(ToolcribError) as caught:
                stream.result(WAIT)
            return caught.value

    with ThreadPoolExecutor(len(waiters)) as pool:
        return list(pool.map(wait, waiters))


def check_that_they_are_alike_and_apart(errors: list[BaseException]) -> None:
    assert len({id(error) for error in errors}) == len(errors) == 2 * RUNS
    assert len({(type(error), str(error), type(error.__cause__)) for error in errors}) == 1
    contexts = {str(error.__context__) for error in errors}
    assert len(contexts) == RUNS
    assert len({len(_frames(error)) for error in errors}) == 1


def _frames(error: BaseException) -> list[object]:
    traceback = error.__traceback__
    frames: list[object] = []
    while traceback is not None:
        frames.append(traceback)
        traceback = traceback.tb_next
    return frames


@pytest.mark.parametrize(
    ("kind", "raised"), [(ProfileError, ProfileError), (ZeroDivisionError, RunError)]
)
def test_runs_whose_clone_fails_each_raise_their_own_error(
    tmp_path: Path, kind: type[Exception], raised: type[Exception]
) -> None:
    driver, tracer = Seedless(kind=kind), Tracer()
    driver.seeding.hold()
    waiting = itertools.count(1)
    with (
        System(clones=tmp_path / "clones", tracer=tracer) as system,
        Agent(driver, system=system, workspace=tmp_path) as agent,
    ):
        streams = [agent.stream("hello") for _ in range(RUNS)]
        tracer.wait_for(lambda entry: entry.kind == "MakeClone" and next(waiting) == RUNS, WAIT)
        driver.seeding.release.set()
        errors = errors_of(streams)
    assert all(type(one) is raised and "no seed" in str(one) for one in errors)
    check_that_they_are_alike_and_apart(errors)


def test_runs_whose_tools_fail_each_raise_their_own_error(tmp_path: Path) -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        with (
            System(clones=tmp_path / "clones", port=port) as system,
            Agent(
                Echo(), system=system, workspace=tmp_path, tools=[tool.define(revision="1")(say)]
            ) as agent,
        ):
            errors = errors_of([agent.stream("hello") for _ in range(RUNS)])
    assert all(type(one) is GatewayError for one in errors)
    check_that_they_are_alike_and_apart(errors)
