"""The system: starts the actors in order, supervises them, stops them in reverse."""

from __future__ import annotations

import atexit
import itertools
import logging
import os
import threading
import time
import warnings
import weakref
from collections import deque
from pathlib import Path
from types import TracebackType
from typing import Self

from ..errors import ToolcribError
from ..messages.agent import CloseAgent, StartRun
from ..messages.base import Address, LivingAddress
from ..messages.gateway import CloseListener
from ..messages.numbers import checked_count
from ..messages.turn import Launch
from ..runtime.drivers.interface import Dialect
from ..runtime.finalizers import Finalizers
from ..runtime.gateway.front import Listener
from ..runtime.gateway.limits import Limits
from ..runtime.processes.guard import Guard
from ..runtime.processes.interface import ProcessListener
from ..runtime.processes.session import ProviderProcess
from ..runtime.profiles.clones import CloneStore
from ..runtime.signals import bounded
from ..runtime.spec import AgentSpec
from ..runtime.timers import Timers
from ..runtime.tracing import Tracer
from ..runtime.work import TurnWork
from ..runtime.workers import Workers
from .agent import AgentActor, StartRunActor
from .base import Ref, Services
from .cleaner import CleanerActor
from .driver import DriverActor
from .gateway import GatewayActor
from .inbox import Inbox
from .registry import RegistryActor
from .run import RunActor

__all__ = ["System"]

_log = logging.getLogger("toolcrib.actors")
_EXIT_TIMEOUT = 8.0
_FAULTS = 3
_FAULTS_SECONDS = 60.0

_systems: weakref.WeakSet[System] = weakref.WeakSet()
_default: list[System] = []  # none or one
_default_lock = threading.Lock()


