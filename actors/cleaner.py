"""The profile cleaner: every clone that exists, and its end."""

from __future__ import annotations

import logging
from collections import Counter, defaultdict
from dataclasses import dataclass, field, replace
from functools import partial
from pathlib import Path

from ..errors import AgentClosedError
from ..messages.base import Address, Message
from ..messages.cleaner import (
    ClonesRemaining,
    ClonesRemoved,
    MakeClone,
    OwnerSealed,
    RemoveClones,
    ReturnClone,
    SealOwner,
)
from ..messages.run import CloneFailed, CloneReady
from ..runtime.processes.guard import Guard
from ..runtime.profiles.clone import Clone
from ..runtime.profiles.clones import CloneStore
from ..runtime.profiles.files import remove_tree
from .base import Actor, Services

__all__ = ["CleanerActor"]

_log = logging.getLogger("toolcrib.actors")
_RETRY_FIRST = 0.1
_RETRY_LONGEST = 2.0
_IDLE_KEPT = 4


@dataclass(frozen=True, slots=True)
class _Made(Message):
    """A worker has made a clone."""

    agent: str
    """Whose."""
    key: str
    """Which of the Agent's."""
    clone: Clone
    """The clone."""


@dataclass(frozen=True, slots=True)
class _MakeFailed(Message):
    """A worker could not make a clone."""

    agent: str
    """Whose."""
    key: str
    """Which of the Agent's."""
    error: Exception
    """Why."""


@dataclass(frozen=True, slots=True)
class _Cleared(Message):
    """A worker has removed what a clone had for one run, as far as it could."""

    agent: str
    """Whose."""
    key: str
    """Which of the Agent's."""


@dataclass(frozen=True, slots=True)
class _Removed(Message):
    """A worker has removed a clone."""

    agent: str
    """Whose."""
    clone: Clone
    """The clone."""


@dataclass(frozen=True, slots=True)
class _RemoveFailed(Message):
    """A worker could not remove a clone."""

    agent: str
    """Whose."""
    clone: Clone
    """The clone."""
    error: Exception
    """Why."""


@dataclass(frozen=True, slots=True)
class _RetryRemoval(Message):
    """It is time to try again."""

    agent: str
    """Whose."""
    clone: Clone
    """The clone."""


@dataclass(frozen=True, slots=True)
class _Swept(Message):
    """A worker has looked for what dead hosts left."""

    removed: int
    """How many clones it removed."""


@dataclass(slots=True)
class _Owner:
    """One Agent's clones."""

    making: dict[str, list[Address]] = field(default_factory=dict)
    clones: dict[str, Clone] = field(default_factory=dict)
    users: dict[str, set[str]] = field(default_factory=lambda: defaultdict(set))
    idle: list[str] = field(default_factory=list)
    clearing: Counter[str] = field(default_factory=Counter)
    leaving: dict[Path, float] = field(default_factory=dict)
    sealed_for: Address | None = None
    remove_for: Address | None = None


