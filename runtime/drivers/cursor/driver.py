"""The Cursor driver: what to start, with which profile."""

from __future__ import annotations

import os
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path, PurePosixPath
from typing import Any, ClassVar

from ....errors import ConfigurationError
from ....messages.turn import HostedServer, Launch
from ...profiles.clone import Clone
from ...profiles.mcp_json import check_servers, put_server, read_object
from ..environment import child_environment
from ..executable import find_command
from ..interface import Capabilities, Dialect, Driver, Preflight, TurnRequest
from ..options import chosen_model, settle
from .approvals import approve, repository_files, withdraw
from .dialect import CursorDialect
from .flags import check_arguments
from .source import Source, find_source, link_profile

__all__ = ["Cursor"]

_NAMES = ("agent", "cursor-agent")
_SERVER_KEY = "toolcrib"
_SESSION_ID = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,199}")


@dataclass(frozen=True, slots=True, kw_only=True)
class Cursor(Driver):
    """Drives the Cursor CLI, one process a turn.

    The run works in a clone of the profile. Settings, MCP servers, hooks,
    skills, agents and rules are copied, the login is linked, conversations and
    per-project data are left out. The process gets a home directory of its own
    that links to the user's entries, since no variable moves `~/.cursor`.

    Installing a tool is the host's consent: the hosted server is approved, and
    its tools are allowed, in the clone. Servers of the user's profile stay.
    Servers that a repository brings (`.cursor/mcp.json` in the workspace or
    above it) are never approved: `--approve-mcps`, which would do that, is
    passed only where there are none. `--trust` is always passed, since the CLI
    refuses to run in a new directory without it. `--force` never is: commands
    that the profile does not allow are rejected by the CLI.

    How the CLI takes approvals and permissions, and that it needs them, is
    known from public material and not verified against the real CLI. It does
    not report the state of its servers, so a run that misses its tools can't
    be told from the records.

    Args:
        command: A path, a name on ``PATH``, or one of those with arguments
            after it. Unset, ``agent`` and then ``cursor-agent`` on ``PATH``.
        profile: The source profile, a directory that holds what `~/.cursor`
            does; it must exist. Unset it is the user's, which may be missing.
            A login is looked for there, then in the user's configuration.
        model: The model's name. Unset, the CLI chooses.
        environment: Variables to add to the process's environment.
        extra_args: Arguments to add to the command line, after the driver's.
        grace: Seconds between asking the process to end and ending its group.

    Raises:
        ConfigurationError: An argument can't be used; it is named.
    """

    provider: ClassVar[str] = "cursor"
    capabilities: ClassVar[Capabilities] = Capabilities(model=True)

    command: str | Sequence[str] | None = None
    profile: str | os.PathLike[str] | None = None
    model: str | None = None
    environment: Mapping[str, str] = field(default_factory=dict, repr=False, hash=False)
    extra_args: Sequence[str] = ()
    grace: float = 2.0

    def __post_init__(self) -> None:
        settle(self)
        check_arguments(self.extra_args)

    def preflight(self, check: Preflight) -> None:
        """Find the command and the profile, and servers that are in the way."""
        environment = self._surroundings(check.environment)
        find_command(self.command, _NAMES, environment)
        source = self._source(environment)
        read_object(source.locate("cli-config.json"))
        if check.server_key is None or check.variable is None:
            return
        repository = repository_files(check.workspace, source.profile)
        for path in (source.locate("mcp.json"), *repository):
            check_servers(path, check.server_key, check.variable)

    def seed(self, clone: Clone, environment: Mapping[str, str]) -> None:
        """Copy the settings, link the login and the home directory."""
        self._source(self._surroundings(environment)).seed(clone)

    def prepare(self, request: TurnRequest) -> Launch:
        """Write the clone's MCP file and approvals, and say how to start."""
        environment = self._surroundings(request.environment)
        prefix = find_command(self.command, _NAMES, environment)
        link_profile(request.clone)
        blanket = self._configure(request, environment)
        variables = {
            "HOME": str(request.clone.home),
            "CURSOR_CONFIG_DIR": str(request.clone.profile),
            "CURSOR_DATA_DIR": str(request.clone.profile),
        }
        if request.server is not None:
            variables[request.server.variable] = request.server.token.reveal()
        return Launch(
            argv=(*prefix, *self._arguments(request, blanket=blanket)),
            environment=child_environment(environment, request.clone, variables),
            cwd=request.workspace,
            secrets=() if request.server is None else (request.server.token,),
            grace=self.grace,
        )

    def dialect(self, request: TurnRequest) -> Dialect:
        """Return the reader of one turn's stream-json records."""
        return CursorDialect(
            command=self._shown_command(),
            prompt=request.prompt,
            server_key=None if request.server is None else request.server.key,
            resume=request.resume,
        )

    def conversation_files(self, clone: Clone, session_id: str) -> tuple[PurePosixPath, ...]:
        """Return the files below `chats` that carry the id in their path.

        The CLI keeps a conversation in a folder that the working directory
        names, so that it is found again from the same workspace only.
        """
        chats = clone.profile / "chats"
        if chats.is_symlink():
            return ()
        found: list[PurePosixPath] = []
        for parent, _names, files in os.walk(chats):
            for name in files:
                path = Path(parent, name)
                below = path.relative_to(clone.profile)
                if path.is_symlink() or not path.is_file():
                    continue
                if any(_names_session(part, session_id) for part in below.parts):
                    found.append(PurePosixPath(*below.parts))
        return tuple(sorted(found))

    def _surroundings(self, base: Mapping[str, str]) -> dict[str, str]:
        return {**base, **self.environment}

    def _source(self, environment: Mapping[str, str]) -> Source:
        return find_source(None if self.profile is None else Path(self.profile), environment)

    def _shown_command(self) -> str:
        if self.command is None:
            return _NAMES[0]
        return self.command if isinstance(self.command, str) else " ".join(self.command)

    def _configure(self, request: TurnRequest, environment: Mapping[str, str]) -> bool:
        """Write the configuration; return whether every server may be approved."""
        path = request.clone.profile / "mcp.json"
        server = request.server
        if server is None:
            put_server(path, _SERVER_KEY, None)
            withdraw(request.clone, _SERVER_KEY)
            return False
        profile = self._source(environment).profile
        repository = repository_files(request.workspace, profile)
        found = [check_servers(file, server.key, server.variable) for file in repository]
        entry = _entry(server)
        put_server(path, server.key, entry, server.variable)
        approve(request.clone, request.workspace, server.key, entry)
        return not any(found)

    def _arguments(self, request: TurnRequest, *, blanket: bool) -> list[str]:
        workspace = str(request.workspace)
        arguments = ["-p", "--output-format", "stream-json", "--workspace", workspace]
        if request.resume is not None:
            # The CLI takes a following word that begins with a dash as a flag
            # of its own, and this one comes from what a provider printed.
            if not _SESSION_ID.fullmatch(request.resume):
                msg = f"{request.resume!r} is no conversation of Cursor. Start a new thread."
                raise ConfigurationError(msg)
            arguments += ["--resume", request.resume]
        model = chosen_model(request.model, self.model)
        if model is not None:
            arguments += ["--model", model]
        arguments.append("--trust")
        if blanket:
            arguments.append("--approve-mcps")
        return [*arguments, *self.extra_args]


def _entry(server: HostedServer) -> dict[str, Any]:
    return {
        "type": "http",
        "url": server.url,
        "headers": {"Authorization": f"Bearer ${{env:{server.variable}}}"},
    }


def _names_session(part: str, session_id: str) -> bool:
    return bool(session_id) and (part == session_id or part.startswith(f"{session_id}."))
