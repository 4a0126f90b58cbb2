from __future__ import annotations

import contextlib
import json
import logging
import os
import secrets
import shutil
import signal
import subprocess
import sys
import tempfile
import textwrap
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import psutil
import pytest

from toolcrib.runtime.processes import guard_process
from toolcrib.runtime.processes.guard import HOST_MARKER, Guard, start_time

Lives = Callable[[int], bool]
_NOBODY = 65534

# A host that records a child, its detached grandchild and a clone, tells what
# it has made, and once that was looked at does what it is told.
HOST = """
import json, os, signal, subprocess, sys, time
from pathlib import Path
from toolcrib.runtime.processes.guard import HOST_MARKER, Guard

marker, clones = sys.argv[1], Path(sys.argv[2])
guard = Guard(marker)
guard.start()
sleep = "import signal, time; signal.signal(signal.SIGTERM, signal.SIG_IGN); time.sleep(60)"
source = (
    "import subprocess, sys, time\\n"
    f"child = subprocess.Popen([sys.executable, '-I', '-c', {sleep!r}], start_new_session=True)\\n"
    "print(child.pid, flush=True)\\n"
    f"exec({sleep!r})"
)
environment = {**os.environ, HOST_MARKER: marker}
command = [sys.executable, "-I", "-c", source]
child = subprocess.Popen(
    command, stdout=subprocess.PIPE, stdin=subprocess.PIPE, env=environment,
    start_new_session=True, text=True,
)
grandchild = int(child.stdout.readline())
guard.record_group(child.pid)
clone = clones / "clone"
clone.mkdir()
(clone / "file").write_text("x")
(clone / "link").symlink_to(clones.parent / "kept")
guard.record_directory(clone, below=clones)
told = {"guard": guard.pid, "child": child.pid, "grandchild": grandchild}
print(json.dumps(told), flush=True)
sys.stdin.readline()
"""


class Host:
    def __init__(self, folder: Path, ending: str) -> None:
        self.clones = folder / "clones"
        self.clones.mkdir()
        self.kept = folder / "kept"
        self.kept.mkdir()
        (self.kept / "file").write_text("kept")
        self.marker = secrets.token_hex(8)
        script = folder / "host.py"
        script.write_text(HOST + textwrap.dedent(ending))
        self.process = subprocess.Popen(
            [sys.executable, str(script), self.marker, str(self.clones)],
            stdout=subprocess.PIPE,
            stdin=subprocess.PIPE,
            text=True,
        )
        self.members: list[psutil.Process] = []

    def listen(self) -> None:
        told = json.loads(self.read())
        self.guard = psutil.Process(told.pop("guard"))
        self.members = [psutil.Process(pid) for pid in told.values()]
        assert self.process.stdin is not None
        self.process.stdin.write("\n")
        self.process.stdin.flush()

    def read(self) -> str:
        assert self.process.stdout is not None
        return self.process.stdout.readline().strip()

    def finish(self) -> None:
        self.process.kill()
        self.process.communicate()
        for process in self.members:
            if process.is_running():
                process.kill()


@pytest.fixture
def host(tmp_path: Path) -> Iterator[Callable[[str], Host]]:
    hosts: list[Host] = []

    def start(ending: str) -> Host:
        hosts.append(Host(tmp_path, ending))
        hosts[-1].listen()
        return hosts[-1]

    yield start
    for each in hosts:
        each.finish()


def wait_for(processes: list[psutil.Process], seconds: float = 20.0) -> None:
    """Wait until all are gone, or zombies that wait for the system to reap them."""
    give_up = time.monotonic() + seconds
    ended = threading.Event()
    while alive := [process for process in processes if is_alive(process)]:
        assert time.monotonic() < give_up, f"still there: {alive}"
        ended.wait(0.01)


def is_alive(process: psutil.Process) -> bool:
    try:
        return process.is_running() and process.status() != psutil.STATUS_ZOMBIE
    except psutil.NoSuchProcess:
        return False


