"""The CodeBuddy driver: what to start, with which profile."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path, PurePosixPath
from typing import Any, ClassVar, Literal, get_args

from ....errors import ConfigurationError
from ....messages.turn import Launch
from ...profiles.clone import Clone
from ...profiles.files import is_there, reported
from ...profiles.mcp_json import check_servers, put_server
from ..environment import child_environment
from ..interface import Capabilities, Decision, Dialect, Driver, Preflight, TurnRequest
from ..options import settle
from ..stream_json.asking import APPROVALS
from ..stream_json.commands import check_arguments, check_choice, locate, shown
from ..stream_json.dialect import Flavor, StreamJsonDialect
from ..stream_json.launch import added_servers, arguments, put_skills, server_entry
from ..stream_json.profile import conversation_files, project_files
from ..stream_json.resources import check_settings, put_resources
from .flags import CODEBUDDY_OWN, CODEBUDDY_SHORT
from .source import SERVERS, Source, find_source, own_folder

__all__ = ["CodeBuddy", "PermissionMode"]

PermissionMode = Literal["acceptEdits", "auto", "default", "dontAsk", "plan"]
"""What CodeBuddy does without being allowed to; nobody is asked in any of them."""

_NAMES = ("codebuddy", "cbc")
_PACKAGED = ("codebuddy_agent_sdk", "bin/codebuddy-headless")
_SERVER_KEY = "toolcrib"
_EFFORTS = ("minimal", "low", "medium", "high", "xhigh", "max")
_SLACK = 30
"""Seconds that the CLI waits for a tool longer than the gateway does."""
_DEFAULTS = {"CODEBUDDY_DEFER_TOOL_LOADING": "0"}
"""Unset, tools of the user's own servers are hidden behind a search."""
_TIMEOUT = "MCP_TOOL_TIMEOUT"
_LONGEST_NAME = 255
_LONGEST_INSTRUCTIONS = 120_000


def _approval(decision: Decision, call_id: str, arguments: Mapping[str, Any]) -> dict[str, Any]:
    if decision.approved:
        return {"allowed": True, "updatedInput": arguments, "tool_use_id": call_id}
    return {
        "allowed": False,
        "reason": decision.reason,
        "interrupt": decision.interrupt,
        "tool_use_id": call_id,
    }


_INITIALIZE = {"subtype": "initialize", "hasPrompt": True}
_FLAVOR = Flavor(
    name="CodeBuddy",
    approval=_approval,
    initialize=_INITIALIZE,
    double_encoded=True,
    plans_end=True,
    usage_runs_on=True,
    input_holds_cached=True,
)
_QUESTIONED = replace(
    _FLAVOR, initialize={**_INITIALIZE, "capabilities": {"askUserQuestion": True}}
)
"""For a policy that says what becomes of questions; else the model can't ask any."""


