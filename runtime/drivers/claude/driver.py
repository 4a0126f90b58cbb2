"""The Claude Code driver: what to start, with which profile."""

from __future__ import annotations

import json
import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import PurePosixPath
from typing import Any, ClassVar, Literal, get_args

from ....messages.turn import HostedServer, Launch
from ...profiles.clone import Clone
from ...profiles.files import reported
from ...profiles.given import lay_text
from ...profiles.mcp_json import put_server
from ..environment import child_environment
from ..interface import Capabilities, Decision, Dialect, Driver, Preflight, TurnRequest
from ..options import settle
from ..stream_json.asking import APPROVALS
from ..stream_json.commands import check_arguments, check_choice, locate, shown
from ..stream_json.dialect import Flavor, StreamJsonDialect
from ..stream_json.flags import SHORT
from ..stream_json.launch import added_servers, arguments, decides, put_skills, server_entry
from ..stream_json.profile import conversation_files, project_files
from ..stream_json.resources import check_settings, put_resources
from .flags import CLAUDE_OWN
from .source import CONFIG, Source, check_projects, find_source

__all__ = ["Claude", "PermissionMode"]

PermissionMode = Literal["acceptEdits", "auto", "dontAsk", "manual", "plan"]
"""What Claude Code does without being allowed to; it asks nobody in any of them."""

_NAMES = ("claude",)
_PACKAGED = ("claude_agent_sdk", "_bundled/claude")
_SERVER_KEY = "toolcrib"
_EFFORTS = ("low", "medium", "high", "xhigh", "max")
_SLACK = 30
"""Seconds that the CLI waits for a tool longer than the gateway does."""
_SNAPSHOT = b'"prompt_snapshot"'
_STARTUP = {"CLAUDE_CODE_MCP_STARTUP_WAIT_MS": "30000"}
"""Unset, the CLI begins without a server that is not there after 7 seconds."""


def _approval(decision: Decision, call_id: str, arguments: Mapping[str, Any]) -> dict[str, Any]:
    del call_id
    if decision.approved:
        return {"behavior": "allow", "updatedInput": arguments}
    denied = {"behavior": "deny", "message": decision.reason}
    return {**denied, "interrupt": True} if decision.interrupt else denied


_FLAVOR = Flavor(name="Claude Code", approval=_approval)