def wait_for_pid(pid: int) -> None:
    with contextlib.suppress(psutil.NoSuchProcess):
        wait_for([psutil.Process(pid)])


def test_a_killed_host_leaves_no_process_and_no_clone(host: Callable[[str], Host]) -> None:
    dying = host("time.sleep(60)")
    assert all(is_alive(process) for process in dying.members)
    dying.process.kill()
    dying.process.wait()
    wait_for([*dying.members, dying.guard])
    assert list(dying.clones.iterdir()) == []
    assert (dying.kept / "file").read_text() == "kept"


def test_a_host_that_exits_without_closing_is_cleaned_up_after(
    host: Callable[[str], Host],
) -> None:
    leaving = host("os._exit(3)")
    leaving.process.wait()
    wait_for([*leaving.members, leaving.guard])
    assert list(leaving.clones.iterdir()) == []


def test_a_host_that_closed_its_guard_is_not_cleaned_up_after(host: Callable[[str], Host]) -> None:
    ending = host("guard.close(); print('closed', flush=True)")
    assert ending.read() == "closed"
    ending.process.wait()
    wait_for([ending.guard])
    assert all(is_alive(process) for process in ending.members)
    assert (ending.clones / "clone" / "file").exists()


def test_what_was_forgotten_and_carries_no_marker_is_left_alone(
    host: Callable[[str], Host],
) -> None:
    dying = host(
        """
        guard.forget_directory(clone)
        plain = subprocess.Popen(
            [sys.executable, "-I", "-c", sleep], start_new_session=True, stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
        )
        guard.record_group(plain.pid)
        guard.forget_group(plain.pid)
        print(plain.pid, flush=True)
        time.sleep(60)
        """
    )
    plain = psutil.Process(int(dying.read()))
    try:
        dying.process.kill()
        wait_for([dying.guard, *dying.members])
        assert is_alive(plain)
        assert (dying.clones / "clone" / "file").exists()
    finally:
        plain.kill()


def test_a_recorded_group_without_the_marker_is_ended_with_its_session(
    host: Callable[[str], Host],
) -> None:
    dying = host(
        """
        bare = (
            "import subprocess, sys, time\\n"
            f"child = subprocess.Popen([sys.executable, '-I', '-c', {sleep!r}], env={{}},"
            " process_group=0)\\n"
            "print(child.pid, flush=True)\\n"
            f"exec({sleep!r})"
        )
        plain = subprocess.Popen(
            [sys.executable, "-I", "-c", bare], start_new_session=True, env={}, text=True,
            stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
        )
        guard.record_group(plain.pid)
        print(plain.pid, plain.stdout.readline(), flush=True)
        time.sleep(60)
        """
    )
    unmarked = [psutil.Process(int(pid)) for pid in dying.read().split()]
    assert len(unmarked) == 2
    dying.process.kill()
    wait_for([*unmarked, dying.guard])


def test_a_group_whose_number_came_to_mean_another_is_left_alone(
    host: Callable[[str], Host],
) -> None:
    dying = host(
        """
        plain = subprocess.Popen(
            [sys.executable, "-I", "-c", sleep], start_new_session=True, env={},
            stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL,
        )
        guard.record_group(plain.pid, "1")
        print(plain.pid, flush=True)
        time.sleep(60)
        """
    )
    other = psutil.Process(int(dying.read()))
    try:
        dying.process.kill()
        wait_for([dying.guard, *dying.members])
        assert is_alive(other)
    finally:
        other.kill()


def test_a_fork_that_holds_the_pipe_does_not_hide_the_hosts_end(
    host: Callable[[str], Host],
) -> None:
    dying = host(
        """
        fork = os.fork()
        if fork == 0:
            time.sleep(60)
        print(fork, flush=True)
        time.sleep(60)
        """
    )
    fork = psutil.Process(int(dying.read()))
    try:
        dying.process.kill()
        wait_for([*dying.members, dying.guard])
        assert is_alive(fork)
    finally:
        fork.kill()


