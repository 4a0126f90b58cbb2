"""What every test gets: loud skips, and a look at what it left behind."""

from __future__ import annotations

import contextlib
import os
import threading
from collections.abc import Callable, Generator, Iterator
from pathlib import Path

import psutil
import pytest
from ahead import Ahead, works_of
from needs import need

LEAVE_TIME = 10.0  # seconds that threads and processes of a test have to end by themselves

_skipped = pytest.StashKey[list[tuple[str, str]]]()


# What starts many processes or waits for clocks; `make check` leaves it out.
SLOW = (
    "conformance",
    "end_to_end",
    "testing",
    "runtime/gateway",
    "runtime/processes",
    "runtime/profiles",
)
QUICK = "test_the_demo_shows_call_result_final_text_and_close"  # the whole way, once


# What counts threads, descriptors or memory of its own process, or measures time, comes
# before anything works ahead of its tests.
QUIET = (
    "actors",
    "bench",
    "end_to_end/test_many_runs",
    "end_to_end/test_secrets",
    "runtime/gateway",
    "runtime/processes",
    "runtime/profiles",
    "runtime/test_",
    "runtime/threads",
    "runtime/tools/test_large",
)


def _place(item: pytest.Item) -> str:
    return item.path.relative_to(Path(__file__).parent).as_posix()


def pytest_itemcollected(item: pytest.Item) -> None:
    if _place(item).startswith(SLOW) and item.name != QUICK:
        item.add_marker(pytest.mark.slow)


@pytest.hookimpl(trylast=True)
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Put what needs quiet first, and what waits for work that began before last."""
    items.sort(key=lambda item: (not _place(item).startswith(QUIET), bool(works_of(item))))


def _skips_are_failures() -> bool:
    return os.environ.get("CI", "").lower() in {"1", "true"}


def pytest_configure(config: pytest.Config) -> None:
    config.stash[_skipped] = []


def _judge_skip(report: pytest.TestReport | pytest.CollectReport, config: pytest.Config) -> None:
    # An expected failure is reported as a skip too, and says nothing about the machine.
    if not report.skipped or hasattr(report, "wasxfail"):
        return
    reason = report.longrepr[2] if isinstance(report.longrepr, tuple) else str(report.longrepr)
    config.stash[_skipped].append((report.nodeid, reason))
    if _skips_are_failures():
        report.outcome = "failed"
        report.longrepr = f"{reason}\nWith CI=true a skipped test is a failure."


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(
    item: pytest.Item,
) -> Generator[None, pytest.TestReport, pytest.TestReport]:
    report = yield
    _judge_skip(report, item.config)
    return report


@pytest.hookimpl(wrapper=True)
def pytest_make_collect_report(
    collector: pytest.Collector,
) -> Generator[None, pytest.CollectReport, pytest.CollectReport]:
    report = yield
    _judge_skip(report, collector.config)
    return report


def pytest_terminal_summary(
    terminalreporter: pytest.TerminalReporter, config: pytest.Config
) -> None:
    skipped = config.stash[_skipped]
    if not skipped:
        return
    terminalreporter.section("NOT TESTED ON THIS MACHINE", sep="!", red=True, bold=True)
    for nodeid, reason in skipped:
        terminalreporter.line(f"{nodeid}: {reason}", red=True)


@pytest.fixture(scope="session")
def needs() -> Callable[[object, str], None]:
    """Skip a test where the machine lacks something: ``needs(found, "Node.js")``."""
    return need


@pytest.fixture(scope="session")
def ahead(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Ahead]:
    """What fixtures made with ``@begun`` are worked out by."""
    ahead = Ahead(tmp_path_factory)
    yield ahead
    ahead.end()


def _threads() -> set[threading.Thread]:
    return {
        thread
        for thread in threading.enumerate()
        if thread.name.startswith("toolcrib") and not thread.name.startswith("toolcrib-system")
    }


def _is_system(process: psutil.Process) -> bool:
    """Tell the processes that live as long as the interpreter from those of a test."""
    try:
        command = " ".join(process.cmdline())
    except psutil.ZombieProcess:
        return False
    except psutil.NoSuchProcess:
        return True
    return "multiprocessing.resource_tracker" in command or "guard_process.py" in command


def _children(ahead: Ahead) -> set[psutil.Process]:
    """The processes below this one, but for those that work ahead of their tests."""
    found = set()
    with ahead.processes() as others:
        for pid in _descendants(os.getpid(), others):
            with contextlib.suppress(psutil.NoSuchProcess):
                found.add(psutil.Process(pid))
    return found


def _descendants(pid: int, others: set[int]) -> Iterator[int]:
    for child in _started_by(pid):
        if child not in others:
            yield child
            yield from _descendants(child, others)


def _started_by(pid: int) -> Iterator[int]:
    # psutil reads every process of the machine, which takes longer than most tests.
    if not Path("/proc/self/task").exists():
        with contextlib.suppress(psutil.NoSuchProcess):
            yield from (child.pid for child in psutil.Process(pid).children())
        return
    for listing in Path(f"/proc/{pid}/task").glob("*/children"):
        with contextlib.suppress(OSError):
            yield from map(int, listing.read_text().split())


@pytest.fixture(autouse=True)
def _nothing_left_behind(ahead: Ahead, request: pytest.FixtureRequest) -> Iterator[None]:
    if not _place(request.node).startswith(QUIET):
        ahead.begin(request.session.items)
    threads, children = _threads(), _children(ahead)
    yield
    for thread in _threads() - threads:
        thread.join(LEAVE_TIME)
    left = [f"thread {thread.name}" for thread in _threads() - threads]
    _, alive = psutil.wait_procs(
        [child for child in _children(ahead) - children if not _is_system(child)], LEAVE_TIME
    )
    left += [f"process {child}" for child in alive]
    assert not left, f"the test left behind: {', '.join(left)}"
