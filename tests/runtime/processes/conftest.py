from __future__ import annotations

import os
import sys
import threading
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, TypeAlias

import psutil
import pytest

from toolcrib.messages.approvals import Ask
from toolcrib.messages.events import Event, TextDelta
from toolcrib.messages.secret import Secret
from toolcrib.messages.turn import Launch, ProcessExit, TurnOutcome
from toolcrib.runtime.drivers.interface import Dialect, Emit, Finished, Step
from toolcrib.runtime.processes.session import ProviderProcess

DEADLINE = 20.0


class LineDialect(Dialect):
    """Every line becomes a text; ``DONE`` is the terminal record."""

    def __init__(self, *opening: Step) -> None:
        self.first = opening
        self.lines: list[str] = []
        self.terminal = False

    def opening(self) -> tuple[Step, ...]:
        return self.first

    def line(self, text: str) -> tuple[Step, ...]:
        self.lines.append(text)
        if text == "DONE":
            self.terminal = True
            return (Finished(),)
        return (Emit(TextDelta(text=text)),)

    def ended(self, exit: ProcessExit) -> TurnOutcome:
        ok = self.terminal and (exit.code == 0 or exit.forced)
        return TurnOutcome(ok=ok, text="\n".join(self.lines), session_id="s-1")


class Probe:
    """A listener that keeps everything and can be waited for."""

    def __init__(self, *, acknowledging: bool = True) -> None:
        self.acknowledging = acknowledging
        self.process: ProviderProcess | None = None
        self.calls: list[str] = []
        self.pid = 0
        self.events: list[Event] = []
        self.errors: list[str] = []
        self.asks: list[Ask] = []
        self.withdrawals: list[str] = []
        self.failure: Exception | None = None
        self.exit: ProcessExit | None = None
        self.outcome: TurnOutcome | None = None
        self.threads: set[threading.Thread] = set()
        self._changed = threading.Condition()

    def started(self, pid: int) -> None:
        self.pid = pid
        self._note("started")

    def steps(self, events: tuple[Event, ...]) -> None:
        self.events += events
        self._note("steps")
        self._acknowledge(len(events))

    def asked(self, ask: Ask) -> None:
        self.asks.append(ask)
        self._note("asked")

    def withdrawn(self, ask_id: str) -> None:
        self.withdrawals.append(ask_id)
        self._note("withdrawn")

    def stderr(self, line: str) -> None:
        self.errors.append(line)
        self._note("stderr")
        self._acknowledge(1)

    def failed(self, error: Exception) -> None:
        self.failure = error
        self._note("failed")

    def ended(self, exit: ProcessExit, outcome: TurnOutcome) -> None:
        self.exit, self.outcome = exit, outcome
        self._note("ended")

    def wait_until(self, condition: Callable[[], object]) -> None:
        with self._changed:
            assert self._changed.wait_for(condition, DEADLINE), f"never came: {self.calls[-5:]}"

    def wait_for_end(self) -> None:
        self.wait_until(lambda: {"ended", "failed"} & set(self.calls))
        (thread,) = self.threads
        thread.join(DEADLINE)
        assert not thread.is_alive()
        assert self.calls[-1] in {"ended", "failed"}
        assert self.calls.count("ended") + self.calls.count("failed") == 1

    def wait_for_text(self, text: str) -> None:
        self.wait_until(lambda: text in self.texts)

    @property
    def texts(self) -> list[str]:
        return [event.text for event in self.events if isinstance(event, TextDelta)]

    @property
    def code(self) -> int:
        assert self.exit is not None
        return self.exit.code

    @property
    def verdict(self) -> TurnOutcome:
        assert self.outcome is not None
        return self.outcome

    def _note(self, call: str) -> None:
        with self._changed:
            self.threads.add(threading.current_thread())
            self.calls.append(call)
            self._changed.notify_all()

    def _acknowledge(self, count: int) -> None:
        if self.acknowledging and self.process is not None:
            self.process.acknowledge(count)


_Probe: TypeAlias = Probe
_LineDialect: TypeAlias = LineDialect


class Runner:
    """Starts Python scripts as provider processes."""

    Probe = _Probe
    LineDialect = _LineDialect
    deadline = DEADLINE

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.probes: list[_Probe] = []

    def script(self, source: str) -> tuple[str, ...]:
        path = self.folder / f"child-{len(list(self.folder.glob('child-*')))}.py"
        path.write_text(source)
        return (sys.executable, "-I", str(path))

    def make(
        self,
        source: str | tuple[str, ...],
        *opening: Step,
        dialect: Dialect | None = None,
        listener: _Probe | None = None,
        secrets: tuple[str, ...] = (),
        environment: dict[str, str] | None = None,
        cwd: Path | None = None,
        grace: float = 2.0,
        **options: Any,
    ) -> _Probe:
        launch = Launch(
            argv=self.script(source) if isinstance(source, str) else source,
            environment={"PATH": "/usr/bin:/bin", **(environment or {})},
            cwd=cwd or self.folder,
            secrets=tuple(map(Secret, secrets)),
            grace=grace,
        )
        probe = listener or _Probe()
        options.setdefault("linger", DEADLINE)
        probe.process = ProviderProcess(
            launch, dialect or _LineDialect(*opening), probe, **options
        )
        self.probes.append(probe)
        return probe

    def start(self, source: str | tuple[str, ...], *opening: Step, **options: Any) -> _Probe:
        probe = self.make(source, *opening, **options)
        assert probe.process is not None
        probe.process.start()
        return probe

    def run(self, source: str | tuple[str, ...], *opening: Step, **options: Any) -> _Probe:
        probe = self.start(source, *opening, **options)
        probe.wait_for_end()
        return probe

    @staticmethod
    def wait_for_exit(pid: int) -> None:
        """Wait until a child has exited, and leave it unreaped."""
        os.waitid(os.P_PID, pid, os.WEXITED | os.WNOWAIT)


@pytest.fixture
def runner(tmp_path: Path) -> Iterator[Runner]:
    """Ends what a failed test left, and finds zombies that nobody reaped."""
    runner = Runner(tmp_path)
    yield runner
    for probe in runner.probes:
        if probe.process is not None and probe.calls:
            probe.process.close(0)
            probe.acknowledging = True
            probe.wait_for_end()
    pids = {probe.pid for probe in runner.probes}
    zombies = [
        child
        for child in psutil.Process().children()
        if child.pid in pids and child.status() == psutil.STATUS_ZOMBIE
    ]
    assert not zombies


@pytest.fixture
def lives() -> Callable[[int], bool]:
    """Whether a process runs; a zombie doesn't."""
    return _lives


def _lives(pid: int) -> bool:
    try:
        return psutil.Process(pid).status() != psutil.STATUS_ZOMBIE
    except psutil.NoSuchProcess:
        return False