@dataclass(frozen=True, slots=True, kw_only=True)
class CodeBuddy(Driver):
    """Drives CodeBuddy, one process a turn.

    The run works in a clone of the profile, by ``CODEBUDDY_CONFIG_DIR``; the
    home directory stays the user's. Settings, models, MCP servers,
    `CODEBUDDY.md`, agents, commands, skills, hooks and rules are copied, a
    login in a file is linked, conversations, memories, plugins and logs are
    left out.

    Installing a tool is the host's consent: hosted tools are allowed for the
    run, and nothing else is. What else the model may do is the profile's to
    say, or ``permission_mode``; what would need an approval, the tools of
    the user's own MCP servers included, is refused, or decided as the run's
    policy says. A plan that is denied ends the run: the CLI would wait for its
    user's next message, and know nothing any more then.

    The token reaches the model's shell, which inherits the CLI's environment;
    snapshots of that shell, which would write it into a file, are off.

    The CLI does not report that a tool failed: such a result is an event like
    that of a success. It asks the model without tools that were not there when
    it started, so a gateway that answers late ends the run with that reason.
    Agents that the model starts in the background end with the run.

    Args:
        command: A path, a name on ``PATH``, or one of those with arguments
            after it. Unset, ``codebuddy`` or ``cbc`` on ``PATH``, then the one
            of the Python package ``codebuddy-agent-sdk``.
        profile: The source profile, a directory that holds what `~/.codebuddy`
            does; it must exist. Unset it is ``CODEBUDDY_CONFIG_DIR`` or the
            user's own, which may be missing.
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

    provider: ClassVar[str] = "codebuddy"
    capabilities: ClassVar[Capabilities] = Capabilities(
        web_search=frozenset({"allow", "deny"}),
        approvals=APPROVALS,
        model=True,
        instructions=True,
        skills=True,
        mcp=frozenset({"stdio", "http"}),
        resources=frozenset({"agents", "config"}),
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
        check_arguments(self.extra_args, CODEBUDDY_OWN, CODEBUDDY_SHORT)
        check_choice("permission_mode", self.permission_mode, get_args(PermissionMode))
        check_choice("reasoning_effort", self.reasoning_effort, _EFFORTS)

    def preflight(self, check: Preflight) -> None:
        """Find the command and the profile, and servers that are in the way."""
        check_settings(check.resources.config, "CodeBuddy")
        environment = self._surroundings(check.environment)
        self._find(environment)
        source = self._source(environment)
        if check.server_key is None or check.variable is None:
            return
        for path in (source.servers, *project_files(check.workspace)):
            check_servers(path, check.server_key, check.variable)

    def seed(self, clone: Clone, environment: Mapping[str, str]) -> None:
        """Copy the settings and link the login."""
        self._source(self._surroundings(environment)).seed(clone)

    def prepare(self, request: TurnRequest) -> Launch:
        """Write the hosted server into the clone's configuration, and say how to start."""
        environment = {**_DEFAULTS, **self._surroundings(request.environment)}
        prefix = self._find(environment)
        server = request.server
        config = request.clone.profile / SERVERS
        variables = {
            "CODEBUDDY_CONFIG_DIR": str(request.clone.profile),
            # Snapshots hold the environment, and with it the token.
            "CODEBUDDY_DISABLE_SHELL_SNAPSHOT": "1",
        }
        if server is None:
            put_server(config, _SERVER_KEY, None)
        else:
            for path in project_files(request.workspace):
                check_servers(path, server.key, server.variable)
            put_server(config, server.key, server_entry(server), server.variable)
            variables[server.variable] = server.token.reveal()
            variables[_TIMEOUT] = _longer(environment.get(_TIMEOUT, ""), server.deadline)
        if request.resume is not None:
            _bring_home(request.clone, request.workspace, request.resume)
        put_skills(request)
        put_resources(request, ".codebuddy")
        return Launch(
            argv=(*prefix, *self._arguments(request)),
            environment=child_environment(environment, request.clone, variables),
            cwd=request.workspace,
            secrets=() if server is None else (server.token,),
            grace=self.grace,
        )

    def dialect(self, request: TurnRequest) -> Dialect:
        """Return the reader of one turn's records."""
        flavor = _FLAVOR if request.policy.approvals.question is None else _QUESTIONED
        return StreamJsonDialect(flavor, command=shown(self.command, _NAMES[0]), turn=request)

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
            product="CodeBuddy",
            model=self.model,
            permission_mode=self.permission_mode,
            reasoning_effort=self.reasoning_effort,
            extra=self.extra_args,
            more=_options(request),
        )


def _options(request: TurnRequest) -> list[str]:
    files = (request.clone.profile / SERVERS, *project_files(request.workspace))
    line = added_servers(request, files, _SERVER_KEY)
    if request.instructions is None:
        return line
    # There is no flag for a file of them, and the system bounds an argument.
    if len(request.instructions.encode(errors="replace")) > _LONGEST_INSTRUCTIONS:
        msg = (
            f"The instructions are longer than {_LONGEST_INSTRUCTIONS} bytes, more than "
            "CodeBuddy's command line takes. Shorten them, or give a skill."
        )
        raise ConfigurationError(msg)
    return [*line, "--append-system-prompt", request.instructions]


def _longer(users: str, deadline: float) -> str:
    ours = round((deadline + _SLACK) * 1000)
    return str(max(ours, int(users))) if users.isascii() and users.isdigit() else str(ours)


def _bring_home(clone: Clone, workspace: Path, session_id: str) -> None:
    """Move a conversation that another workspace began to where the CLI looks for it."""
    projects = clone.profile / "projects"
    home = projects / own_folder(workspace)
    if len(os.fsencode(home.name)) > _LONGEST_NAME or home.is_symlink():
        return
    for found in conversation_files(clone, session_id):
        path = clone.profile / found
        old = clone.profile / Path(*found.parts[:2])
        target = home / path.relative_to(old)
        if is_there(target):
            continue
        with reported("moved", path):
            target.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
            path.rename(target)