class CleanerActor(Actor):
    """Makes clones, one for each Agent and key, and removes them.

    An application may serve many identities by one Agent, so of the clones that
    no run uses only the last few are kept.

    Args:
        services: What all actors share.
        store: Where clones live; used on workers.
        guard: Removes them if the host dies; used on workers.
    """

    def __init__(self, services: Services, store: CloneStore, guard: Guard) -> None:
        super().__init__("system-cleaner", services)
        self._store = store
        self._guard = guard
        self._owners: dict[str, _Owner] = {}

    def started(self) -> None:
        self.work(self._store.sweep, lambda removed: _Swept(len(removed)), lambda _: _Swept(0))

    def receive(self, message: Message) -> None:
        match message:
            case MakeClone():
                self._make(message)
            case ReturnClone():
                self._returned(message)
            case _Made(agent, key, clone):
                self._made(agent, key, clone)
            case _MakeFailed(agent, key, error):
                for run in self._owners[agent].making.pop(key):
                    self.send(run, CloneFailed(error))
                self._report_sealed(agent)
            case _Cleared(agent, key):
                self._cleared(agent, key)
            case SealOwner(agent, asker):
                self._owners.setdefault(agent, _Owner()).sealed_for = asker
                self._report_sealed(agent)
            case RemoveClones(agent, asker):
                self._remove_all(agent, asker)
            case _Removed(agent, clone):
                self._removed(agent, clone)
            case _RemoveFailed(agent, clone, error):
                self._remove_failed(agent, clone, error)
            case _RetryRemoval(agent, clone):
                self._remove(agent, clone)
            case _Swept(removed):
                if removed:
                    _log.info("removed %d clones that dead hosts had left", removed)

    def _make(self, request: MakeClone) -> None:
        agent, key = request.agent, request.key
        owner = self._owners.setdefault(agent, _Owner())
        if owner.sealed_for is not None:
            error = AgentClosedError(f"{agent} is closing; make a new Agent.")
            self.send(request.reply_to, CloneFailed(error))
        elif key in owner.clones:
            self._hand_out(owner, key, request.reply_to)
        elif key in owner.making:
            owner.making[key].append(request.reply_to)
        else:
            owner.making[key] = [request.reply_to]
            self.work(
                partial(self._create, request),
                lambda clone: _Made(agent, key, clone),
                lambda error: _MakeFailed(agent, key, error),
            )

    def _create(self, request: MakeClone) -> Clone:
        # Before there is anything to remove, so that no moment is unguarded.
        self._guard.record_directory(self._store.host_directory, below=self._store.root)
        return self._store.create(
            request.agent, request.key, lambda clone: request.seed(clone.root)
        )

    def _made(self, agent: str, key: str, clone: Clone) -> None:
        owner = self._owners[agent]
        owner.clones[key] = clone
        for run in owner.making.pop(key):
            self._hand_out(owner, key, run)
        if not owner.users[key]:
            self._let_go(agent, key)
        self._report_sealed(agent)

    def _hand_out(self, owner: _Owner, key: str, run: Address) -> None:
        owner.users[key].add(run.name)
        if key in owner.idle:
            owner.idle.remove(key)
        self.send(run, CloneReady(owner.clones[key].root))

    def _returned(self, message: ReturnClone) -> None:
        owner, key = self._owners.get(message.agent), message.key
        if owner is None:
            return
        if key in owner.making:
            owner.making[key] = [run for run in owner.making[key] if run.name != message.run]
        elif message.run in owner.users[key]:
            owner.users[key].remove(message.run)
            self._clear(owner, message)
            if not owner.users[key]:
                self._let_go(message.agent, key)

    def _clear(self, owner: _Owner, message: ReturnClone) -> None:
        lent = replace(owner.clones[message.key], run=message.run_id)
        owner.clearing[message.key] += 1
        cleared = _Cleared(message.agent, message.key)
        self.work(
            partial(remove_tree, lent.given_to_run), lambda _: cleared, partial(_left, cleared)
        )

    def _cleared(self, agent: str, key: str) -> None:
        owner = self._owners[agent]
        owner.clearing -= Counter((key,))  # which keeps no zeros
        self._remove_idle(agent)
        self._report_sealed(agent)

    def _let_go(self, agent: str, key: str) -> None:
        owner = self._owners[agent]
        owner.users.pop(key, None)
        owner.idle.append(key)
        self._remove_idle(agent)

    def _remove_idle(self, agent: str) -> None:
        owner = self._owners[agent]
        # Two at work in one directory would be in each other's way.
        while len(owner.idle) > _IDLE_KEPT and owner.idle[0] not in owner.clearing:
            self._begin_removal(agent, owner.clones.pop(owner.idle.pop(0)))

    def _begin_removal(self, agent: str, clone: Clone) -> None:
        leaving = self._owners[agent].leaving
        if clone.root not in leaving:
            leaving[clone.root] = _RETRY_FIRST
            self._remove(agent, clone)

    def _report_sealed(self, agent: str) -> None:
        owner = self._owners[agent]
        if owner.sealed_for is not None and not owner.making and not owner.clearing:
            self.send(owner.sealed_for, OwnerSealed(agent, len(owner.clones)))

    def _remove_all(self, agent: str, asker: Address) -> None:
        owner = self._owners.setdefault(agent, _Owner())
        owner.remove_for = asker
        for clone in owner.clones.values():
            self._begin_removal(agent, clone)
        self._look_whether_all_are_removed(agent)

    def _remove(self, agent: str, clone: Clone) -> None:
        self.work(
            partial(self._store.remove, clone),
            lambda _: _Removed(agent, clone),
            lambda error: _RemoveFailed(agent, clone, error),
        )

    def _removed(self, agent: str, clone: Clone) -> None:
        owner = self._owners[agent]
        owner.leaving.pop(clone.root, None)
        owner.clones = {k: c for k, c in owner.clones.items() if c.root != clone.root}
        self._look_whether_all_are_removed(agent)

    def _look_whether_all_are_removed(self, agent: str) -> None:
        owner = self._owners[agent]
        if owner.remove_for is not None and not owner.clones and not owner.leaving:
            del self._owners[agent]
            self.send(owner.remove_for, ClonesRemoved(agent))

    def _remove_failed(self, agent: str, clone: Clone, error: Exception) -> None:
        owner = self._owners[agent]
        wait = owner.leaving[clone.root]
        owner.leaving[clone.root] = min(wait * 2, _RETRY_LONGEST)
        if wait == _RETRY_FIRST:
            _log.warning("clone %s can't be removed yet: %s", clone.root, error)
        if owner.remove_for is not None:
            left = tuple(owner.leaving)
            self.send(owner.remove_for, ClonesRemaining(agent, left, str(error)))
        self.later(wait, _RetryRemoval(agent, clone))


def _left(cleared: _Cleared, error: Exception) -> _Cleared:
    _log.warning("a part of a clone stays as long as the clone: %s", error)
    return cleared
