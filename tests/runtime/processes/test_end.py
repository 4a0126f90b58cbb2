from __future__ import annotations

import os
import signal
import sys
import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import psutil
import pytest

from toolcrib.messages.results import RunReason
from toolcrib.runtime.drivers.interface import Dialect, Stop, Write
from toolcrib.runtime.processes.child import Child
from toolcrib.runtime.processes.interface import ProcessLimits, SpawnError

Lives = Callable[[int], bool]
TOKEN = "token-0123456789"

IGNORING = (
    "import signal, time\nfor n in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP):\n"
    "    signal.signal(n, signal.SIG_IGN)\nprint('ready', flush=True)\ntime.sleep(60)\n"
)
# Prints the pid of a sleeping grandchild, made as the options say.
GRANDCHILD = (
    "import subprocess, sys, time\n"
    "child = subprocess.Popen([sys.executable, '-I', '-c', 'import signal, time;"
    " signal.signal(signal.SIGTERM, signal.SIG_IGN); time.sleep(60)'], {options})\n"
    "print(child.pid, flush=True)\n"
)
SILENT = "stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL"


@pytest.fixture(params=["pidfd", "polling"])
def either_way(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    """With the means of Linux and with those of other systems."""
    if request.param == "polling":
        monkeypatch.delattr(os, "pidfd_open", raising=False)


@pytest.mark.usefixtures("either_way")
@pytest.mark.parametrize(
    ("source", "code"),
    [
        ("pass", 0),
        ("import sys; sys.exit(7)", 7),
        ("import os; os.close(1); os.close(2); import time; time.sleep(0.2); os._exit(7)", 7),
        ("import os, signal; os.kill(os.getpid(), signal.SIGKILL)", -9),
        ("import os, signal; os.kill(os.getpid(), signal.SIGTERM)", -15),
    ],
)
def test_the_exit_code_is_reported(runner: Any, source: str, code: int) -> None:
    probe = runner.run(source)
    assert probe.code == code
    assert not probe.exit.forced


def test_an_exit_code_after_the_terminal_record_is_reported(runner: Any) -> None:
    probe = runner.run("import sys; print('DONE', flush=True); sys.exit(1)")
    assert probe.code == 1
    assert not probe.exit.forced
    assert not probe.verdict.ok


@pytest.mark.usefixtures("either_way")
def test_close_asks_the_process_to_end_and_reads_its_last_words(runner: Any) -> None:
    probe = runner.start(
        "import os, signal, time\n"
        "def bye(*_):\n    os.write(1, b'bye\\n')\n    os._exit(3)\n"
        "signal.signal(signal.SIGTERM, bye)\nos.write(1, b'ready\\n')\ntime.sleep(60)"
    )
    probe.wait_for_text("ready")
    probe.process.close(60)
    probe.wait_for_end()
    assert probe.texts == ["ready", "bye"]
    assert probe.code == 3
    assert probe.exit.forced


@pytest.mark.usefixtures("either_way")
def test_a_process_that_ignores_being_asked_is_killed_after_the_grace(runner: Any) -> None:
    probe = runner.start(IGNORING, grace=0.3)
    probe.wait_for_text("ready")
    before = time.monotonic()
    probe.process.close()
    probe.wait_for_end()
    assert 0.3 <= time.monotonic() - before < 5
    assert probe.code == -signal.SIGKILL
    assert probe.exit.forced


def test_close_closes_the_input_first(runner: Any) -> None:
    probe = runner.start(
        "import signal, sys\nsignal.signal(signal.SIGTERM, signal.SIG_IGN)\n"
        "print('ready', flush=True)\nsys.stdin.read()\nprint('end of input')"
    )
    probe.wait_for_text("ready")
    probe.process.close(60)
    probe.wait_for_end()
    assert probe.texts[-1] == "end of input"
    assert probe.code == 0


def test_a_second_close_shortens_the_grace_but_never_lengthens_it(runner: Any) -> None:
    probe = runner.start(IGNORING)
    probe.wait_for_text("ready")
    before = time.monotonic()
    for grace in (60, 0.2, 60):
        probe.process.close(grace)
    probe.wait_for_end()
    assert time.monotonic() - before < 5


def test_close_returns_at_once_and_does_nothing_after_the_end(runner: Any) -> None:
    probe = runner.run("print('x')")
    probe.process.close()
    probe.process.acknowledge(5)
    assert probe.calls.count("ended") == 1
    assert not probe.exit.forced


def test_a_process_closed_before_its_start_never_runs(runner: Any, tmp_path: Path) -> None:
    probe = runner.make("open('ran', 'w')")
    probe.process.close()
    probe.process.start()
    probe.wait_for_end()
    assert probe.calls == ["failed"]
    assert isinstance(probe.failure, SpawnError)
    assert not (tmp_path / "ran").exists()


def test_start_and_close_from_many_threads_give_one_end(runner: Any) -> None:
    for _ in range(5):
        probe = runner.make("import time; print('x', flush=True); time.sleep(60)")
        ready = threading.Barrier(6)

        def call(action: Callable[[], None], ready: threading.Barrier = ready) -> None:
            ready.wait()
            action()

        actions = [probe.process.start, *[lambda p=probe: p.process.close(0)] * 5]
        threads = [threading.Thread(target=call, args=(action,)) for action in actions]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        probe.wait_for_end()


def test_a_process_that_lingers_after_its_terminal_record_is_ended_and_has_succeeded(
    runner: Any,
) -> None:
    probe = runner.run("import time; print('DONE', flush=True); time.sleep(60)", linger=0.2)
    assert probe.exit.forced
    assert probe.code == -signal.SIGTERM
    assert probe.verdict.ok


def test_the_terminal_record_closes_the_input(runner: Any) -> None:
    probe = runner.run("import sys; print('DONE', flush=True); sys.stdin.read(); sys.exit(0)")
    assert probe.code == 0
    assert not probe.exit.forced


def test_a_dialect_can_end_the_process_before_its_terminal_record(runner: Any) -> None:
    class Stopping(runner.LineDialect):  # type: ignore[misc]
        def line(self, text: str) -> tuple[Any, ...]:
            return (*super().line(text), Stop())

    probe = runner.run("import time; print('x', flush=True); time.sleep(60)", dialect=Stopping())
    assert probe.texts == ["x"]
    assert probe.exit.forced
    assert probe.code == -signal.SIGTERM
    assert not probe.verdict.ok


def test_a_process_that_closed_its_output_may_linger_only(runner: Any) -> None:
    probe = runner.run("import os, time; os.close(1); time.sleep(60)", linger=0.2)
    assert probe.exit.forced


def test_a_child_that_never_reads_a_large_prompt_can_be_closed(runner: Any) -> None:
    probe = runner.start(
        "import time; print('ready', flush=True); time.sleep(60)", Write(b"x" * 10_000_000)
    )
    probe.wait_for_text("ready")
    probe.process.close(0)
    probe.wait_for_end()
    assert probe.exit.forced


def test_a_grandchild_that_holds_the_pipes_does_not_hold_up_the_end(
    runner: Any, lives: Lives
) -> None:
    before = time.monotonic()
    probe = runner.run(GRANDCHILD.format(options="") + "print('DONE')")
    assert time.monotonic() - before < 8
    assert probe.verdict.ok
    assert probe.code == 0
    assert not probe.exit.forced
    assert not lives(int(probe.texts[0]))


@pytest.mark.parametrize(
    ("options", "after"),
    [
        (SILENT, "time.sleep(60)"),
        (f"start_new_session=True, {SILENT}", "time.sleep(60)"),
        (f"start_new_session=True, {SILENT}", "print('DONE')"),
        (f"process_group=0, env={{}}, {SILENT}", "time.sleep(60)"),
        (f"process_group=0, env={{}}, {SILENT}", "print('DONE')"),
        (f"start_new_session=True, env={{}}, {SILENT}", "time.sleep(60)"),
    ],
    ids=["group", "setsid", "setsid-orphan", "session", "session-orphan", "setsid-bare"],
)
def test_grandchildren_are_gone_when_the_end_is_told(
    runner: Any, lives: Lives, options: str, after: str
) -> None:
    probe = runner.start(GRANDCHILD.format(options=options) + after)
    probe.wait_until(lambda: probe.texts)
    if "DONE" not in after:
        probe.process.close()
    told: list[bool] = []
    probe.wait_for_end()
    told.append(lives(int(probe.texts[0])))
    assert told == [False]


def test_the_tree_is_gone_before_the_end_is_told(runner: Any, lives: Lives) -> None:
    class Looking(runner.Probe):  # type: ignore[misc]
        alive: list[bool]

        def ended(self, *args: Any) -> None:
            self.alive = [lives(self.pid), lives(int(self.texts[0]))]
            super().ended(*args)

    options = f"start_new_session=True, {SILENT}"
    probe = runner.run(GRANDCHILD.format(options=options), listener=Looking())
    assert probe.alive == [False, False]


def test_processes_leave_no_descriptor_behind(runner: Any) -> None:
    runner.run("print('warm up')")
    before = psutil.Process().num_fds()
    for _ in range(5):
        runner.run("print('x')")
        runner.run(("/nowhere/at-all",))
    assert psutil.Process().num_fds() == before


class _Failing(Dialect):
    def __init__(self, where: str, error: BaseException) -> None:
        self.where = where
        self.error = error

    def opening(self) -> tuple[Any, ...]:
        self._raise("opening")
        return ()

    def line(self, text: str) -> tuple[Any, ...]:
        self._raise("line")
        return ()

    def ended(self, exit: Any) -> Any:
        return self._raise("ended")

    def _raise(self, where: str) -> Any:
        if where in {self.where, "ended"}:
            raise self.error
        return ()


@pytest.mark.parametrize("where", ["opening", "line", "ended"])
@pytest.mark.parametrize("error", [ValueError("oh"), SystemExit("oh"), KeyboardInterrupt("oh")])
def test_a_dialect_that_raises_ends_the_process_and_is_named(
    runner: Any, where: str, error: BaseException, caplog: pytest.LogCaptureFixture
) -> None:
    stay = "" if where == "ended" else "time.sleep(60)"
    probe = runner.run(
        f"import time; print('x', flush=True); {stay}", dialect=_Failing(where, error)
    )
    assert probe.verdict.reason is RunReason.INFRASTRUCTURE
    assert f"_Failing.{where}" in probe.verdict.message
    assert f"{type(error).__name__}: oh" in probe.verdict.message
    assert not probe.verdict.ok
    assert "raised" in caplog.text


def test_a_dialect_that_returns_no_step_is_named(runner: Any) -> None:
    class Odd(runner.LineDialect):  # type: ignore[misc]
        def line(self, text: str) -> tuple[Any, ...]:
            return (*super().line(text), "not a step")

    probe = runner.run("print('x', flush=True); input()", dialect=Odd())
    assert probe.verdict.reason is RunReason.INFRASTRUCTURE
    assert "'not a step' is not a step" in probe.verdict.message
    assert probe.verdict.text == "x"


def test_a_command_that_is_not_there_is_named(runner: Any) -> None:
    probe = runner.run(("no-such-command-of-ours", "--flag"))
    assert probe.calls == ["failed"]
    assert isinstance(probe.failure, SpawnError)
    assert probe.failure.missing
    assert "no-such-command-of-ours" in str(probe.failure)


def test_a_missing_working_directory_is_named(runner: Any, tmp_path: Path) -> None:
    probe = runner.run("pass", cwd=tmp_path / "gone")
    assert not probe.failure.missing
    assert str(tmp_path / "gone") in str(probe.failure)


def test_a_script_with_a_missing_interpreter_is_named(runner: Any, tmp_path: Path) -> None:
    script = tmp_path / "script"
    script.write_text("#!/no/such/interpreter\n")
    script.chmod(0o755)
    assert "interpreter" in str(runner.run((str(script),)).failure)


def test_a_command_that_is_not_executable_is_named(runner: Any, tmp_path: Path) -> None:
    plain = tmp_path / "plain"
    plain.write_text("text")
    plain.chmod(0o644)
    failure = runner.run((str(plain),)).failure
    assert "Make it executable" in str(failure)
    assert not failure.missing


@pytest.mark.parametrize("argv", [(), (sys.executable, "a\0b"), (sys.executable, "x" * 3_000_000)])
def test_arguments_that_do_not_work_are_a_spawn_error(runner: Any, argv: Any) -> None:
    assert isinstance(runner.run(argv).failure, SpawnError)


def test_a_spawn_error_does_not_show_the_environment(runner: Any) -> None:
    probe = runner.run("pass", environment={"SECRET": "hid\0den"})
    assert "hid" not in str(probe.failure)


def test_starting_twice_starts_one_process(runner: Any) -> None:
    probe = runner.start("print('x')")
    probe.process.start()
    probe.wait_for_end()
    assert probe.calls.count("started") == 1


def test_an_end_of_its_own_is_not_called_forced_by_a_later_close(runner: Any) -> None:
    # The grandchild holds the pipes, so the process's end is not the end of all.
    probe = runner.start(GRANDCHILD.format(options=""), limits=ProcessLimits(drain=0.5))
    probe.wait_until(lambda: probe.texts)
    runner.wait_for_exit(probe.pid)
    probe.process.close(0)
    probe.wait_for_end()
    assert probe.code == 0
    assert not probe.exit.forced


def test_a_fault_of_the_pump_itself_ends_the_process_and_is_told(
    runner: Any, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    real = Child.wait

    def fail_once(child: Child, *args: Any, **options: Any) -> Any:
        monkeypatch.setattr(Child, "wait", real)
        msg = "no more descriptors"
        raise OSError(msg)

    monkeypatch.setattr(Child, "wait", fail_once)
    probe = runner.run(IGNORING)
    assert probe.verdict.reason is RunReason.INFRASTRUCTURE
    assert "no more descriptors" in probe.verdict.message
    assert probe.exit.forced
    assert "the pump of process" in caplog.text


def test_after_a_fault_the_dialect_gets_no_more_lines(runner: Any) -> None:
    class Once(runner.LineDialect):  # type: ignore[misc]
        def line(self, text: str) -> tuple[Any, ...]:
            super().line(text)
            raise ValueError(TOKEN)

    probe = runner.run("import os; os.write(1, b'a\\nb\\nc\\n'); input()", dialect=Once())
    assert probe.verdict.text == "a"


def test_the_message_of_a_fault_shows_no_secret(runner: Any) -> None:
    probe = runner.run("print('x')", dialect=_Failing("line", ValueError(TOKEN)), secrets=(TOKEN,))
    assert "ValueError: ***" in probe.verdict.message


def test_the_drain_waits_only_as_long_as_allowed(runner: Any) -> None:
    before = time.monotonic()
    runner.run(GRANDCHILD.format(options=""), limits=ProcessLimits(drain=0.0))
    assert time.monotonic() - before < 5
