"""The blocking parts of one run, as plain functions of what they need.

The Run actor decides when each of them runs; all run on worker threads.
"""

from __future__ import annotations

import inspect
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from ..errors import ConfigurationError, StoreError
from ..messages.events import ApprovalRequest
from ..messages.options import RunOptions
from ..messages.resources import Resources
from ..messages.services import RunInfo
from ..messages.turn import HostedServer, Launch
from .attachments import Attached, attach
from .clone_key import clone_key
from .drivers.interface import Dialect, Preflight, TurnRequest
from .drivers.wording import asking_for
from .observers import Observers
from .policy import check_mcp, check_options
from .profiles.clone import Clone
from .spec import SERVER_KEY, AgentSpec
from .threads.conversation import collect, lay
from .threads.interface import Lease, ThreadRecord
from .threads.plan import Rebind, Resume, check_revisions, plan_run
from .tools.context import Context
from .tools.loop import shared_runner

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
    def info(self) -> RunInfo:
        """The run, as its services see it."""
        return RunInfo(
            run_id=self.run_id,
            thread_key=self.thread_key,
            provider=self.provider,
            workspace=self.options.workspace,
            metadata=self.options.metadata,
            identity=self.options.identity,
        )

    def clone_key(self, attached: Attached) -> str:
        """Return which of the Agent's clones the run needs."""
        options = self.options
        return clone_key(
            self.provider, options.identity, options.skills, attached.mcp, options.resources
        )

    def check(self) -> None:
        """Find what would fail, before anything is created.

        Raises:
            ToolcribError: An option that the driver can't honour; a workspace
                that is not a directory; a tool without revision in a thread;
                what `Driver.preflight` raises.
        """
        spec = self.spec
        check_options(self.options, self.provider, spec.driver.capabilities)
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
                resources=self.options.resources or Resources(),
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
                fingerprint=spec.fingerprint(self.options.identity),
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

    def attach(self) -> Attached:
        """Attach the run's services, in order.

        Raises:
            Exception: What a service raised, or a `ConfigurationError` about
                what it brought; none is attached then.
        """
        attached = attach(
            self.options.services,
            self.info,
            self.options.mcp,
            reserved=(self.spec.variable,),
            server_key=SERVER_KEY,
        )
        try:
            check_mcp(attached.mcp, self.provider, self.spec.driver.capabilities)
        except BaseException:
            attached.detach()
            raise
        return attached

    def seed(self, root: Path) -> None:
        """Fill a new clone from the source profile."""
        self.spec.driver.seed(Clone(root), self.spec.environment)

    def prepare(
        self,
        clone: Clone,
        server: HostedServer | None,
        record: ThreadRecord | None,
        attached: Attached,
    ) -> tuple[Launch, Dialect]:
        """Lay the conversation into the clone and let the driver configure it.

        Raises:
            ToolcribError: What `Driver.prepare` raises.
        """
        if record is not None:
            lay(clone.profile, record.files)
        driver, options = self.spec.driver, self.options
        output, prompt = options.output, self.prompt
        if output is not None and not driver.capabilities.native_output:
            prompt = asking_for(output, prompt)
        request = TurnRequest(
            run_id=self.run_id,
            prompt=prompt,
            workspace=options.workspace,
            clone=replace(clone, run=self.run_id),
            environment={**self.spec.environment, **attached.environment},
            server=server,
            resume=record.session_id if record else None,
            model=options.model,
            instructions=options.instructions,
            policy=options.policy,
            skills=options.skills,
            mcp=attached.mcp,
            resources=options.resources or Resources(),
            secrets=attached.secrets,
            output=output,
        )
        launch, dialect = driver.prepare(request), driver.dialect(request)
        for made, kind, method in ((launch, Launch, "prepare"), (dialect, Dialect, "dialect")):
            if not isinstance(made, kind):
                msg = (
                    f"{type(driver).__name__}.{method} returned a {type(made).__name__}; "
                    f"it has to return a {kind.__name__}."
                )
                raise ConfigurationError(msg)
        # Whatever the driver thought of: no secret of ours gets past the pump.
        tokens = (server.token,) if server else ()
        secrets = dict.fromkeys((*launch.secrets, *tokens, *attached.secrets))
        return replace(launch, secrets=tuple(secrets)), dialect

    def call_back(self, request: ApprovalRequest, until: Context) -> None:
        """Call the application's approval callback, and wait for its end.

        Args:
            request: What it is called with.
            until: Cancels an async callback when the run is over.

        Raises:
            BaseException: Whatever the callback raised.
        """
        callback = self.options.on_approval
        assert callback is not None
        within = self.spec.context.copy()
        returned = within.run(callback, request)
        if inspect.isawaitable(returned):
            shared_runner().run(returned, until, within)

    def load_output(self, answer: str) -> Any:
        """Make the value that was asked for of the answer's JSON text.

        Raises:
            InvalidInputError: It does not fit.
        """
        assert self.options.output is not None
        return self.options.output.load(answer)

    def keep(
        self,
        lease: Lease,
        record: ThreadRecord | None,
        clone: Clone,
        session_id: str | None,
        server: HostedServer | None,
        attached: Attached,
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
        secrets = (*((server.token,) if server else ()), *attached.secrets)
        self.spec.store.commit(
            lease,
            ThreadRecord(
                key=lease.key,
                provider=self.provider,
                fingerprint=self.spec.fingerprint(self.options.identity),
                session_id=session_id,
                files=collect(clone.profile, files, secrets),
                turns=(record.turns if record else 0) + 1,
                updated=datetime.now(UTC),
            ),
        )

    def release(
        self, lease: Lease | None, attached: Attached | None, observers: Observers | None
    ) -> tuple[tuple[Exception, ...], Exception | None]:
        """Detach the services, and then give the thread back, whatever happens.

        Returns:
            What the services raised, and what the store did.
        """
        if observers is not None:
            observers.drain()
        errors = attached.detach() if attached is not None else ()
        if lease is None:
            return errors, None
        try:
            self.spec.store.release(lease)
        except Exception as error:
            return errors, error
        return errors, None
