"""The blocking parts of one run, as plain functions of what they need.

The Run actor decides when each of them runs; all run on worker threads.
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path

from ..errors import ConfigurationError, StoreError
from ..messages.options import RunOptions
from ..messages.turn import HostedServer, Launch
from .drivers.interface import Dialect, Preflight, TurnRequest
from .profiles.clone import Clone
from .spec import SERVER_KEY, AgentSpec
from .threads.conversation import collect, lay
from .threads.interface import Lease, ThreadRecord
from .threads.plan import Rebind, Resume, check_revisions, plan_run

__all__ = ["OpenedThread", "TurnWork"]


@dataclass(frozen=True, slots=True)
class OpenedThread:
    """A thread that a run holds."""

    lease: Lease
    """To be released in any case."""
    record: ThreadRecord | None
    """The conversation to go on with; ``None`` starts a new one."""
    notice: str
    """Why a stored conversation is not continued; empty where it is."""


@dataclass(frozen=True, slots=True, kw_only=True)
class TurnWork:
    """What one run asks of driver and store."""

    spec: AgentSpec
    """The Agent's fixed parts."""
    run_id: str
    """The run's id."""
    prompt: str
    """What to ask."""
    options: RunOptions
    """How to run it."""
    thread_key: str | None
    """The thread to go on with; ``None`` outside a thread."""

    @property
    def provider(self) -> str:
        """The provider's name."""
        return self.spec.driver.provider

    @property
    def agent(self) -> str:
        """The Agent's name."""
        return self.spec.name

    @property
    def hosts_tools(self) -> bool:
        """Whether the Agent has tools."""
        return self.spec.hosts_tools

    @property
    def clone_key(self) -> str:
        """Which of the Agent's clones the run needs."""
        return self.provider

    def check(self) -> None:
        """Find what would fail, before anything is created.

        Raises:
            ToolcribError: What `Driver.preflight` raises; a workspace that is
                not a directory; a tool without revision in a thread.
        """
        spec = self.spec
        if self.thread_key is not None:
            check_revisions(spec.catalog.without_revision())
        if not self.options.workspace.is_dir():
            where = self.options.workspace
            msg = f"The workspace {where} is not a directory; create it or name another."
            raise ConfigurationError(msg)
        spec.driver.preflight(
            Preflight(
                environment=spec.environment,
                workspace=self.options.workspace,
                server_key=SERVER_KEY if spec.hosts_tools else None,
                variable=spec.variable if spec.hosts_tools else None,
            )
        )

    def open_thread(self) -> OpenedThread:
        """Take the thread's lease and decide whether its conversation goes on.

        Raises:
            ThreadError: Somebody else holds it, or the store fails.
        """
        assert self.thread_key is not None
        spec = self.spec
        lease = spec.store.acquire(self.thread_key, self.run_id)
        try:
            plan = plan_run(
                self.thread_key,
                spec.store.load(self.thread_key),
                provider=self.provider,
                fingerprint=spec.fingerprint(),
            )
        except BaseException:
            spec.store.release(lease)
            raise
        match plan:
            case Resume(record):
                return OpenedThread(lease, record, "")
            case Rebind(_, reason):
                return OpenedThread(lease, None, f"A new conversation is started. {reason}")
            case _:
                return OpenedThread(lease, None, "")

    def seed(self, root: Path) -> None:
        """Fill a new clone from the source profile."""
        self.spec.driver.seed(Clone(root), self.spec.environment)

    def prepare(
        self, clone: Clone, server: HostedServer | None, record: ThreadRecord | None
    ) -> tuple[Launch, Dialect]:
        """Lay the conversation into the clone and let the driver configure it.

        Raises:
            ToolcribError: What `Driver.prepare` raises.
        """
        if record is not None:
            lay(clone.profile, record.files)
        request = TurnRequest(
            run_id=self.run_id,
            prompt=self.prompt,
            workspace=self.options.workspace,
            clone=clone,
            environment=self.spec.environment,
            server=server,
            resume=record.session_id if record else None,
        )
        driver = self.spec.driver
        launch, dialect = driver.prepare(request), driver.dialect(request)
        for made, kind, method in ((launch, Launch, "prepare"), (dialect, Dialect, "dialect")):
            if not isinstance(made, kind):
                msg = (
                    f"{type(driver).__name__}.{method} returned a {type(made).__name__}; "
                    f"it has to return a {kind.__name__}."
                )
                raise ConfigurationError(msg)
        return launch, dialect

    def keep(
        self,
        lease: Lease,
        record: ThreadRecord | None,
        clone: Clone,
        session_id: str | None,
        server: HostedServer | None,
    ) -> None:
        """Store the conversation's files and the checkpoint, as one.

        Raises:
            StoreError: The provider kept no conversation, or the store fails.
            LeaseLostError: Somebody else holds the thread now.
        """
        driver = self.spec.driver
        files = driver.conversation_files(clone, session_id) if session_id else ()
        if not session_id or not files:
            msg = (
                f"{self.provider} kept no conversation of run {self.run_id}, so thread "
                f"{lease.key!r} stays as it was. Run without a thread if you don't need one."
            )
            raise StoreError(msg)
        secrets = (server.token,) if server else ()
        self.spec.store.commit(
            lease,
            ThreadRecord(
                key=lease.key,
                provider=self.provider,
                fingerprint=self.spec.fingerprint(),
                session_id=session_id,
                files=collect(clone.profile, files, secrets),
                turns=(record.turns if record else 0) + 1,
                updated=datetime.now(UTC),
            ),
        )

    def release(self, lease: Lease) -> None:
        """Give the thread back."""
        self.spec.store.release(lease)
