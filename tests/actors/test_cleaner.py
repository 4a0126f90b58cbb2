"""The profile cleaner alone, with real directories."""

from __future__ import annotations

import os
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from toolcrib import AgentClosedError, ProfileError
from toolcrib.actors.base import Ref, Services
from toolcrib.actors.cleaner import CleanerActor
from toolcrib.messages.cleaner import (
    ClonesRemaining,
    ClonesRemoved,
    MakeClone,
    OwnerSealed,
    RemoveClones,
    ReturnClone,
    SealOwner,
)
from toolcrib.messages.run import CloneFailed, CloneReady
from toolcrib.runtime.processes.guard import Guard
from toolcrib.runtime.profiles.clone import Clone
from toolcrib.runtime.profiles.clones import CloneStore
from toolcrib.runtime.profiles.files import remove_tree
from toolcrib.runtime.profiles.given import lay_text

from .conftest import Probe


@pytest.fixture
def store(tmp_path: Path) -> Iterator[CloneStore]:
    store = CloneStore(tmp_path / "clones")
    yield store
    store.close()


@pytest.fixture
def guard(store: CloneStore) -> Iterator[Guard]:
    guard = Guard(store.host_id)
    yield guard
    guard.close()


@pytest.fixture
def cleaner(
    services: Services, launch: Callable[..., Ref], store: CloneStore, guard: Guard
) -> Ref:
    return launch(CleanerActor, services, store, guard)


@pytest.fixture
def run() -> Probe:
    return Probe("run")


@pytest.fixture
def agent() -> Probe:
    return Probe("agent")


def _plain(root: Path) -> None:
    assert root.is_dir()


def make(cleaner: Ref, run: Probe, seed: Callable[[Path], None] | None = None) -> None:
    cleaner.deliver(MakeClone(agent="a", key="k", seed=seed or _plain, reply_to=run), "test")


def test_a_clone_is_made_once_for_a_key_and_seeded(cleaner: Ref, run: Probe) -> None:
    make(cleaner, run, lambda root: (root / "profile" / "seeded").touch())
    make(cleaner, run)
    first, second = run.expect(CloneReady), run.expect(CloneReady)
    assert first == second
    assert (first.root / "profile" / "seeded").exists()


def test_a_seed_that_fails_is_told_and_leaves_nothing(
    cleaner: Ref, run: Probe, store: CloneStore
) -> None:
    seen: list[Path] = []

    def seed(root: Path) -> None:
        seen.append(root)
        raise OSError("disk full")

    make(cleaner, run, seed)
    assert "disk full" in str(run.expect(CloneFailed).error)
    assert not seen[0].exists()
    make(cleaner, run)
    run.expect(CloneReady)


def test_a_seal_waits_for_the_clone_under_way_and_allows_no_other(
    cleaner: Ref, run: Probe, agent: Probe
) -> None:
    entered, release = threading.Event(), threading.Event()

    def seed(root: Path) -> None:
        entered.set()
        release.wait(10)

    make(cleaner, run, seed)
    assert entered.wait(10)
    cleaner.deliver(SealOwner("a", agent), "test")
    make(cleaner, run)
    assert isinstance(run.expect(CloneFailed).error, AgentClosedError)
    agent.assert_silent()
    release.set()
    run.expect(CloneReady)
    assert agent.expect(OwnerSealed).clones == 1


def test_a_sealed_owner_without_clones_is_told_so(cleaner: Ref, agent: Probe) -> None:
    cleaner.deliver(SealOwner("a", agent), "test")
    assert agent.expect(OwnerSealed).clones == 0
    cleaner.deliver(RemoveClones("a", agent), "test")
    agent.expect(ClonesRemoved)


def test_a_clone_that_can_not_be_removed_is_named_and_tried_again(
    cleaner: Ref, run: Probe, agent: Probe
) -> None:
    make(cleaner, run)
    root = run.expect(CloneReady).root
    record = next(path for path in root.iterdir() if path.is_file())
    aside = root.parent.parent / "aside"
    record.rename(aside)
    cleaner.deliver(SealOwner("a", agent), "test")
    agent.expect(OwnerSealed)
    cleaner.deliver(RemoveClones("a", agent), "test")
    assert agent.expect(ClonesRemaining).clones == (root,)
    assert root.exists()
    aside.rename(record)
    agent.skip_to(ClonesRemoved)
    assert not root.exists()


def test_of_the_clones_that_no_run_uses_the_last_four_are_kept(cleaner: Ref) -> None:
    roots = []
    for number in range(6):
        run = Probe(f"run-{number}")
        roots.append(use(cleaner, run, f"k{number}"))
        give_back(cleaner, run, f"k{number}")
    wait_gone(roots[0])
    wait_gone(roots[1])
    assert all(root.exists() for root in roots[2:])
    assert use(cleaner, Probe("again"), "k5") == roots[5]
    assert use(cleaner, Probe("again"), "k0") != roots[0]