class System:
    """One set of actors: registry, gateway and cleaner, and the Agents on them.

    A process needs one, which `System.default` makes when the first Agent runs.
    Make another to trace it, to give it limits of its own, or in tests.

    Args:
        limits: The gateway's limits; ``None`` for the defaults.
        port: The loopback port for tools; 0 lets the system choose.
        clones: The directory for profile clones; ``None`` for one below the
            temporary directory.
        tracer: Records every message that an actor handles.

    Raises:
        TypeError: The port is no whole number.
        ValueError: It is none of 0 to 65535.
    """

    def __init__(
        self,
        *,
        limits: Limits | None = None,
        port: int = 0,
        clones: str | os.PathLike[str] | None = None,
        tracer: Tracer | None = None,
    ) -> None:
        checked_count("port", port, least=0, most=65535)
        self.limits = limits = limits or Limits()
        self.tracer = tracer
        self.finalizers = Finalizers("toolcrib-system-finalizers")
        self._pid = os.getpid()
        self._store = CloneStore(Path(clones) if clones is not None else None)
        self._guard = Guard(self._store.host_id)
        self._services = Services(
            Workers("toolcrib-system-worker"),
            Timers("toolcrib-system-timers"),
            tracer,
            self._take_note,
        )
        self._services.timers.start()
        self._faults: deque[tuple[float, str]] = deque(maxlen=100)
        self._counters: dict[str, itertools.count[int]] = {}
        self._lock = threading.Lock()
        self._agents: list[Ref] = []
        self._stopped = False
        self._down = False
        # In this order, since each is spoken to by the next; stopped in reverse.
        self._cleaner = CleanerActor.launch(self._services, self._store, self._guard)
        self._gateway = GatewayActor.launch(
            self._services, lambda: Listener(limits), port, limits.shutdown
        )
        self._registry = RegistryActor.launch(self._services, self._gateway)
        _systems.add(self)

    @classmethod
    def default(cls) -> System:
        """Return the process's own system; start it, or a new one after a fork."""
        with _default_lock:
            if not (_default and _default[0].healthy):
                _default[:] = [cls()]
            return _default[0]

    @property
    def healthy(self) -> bool:
        """Whether it can take on Agents.

        It can't once it has stopped, in a forked child, when one of its actors
        has died, or when one has failed three times within a minute: then its
        state is no longer to be trusted, and `default` makes a new system. The
        Agents that it has go on as well as they can.
        """
        actors = (self._cleaner, self._gateway, self._registry)
        mine = self._pid == os.getpid()
        return (
            mine
            and not self._stopped
            and all(actor.alive and not self._unreliable(actor.name) for actor in actors)
        )

    @property
    def host(self) -> str:
        """The random name of this host, which its children carry in ``TOOLCRIB_HOST``."""
        return self._store.host_id

    def name(self, kind: str) -> str:
        """Return the next free name of a kind, such as ``agent-1``."""
        with self._lock:
            return f"{kind}-{next(self._counters.setdefault(kind, itertools.count(1)))}"

    def start_agent(self, spec: AgentSpec) -> LivingAddress:
        """Start an Agent's actor.

        Raises:
            ToolcribError: The system has stopped.
        """
        with self._lock:
            if not self.healthy:
                msg = "This system has stopped or failed; make a new one, or an Agent without it."
                raise ToolcribError(msg)
            agent = AgentActor.launch(
                spec, self._services, self._registry, self._cleaner, self._run_starter(spec)
            )
            self._agents = [ref for ref in self._agents if ref.alive] + [agent]
        return agent

    def stop(self, timeout: float = 30.0) -> tuple[str, ...]:
        """Close all Agents, then stop the actors in reverse order of their start.

        Takes no new Agent from now on. If something does not stop in time, the
        rest stays up for it; call this again to go on.

        Args:
            timeout: How long to wait for all of it, in seconds.

        Returns:
            The names of what did not stop in time, also logged as an error;
            empty when all did.

        Raises:
            TypeError: The timeout is no number.
            ValueError: It is negative, or not a number (NaN).
        """
        timeout = bounded(timeout)
        if self._down or self._pid != os.getpid():
            return ()
        end = time.monotonic() + timeout
        late = self._close_agents(end)
        if not late:
            # Not before, since an Agent that still closes needs its peers.
            self._close_listener(end)
            late = self._stop_actors(end)
        if late:
            _log.error("did not stop within %g s: %s", timeout, ", ".join(late))
            return tuple(late)
        self._down = True
        self._services.workers.close()
        self._services.timers.close()
        self.finalizers.close()
        self._guard.close()
        self._store.close()
        return ()

    @property
    def open_agents(self) -> tuple[str, ...]:
        """The names of the Agents that run and are not closed."""
        with self._lock:
            return tuple(ref.name for ref in self._agents if ref.alive)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        self.stop()

    def _take_note(self, name: str, error: BaseException) -> None:
        self._faults.append((time.monotonic(), name))

    def _unreliable(self, name: str) -> bool:
        since = time.monotonic() - _FAULTS_SECONDS
        return sum(who == name and when > since for when, who in list(self._faults)) >= _FAULTS

    def _close_agents(self, end: float) -> list[str]:
        with self._lock:
            self._stopped = True
            agents = [ref for ref in self._agents if ref.alive]
        left = max(0.1, end - time.monotonic())
        for agent in agents:
            agent.deliver(CloseAgent(left, Inbox(tracer=self.tracer)), "system")
        return [ref.name for ref in agents if not ref.join(max(0.1, end - time.monotonic()))]

    def _stop_actors(self, end: float) -> list[str]:
        late = []
        for actor in (self._registry, self._gateway, self._cleaner):
            actor.close()
            if not actor.join(max(0.1, end - time.monotonic())):
                late.append(actor.name)
        return late

    def _close_listener(self, end: float) -> None:
        inbox = Inbox("system", self.tracer)
        try:
            left = max(0.1, end - time.monotonic())
            inbox.ask(self._gateway, CloseListener(inbox), left)
        except ToolcribError as error:
            _log.warning("the tools' listener may still be open: %s", error)

    def _run_starter(self, spec: AgentSpec) -> StartRunActor:
        def start_run(request: StartRun, agent: Address, waited: float) -> Address:
            work = TurnWork(
                spec=spec,
                run_id=request.run_id,
                prompt=request.prompt,
                options=request.options,
                thread_key=request.thread_key,
            )
            return RunActor.launch(
                self.name("run"),
                self._services,
                request,
                work,
                agent,
                self._cleaner,
                self._start_driver,
                waited=waited,
            )

        return start_run

    def _start_driver(
        self, launch: Launch, dialect: Dialect, run: Address, agent: Address
    ) -> Address:
        def make(listener: ProcessListener) -> ProviderProcess:
            return ProviderProcess(launch, dialect, listener, guard=self._guard)

        return DriverActor.launch(self.name("driver"), self._services, make, run, agent)


@atexit.register
def _stop_all() -> None:
    # Whoever forgot to close still leaves no process and no clone behind.
    for system in list(_systems):
        for name in system.open_agents:
            warnings.warn(f"{name} was never closed", ResourceWarning, stacklevel=1)
        system.stop(_EXIT_TIMEOUT)
