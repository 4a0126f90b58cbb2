from __future__ import annotations

import os
import secrets
import select
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator

import psutil
import pytest

from toolcrib.runtime.processes.tree import Tree, end_tree

Lives = Callable[[int], bool]
Start = Callable[..., "subprocess.Popen[str]"]
NAME = "TOOLCRIB_TEST_TREE"

SLEEP = "import time; print('ready', flush=True); time.sleep(60)"
STUBBORN = (
    "import signal, time; signal.signal(signal.SIGTERM, signal.SIG_IGN);"
    " print('ready', flush=True); time.sleep(60)"
)
POLITE = (
    "import signal, sys, time; signal.signal(signal.SIGTERM, lambda *_: sys.exit(5));"
    " print('ready', flush=True); time.sleep(60)"
)
# Each generation starts the next one and goes; {life} seconds overlap. The
# number of generations is bounded, in case that nobody ends them.
FORKING = (
    "import os, time\n"
    "print('ready', flush=True)\n"
    "for _ in range(5000):\n"
    "    if os.fork() == 0:\n"
    "        {detach}\n"
    "        time.sleep({pause})\n"
    "    else:\n"
    "        time.sleep({life})\n"
    "        os._exit(0)\n"
)


@pytest.fixture
def marker() -> tuple[str, str]:
    return NAME, secrets.token_hex(8)


@pytest.fixture
def start(marker: tuple[str, str]) -> Iterator[Start]:
    children: list[subprocess.Popen[str]] = []

    def start(source: str, value: str = marker[1]) -> subprocess.Popen[str]:
        child = subprocess.Popen(
            [sys.executable, "-I", "-c", source],
            env={NAME: value},
            stdout=subprocess.PIPE,
            text=True,
            start_new_session=True,
        )
        children.append(child)
        assert child.stdout is not None
        assert child.stdout.readline() == "ready\n"
        return child

    yield start
    for child in children:
        child.kill()
        child.communicate()


def test_a_tree_is_ended_and_others_are_left_alone(
    start: Start, marker: tuple[str, str], lives: Lives
) -> None:
    other = start(SLEEP, "another")
    child = start(SLEEP)
    assert end_tree(child.pid, marker) == ()
    assert not lives(child.pid)
    assert child.wait() == -signal.SIGKILL
    assert lives(other.pid)


def test_whoever_carries_the_marker_belongs_to_the_tree(
    start: Start, marker: tuple[str, str], lives: Lives
) -> None:
    child, detached = start(SLEEP), start(SLEEP)
    assert end_tree(child.pid, marker) == ()
    assert not lives(detached.pid)


def test_members_are_asked_before_they_are_killed(start: Start, marker: tuple[str, str]) -> None:
    polite = start(POLITE)
    assert end_tree(polite.pid, marker, grace=30) == ()
    assert polite.wait() == 5
    stubborn = start(STUBBORN)
    assert end_tree(stubborn.pid, marker, grace=0.2) == ()
    assert stubborn.wait() == -signal.SIGKILL


@pytest.mark.parametrize(
    "source",
    [
        FORKING.format(detach="pass", pause=0.002, life=0),
        FORKING.format(detach="os.setsid()", pause=0.1, life=0.2),
    ],
    ids=["group", "sessions"],
)
def test_a_tree_that_keeps_forking_is_ended(
    start: Start, marker: tuple[str, str], source: str
) -> None:
    child = start(source)
    assert end_tree(child.pid, marker, patience=20) == ()
    assert [process for process in psutil.process_iter() if _marked(process, marker)] == []
    # They held the pipe, so its end is the end of the last one.
    assert child.stdout is not None
    assert select.select([child.stdout], [], [], 2)[0]


def test_one_look_that_finds_nothing_is_not_enough(
    start: Start, marker: tuple[str, str], lives: Lives, monkeypatch: pytest.MonkeyPatch
) -> None:
    child, detached = start(SLEEP), start(SLEEP)
    looks = 0

    def overlooking() -> list[int]:
        nonlocal looks
        looks += 1
        return [] if looks == 1 else real()

    real = psutil.pids
    monkeypatch.setattr(psutil, "pids", overlooking)
    assert end_tree(child.pid, marker) == ()
    assert not lives(detached.pid)


def test_a_tree_that_has_ended_already_is_no_trouble(
    start: Start, marker: tuple[str, str]
) -> None:
    child = start(SLEEP)
    child.kill()
    child.wait()
    assert end_tree(child.pid, marker) == ()


def test_a_known_member_is_not_mistaken_for_a_later_process_with_its_number(
    start: Start, marker: tuple[str, str], lives: Lives, monkeypatch: pytest.MonkeyPatch
) -> None:
    child, bystander = start(SLEEP), start(SLEEP, "another")
    tree = Tree(child.pid, marker)
    # The number is in use again, as it were: only the time of creation differs.
    member = psutil.Process(bystander.pid)
    monkeypatch.setattr(member, "_ident", (bystander.pid, 1.0))
    tree._known.add(member)
    assert tree.end() == ()
    assert lives(bystander.pid)


@pytest.mark.parametrize("group", [0, 1, -1, os.getpgrp()])
def test_a_group_that_can_not_be_a_child_is_refused(group: int, marker: tuple[str, str]) -> None:
    with pytest.raises(ValueError, match="not the group of a child"):
        Tree(group, marker)


def test_what_could_not_be_ended_in_time_is_named(start: Start, marker: tuple[str, str]) -> None:
    child, detached = start(SLEEP), start(SLEEP)
    assert detached.pid in end_tree(child.pid, marker, patience=-1)


def _marked(process: psutil.Process, marker: tuple[str, str]) -> bool:
    try:
        return process.environ().get(marker[0]) == marker[1]
    except psutil.Error:
        return False


@pytest.mark.skipif(sys.platform != "linux", reason="only there environments are read as files")
def test_the_second_look_waits_for_who_may_be_becoming_another_program(
    marker: tuple[str, str], start: Start, monkeypatch: pytest.MonkeyPatch
) -> None:
    child = start(SLEEP)
    bare = subprocess.Popen(
        [sys.executable, "-I", "-c", SLEEP], env={}, stdout=subprocess.PIPE, text=True
    )
    assert bare.stdout is not None
    assert bare.stdout.readline() == "ready\n"
    pauses: list[float] = []
    monkeypatch.setattr("toolcrib.runtime.processes.tree.time.sleep", pauses.append)
    try:
        assert end_tree(child.pid, marker) == ()
        assert pauses[-1] == max(pauses) > 0.05
        assert bare.poll() is None
    finally:
        bare.kill()
        bare.communicate()
