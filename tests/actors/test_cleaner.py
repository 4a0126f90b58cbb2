"""The profile cleaner alone, with real directories."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from toolcrib import AgentClosedError
from toolcrib.actors.base import Ref, Services
from toolcrib.actors.cleaner import CleanerActor
from toolcrib.messages.cleaner import (
    ClonesRemaining,
    ClonesRemoved,
    MakeClone,
    OwnerSealed,
    RemoveClones,
    SealOwner,
)
from toolcrib.messages.run import CloneFailed, CloneReady
from toolcrib.runtime.processes.guard import Guard
from toolcrib.runtime.profiles.clones import CloneStore

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