def test_a_clone_in_use_is_never_removed_for_others(cleaner: Ref) -> None:
    first, second = Probe("first"), Probe("second")
    used = use(cleaner, first, "used")
    assert use(cleaner, second, "used") == used
    give_back(cleaner, first, "used")
    roots = []
    for number in range(6):
        run = Probe(f"run-{number}")
        roots.append(use(cleaner, run, f"k{number}"))
        give_back(cleaner, run, f"k{number}")
    wait_gone(roots[1])
    assert used.exists()


def test_a_clone_whose_run_ended_before_it_came_is_kept_like_an_idle_one(cleaner: Ref) -> None:
    entered, release = threading.Event(), threading.Event()

    def seed(_: Path) -> None:
        entered.set()
        release.wait(10)

    early, late = Probe("early"), Probe("late")
    cleaner.deliver(MakeClone(agent="a", key="k", seed=seed, reply_to=early), "test")
    assert entered.wait(10)
    give_back(cleaner, early, "k")
    release.set()
    root = use(cleaner, late, "k")
    give_back(cleaner, late, "k")
    for number in range(4):
        run = Probe(f"run-{number}")
        use(cleaner, run, f"k{number}")
        give_back(cleaner, run, f"k{number}")
    wait_gone(root)
    early.assert_silent()


def test_what_a_clone_has_for_one_run_goes_with_the_run(cleaner: Ref) -> None:
    first, second = Probe("first"), Probe("second")
    root = use(cleaner, first, "k")
    assert use(cleaner, second, "k") == root
    texts = [lay_text(Clone(root, run=f"id-{run.name}"), "a", "text") for run in (first, second)]
    shared = lay_text(Clone(root), "a", "text")
    give_back(cleaner, first, "k")
    wait_gone(texts[0])
    assert texts[1].exists()
    give_back(cleaner, second, "k")
    wait_gone(texts[1])
    assert shared.exists()
    assert use(cleaner, Probe("third"), "k") == root


def test_a_clone_is_not_removed_while_it_is_cleared_for_a_run(
    cleaner: Ref, agent: Probe, monkeypatch: pytest.MonkeyPatch
) -> None:
    entered, release = threading.Event(), threading.Event()

    def held(path: Path) -> None:
        entered.set()
        assert release.wait(10)
        remove_tree(path)

    monkeypatch.setattr("toolcrib.actors.cleaner.remove_tree", held)
    run = Probe("run")
    root = use(cleaner, run, "k")
    give_back(cleaner, run, "k")
    assert entered.wait(10)
    for number in range(5):
        other = Probe(f"run-{number}")
        use(cleaner, other, f"k{number}")
        give_back(cleaner, other, f"k{number}")
    cleaner.deliver(SealOwner("a", agent), "test")
    use_refused(cleaner)
    agent.assert_silent()
    assert root.exists()
    release.set()
    assert agent.expect(OwnerSealed).clones == 4
    wait_gone(root)


def test_what_can_not_be_cleared_stays_as_long_as_the_clone(
    cleaner: Ref,
    agent: Probe,
    caplog: pytest.LogCaptureFixture,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def stuck(path: Path) -> None:
        msg = f"{path} is stuck"
        raise ProfileError(msg)

    monkeypatch.setattr("toolcrib.actors.cleaner.remove_tree", stuck)
    run = Probe("run")
    root = use(cleaner, run, "k")
    lay_text(Clone(root, run="id-run"), "a", "text")
    give_back(cleaner, run, "k")
    cleaner.deliver(SealOwner("a", agent), "test")
    agent.expect(OwnerSealed)
    assert "stays as long as the clone" in caplog.text
    cleaner.deliver(RemoveClones("a", agent), "test")
    agent.skip_to(ClonesRemoved)
    assert not root.exists()


def use_refused(cleaner: Ref) -> None:
    late = Probe("late")
    cleaner.deliver(MakeClone(agent="a", key="new", seed=_plain, reply_to=late), "test")
    late.expect(CloneFailed)


def use(cleaner: Ref, run: Probe, key: str) -> Path:
    cleaner.deliver(MakeClone(agent="a", key=key, seed=_plain, reply_to=run), "test")
    return run.expect(CloneReady).root


def give_back(cleaner: Ref, run: Probe, key: str) -> None:
    cleaner.deliver(ReturnClone(agent="a", key=key, run=run.name, run_id=f"id-{run.name}"), "test")


def wait_gone(root: Path) -> None:
    until = time.monotonic() + 10
    while root.exists():
        assert time.monotonic() < until, f"{root} is still there"
        os.sched_yield()