@dataclass(frozen=True, slots=True, kw_only=True)
class Claude(Driver):
    """Drives Claude Code, one process a turn.

    The run works in a clone of the profile, by ``CLAUDE_CONFIG_DIR``; the home
    directory stays the user's. Settings, MCP servers, `CLAUDE.md`, agents,
    commands, skills, hooks and rules are copied, a login in a file is linked,
    conversations, memories, plugins and histories are left out. A login in the
    keychain of macOS belongs to the profile's path, so a clone does not have
    it: set ``ANTHROPIC_API_KEY`` or ``CLAUDE_CODE_OAUTH_TOKEN`` there.

    Installing a tool is the host's consent: hosted tools are allowed for the
    run, and nothing else is. What else the model may do is the profile's to
    say, or ``permission_mode``; what would need an approval is
    refused, or decided as the run's policy says.

    The token reaches the model's shell, which inherits the CLI's environment.

    A run lasts until work that the model left in the background is done, and
    has been answered; a server that the model starts in the background and
    never ends makes it last until its time is up or it is cancelled.

    Args:
        command: A path, a name on ``PATH``, or one of those with arguments
            after it. Unset, ``claude`` on ``PATH``, then the one of the Python
            package ``claude-agent-sdk``.
        profile: The source profile, a directory that holds what `~/.claude`
            does and `.claude.json`; it must exist. Unset it is
            ``CLAUDE_CONFIG_DIR`` or the user's own, which may be missing.
        model: The model's name. Unset, the profile or the CLI chooses.
        permission_mode: What the model may do without being allowed to. Unset,
            the profile or the CLI chooses.
        reasoning_effort: How much the model should think, such as ``high``.
            Unset, the profile or the CLI chooses.
        environment: Variables to add to the process's environment.
        extra_args: Further arguments of the command line.
        grace: Seconds between asking the process to end and ending its group.

    Raises:
        ConfigurationError: An argument can't be used; it is named.
    """

    provider: ClassVar[str] = "claude"
    capabilities: ClassVar[Capabilities] = Capabilities(
        web_search=frozenset({"allow", "deny"}),
        browser=frozenset({"allow", "deny"}),
        approvals=APPROVALS,
        model=True,
        instructions=True,
        skills=True,
        mcp=frozenset({"stdio", "http"}),
        resources=frozenset({"agents", "config"}),
        native_output=True,
    )

    command: str | Sequence[str] | None = None
    profile: str | os.PathLike[str] | None = None
    model: str | None = None
    permission_mode: PermissionMode | None = None
    reasoning_effort: str | None = None
    environment: Mapping[str, str] = field(default_factory=dict, repr=False, hash=False)
    extra_args: Sequence[str] = ()
    grace: float = 2.0

    def __post_init__(self) -> None:
        settle(self)
        check_arguments(self.extra_args, CLAUDE_OWN, SHORT)
        check_choice("permission_mode", self.permission_mode, get_args(PermissionMode))
        check_choice("reasoning_effort", self.reasoning_effort, _EFFORTS)

    def preflight(self, check: Preflight) -> None:
        """Find the command and the profile, and servers that are in the way."""
        check_settings(check.resources.config, "Claude Code")
        environment = self._surroundings(check.environment)
        self._find(environment)
        source = self._source(environment)
        if check.server_key is None or check.variable is None:
            return
        source.check(check.workspace, check.server_key, check.variable)
        check_projects(check.workspace, check.server_key, check.variable)

    def seed(self, clone: Clone, environment: Mapping[str, str]) -> None:
        """Copy the settings and link the login."""
        self._source(self._surroundings(environment)).seed(clone)

    def prepare(self, request: TurnRequest) -> Launch:
        """Write the hosted server into the clone's configuration, and say how to start."""
        environment = {**_STARTUP, **self._surroundings(request.environment)}
        prefix = self._find(environment)
        server = request.server
        config = request.clone.profile / CONFIG
        variables = {"CLAUDE_CONFIG_DIR": str(request.clone.profile)}
        if server is None:
            put_server(config, _SERVER_KEY, None)
        else:
            check_projects(request.workspace, server.key, server.variable)
            put_server(config, server.key, _entry(server), server.variable)
            variables[server.variable] = server.token.reveal()
        put_skills(request)
        put_resources(request, ".claude")
        return Launch(
            argv=(*prefix, *self._arguments(request)),
            environment=child_environment(environment, request.clone, variables),
            cwd=request.workspace,
            secrets=() if server is None else (server.token,),
            grace=self.grace,
        )

    def dialect(self, request: TurnRequest) -> Dialect:
        """Return the reader of one turn's records."""
        return StreamJsonDialect(_FLAVOR, command=shown(self.command, _NAMES[0]), turn=request)

    def conversation_files(self, clone: Clone, session_id: str) -> tuple[PurePosixPath, ...]:
        """Return the conversation's file below `projects`, and what lies in its folder."""
        return conversation_files(clone, session_id)

    def _surroundings(self, base: Mapping[str, str]) -> dict[str, str]:
        return {**base, **self.environment}

    def _source(self, environment: Mapping[str, str]) -> Source:
        return find_source(self.profile, environment)

    def _find(self, environment: Mapping[str, str]) -> tuple[str, ...]:
        return locate(self.command, _NAMES, environment, _PACKAGED)

    def _arguments(self, request: TurnRequest) -> list[str]:
        return arguments(
            request,
            product="Claude Code",
            model=self.model,
            permission_mode=self.permission_mode,
            reasoning_effort=self.reasoning_effort,
            extra=self.extra_args,
            more=_options(request),
        )


def _options(request: TurnRequest) -> list[str]:
    policy, config = request.policy, request.clone.profile / CONFIG
    files = (config, *project_files(request.workspace))
    line = added_servers(request, files, _SERVER_KEY)
    if request.instructions is not None:
        path = lay_text(request.clone, "instructions.txt", request.instructions)
        line += ["--append-system-prompt-file", str(path)]
    if request.resume is not None and _is_recorded(request.clone, request.resume):
        # Else the instructions of the first turn would be sent again.
        line += ["--system-prompt-snapshot", "off"]
    if request.output is not None:
        # These two the CLI takes for references to be followed.
        schema = {k: v for k, v in request.output.schema.items() if k not in {"$schema", "$id"}}
        line += ["--json-schema", json.dumps(schema)]
    if policy.browser is not None:
        line.append("--chrome" if policy.browser == "allow" else "--no-chrome")
    # Without it nobody is asked, and the tools for a plan and for questions are gone.
    return [*line, "--permission-prompt-tool", "stdio"] if decides(policy) else line


def _is_recorded(clone: Clone, session_id: str) -> bool:
    """Tell whether a conversation keeps the instructions that it began with."""
    for found in conversation_files(clone, session_id):
        path = clone.profile / found
        with reported("read", path), path.open("rb") as file:
            if any(_SNAPSHOT in line for line in file):
                return True
    return False


def _entry(server: HostedServer) -> dict[str, Any]:
    timeout = round((server.deadline + _SLACK) * 1000)
    return {**server_entry(server), "timeout": timeout}