def test_a_host_that_dies_before_its_guard_is_up_is_noticed() -> None:
    source = (
        "import os, time; from toolcrib.runtime.processes.guard import Guard\n"
        "guard = Guard('m')\n"
        "guard.start()\n"
        "fork = os.fork()\n"  # holds the pipe open
        "if fork == 0:\n    os.close(1); time.sleep(60)\n"
        "print(guard.pid, fork, flush=True); os._exit(0)"
    )
    done = subprocess.run(
        [sys.executable, "-c", source], stdout=subprocess.PIPE, check=True, timeout=20
    )
    pid, fork = map(int, done.stdout.split())
    try:
        wait_for_pid(pid)
    finally:
        os.kill(fork, signal.SIGKILL)


def test_directories_elsewhere_are_left_alone(host: Callable[[str], Host]) -> None:
    dying = host(
        """
        kept = clones.parent / "kept"
        linked = clones / "linked"
        linked.symlink_to(kept)
        guard.record_directory(kept, below=clones)
        guard.record_directory(linked, below=clones)
        guard.record_directory(linked / "..", below=clones)
        (clones / "other").mkdir()
        (clones / "alias").symlink_to("other")
        guard.record_directory(clones / "alias", below=clones)
        guard.record_directory(clones, below=clones)
        print("done", flush=True)
        time.sleep(60)
        """
    )
    assert dying.read() == "done"
    dying.process.kill()
    wait_for([dying.guard])
    assert (dying.kept / "file").exists()
    assert {path.name for path in dying.clones.iterdir()} == {"alias", "linked", "other"}


def test_a_directory_that_may_not_be_written_is_removed_too() -> None:
    # As somebody whom the system refuses it: root may write everywhere.
    root = os.geteuid() == 0
    with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as folder:
        deep = Path(folder, "clone", "deep")
        deep.mkdir(parents=True)
        (deep / "file").write_text("x")
        deep.chmod(0o500)
        if root:
            for path in (Path(folder), deep.parent, deep, deep / "file"):
                os.chown(path, _NOBODY, -1)
            os.seteuid(_NOBODY)
        try:
            guard_process._remove(str(deep.parent), folder)
        finally:
            if root:
                os.seteuid(0)
        assert not deep.parent.exists()


@pytest.mark.parametrize(
    "number", [signal.SIGINT, signal.SIGTERM, signal.SIGHUP, signal.SIGQUIT], ids=str
)
def test_the_guard_outlives_what_a_terminal_or_a_shutdown_sends(
    host: Callable[[str], Host], number: signal.Signals
) -> None:
    dying = host("time.sleep(60)")
    assert os.getsid(dying.guard.pid) == dying.guard.pid
    dying.guard.send_signal(number)
    assert dying.guard.is_running()
    dying.process.kill()
    wait_for([*dying.members, dying.guard])
    assert list(dying.clones.iterdir()) == []


def test_a_guard_that_was_killed_is_replaced_at_the_next_record(
    host: Callable[[str], Host],
) -> None:
    dying = host(
        """
        os.kill(guard.pid, signal.SIGKILL)
        os.waitid(os.P_PID, guard.pid, os.WEXITED | os.WNOWAIT)
        guard.record_directory(clones / "more", below=clones)
        print(guard.pid, flush=True)
        time.sleep(60)
        """
    )
    second = psutil.Process(int(dying.read()))
    assert second.pid != dying.guard.pid
    dying.process.kill()
    wait_for([*dying.members, second])
    assert list(dying.clones.iterdir()) == []


@pytest.mark.parametrize("before", ["", "guard.start(); guard.close()"])
def test_the_hosts_own_directory_is_always_recorded(tmp_path: Path, before: str) -> None:
    own = tmp_path / "clones" / "host"
    own.mkdir(parents=True)
    source = (
        "import os, sys; from pathlib import Path\n"
        "from toolcrib.runtime.processes.guard import Guard\n"
        "guard = Guard('m', Path(sys.argv[1]))\n"
        f"{before}\n"
        "guard.start()\n"
        "print(guard.pid, flush=True); os._exit(0)"
    )
    done = subprocess.run(
        [sys.executable, "-c", source, str(own)], stdout=subprocess.PIPE, check=True, timeout=20
    )
    wait_for_pid(int(done.stdout))
    assert not own.exists()
    assert own.parent.exists()


def test_a_guard_starts_once_and_carries_no_secret_of_the_host(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("SECRET_OF_THE_HOST", "x")
    monkeypatch.setenv(HOST_MARKER, "m")
    guard = Guard("m")
    try:
        guard.start()
        first = guard.pid
        assert first is not None
        guard.start()
        assert guard.pid == first
        environment = psutil.Process(first).environ()
        assert "SECRET_OF_THE_HOST" not in environment
        assert HOST_MARKER not in environment
    finally:
        guard.close()
    assert guard.pid is None
    assert not psutil.pid_exists(first)


def test_close_ends_a_guard_that_does_not_answer(caplog: pytest.LogCaptureFixture) -> None:
    guard = Guard("m")
    guard.start()
    pid = guard.pid
    assert pid is not None
    os.kill(pid, signal.SIGSTOP)
    guard.close()
    guard.close()
    assert not psutil.pid_exists(pid)
    assert "did not leave by itself" in caplog.text


def test_a_guard_that_can_not_be_started_is_logged(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setattr(sys, "executable", "/no/such/python")
    guard = Guard("m")
    with caplog.at_level(logging.WARNING):
        guard.record_group(os.getpid())
    assert guard.pid is None
    assert "no guard process can be started" in caplog.text
    guard.close()


def test_the_guard_program_needs_nothing_but_itself(tmp_path: Path) -> None:
    alone = tmp_path / "alone.py"
    shutil.copy(guard_process.__file__, alone)
    done = subprocess.run(
        [sys.executable, "-I", "-S", str(alone), str(os.getpid()), "m"],
        input=b'garbage\n[1]\n{"do": "group"}\n{"do": "close"}\n',
        capture_output=True,
        check=False,
        timeout=20,
    )
    assert done.returncode == 0
    assert done.stdout + done.stderr == b""


def test_one_scan_that_finds_nothing_is_not_enough(monkeypatch: pytest.MonkeyPatch) -> None:
    marker = secrets.token_hex(8)
    child = subprocess.Popen(
        [sys.executable, "-I", "-c", "import time; print(flush=True); time.sleep(60)"],
        env={HOST_MARKER: marker},
        stdout=subprocess.PIPE,
    )
    assert child.stdout is not None
    child.stdout.readline()
    real = guard_process._all_pids
    # Asked for the marked ones, for the sessions, and for the marked ones again.
    nothing: list[int] = []
    scans = iter([nothing, nothing])
    monkeypatch.setattr(guard_process, "_all_pids", lambda: next(scans, None) or real())
    try:
        guard_process._end_processes({}, marker)
        assert child.poll() == -signal.SIGKILL
    finally:
        child.kill()
        child.communicate()


def test_a_start_time_tells_processes_apart() -> None:
    own = start_time(os.getpid())
    assert own is not None
    assert own == start_time(os.getpid())
    assert start_time(2**22 + 1) is None


def test_a_provider_process_is_recorded_while_it_lives(runner: Any) -> None:
    class Recording(Guard):
        def __init__(self) -> None:
            super().__init__("m")
            self.calls: list[tuple[str, int]] = []

        def record_group(self, pgid: int, start: str | None = None) -> None:
            super().record_group(pgid, start)
            self.calls.append(("record", pgid))

        def forget_group(self, pgid: int) -> None:
            super().forget_group(pgid)
            self.calls.append(("forget", pgid))

    guard = Recording()
    try:
        probe = runner.run("print('x')", guard=guard)
        assert guard.pid is not None
    finally:
        guard.close()
    assert guard.calls == [("record", probe.pid), ("forget", probe.pid)]
