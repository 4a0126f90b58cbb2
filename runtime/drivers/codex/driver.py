"""The Codex driver: what to start, with which profile."""

from __future__ import annotations

import importlib
import os
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path, PurePosixPath
from types import MappingProxyType
from typing import Any, ClassVar, Literal, get_args

import tomlkit

from ....errors import ConfigurationError, ProviderNotFoundError
from ....messages.turn import HostedServer, Launch
from ...profiles.clone import Clone
from ...profiles.given import lay_skills
from ..environment import child_environment
from ..executable import find_command
from ..interface import Capabilities, Dialect, Driver, Preflight, TurnRequest
from ..options import chosen_model, settle
from .config import check_config, excluded, other_files, put_server
from .dialect import CodexDialect
from .flags import check_arguments
from .given import STARTUP, check_instructions, joined, layer
from .output import output_arguments, worded
from .resources import check_resources, put_agents
from .source import Source, find_source
from .usage import spent

__all__ = ["Codex", "Sandbox"]

Sandbox = Literal["read-only", "workspace-write", "danger-full-access"]
"""What the model's shell commands may do."""

_NAME = "codex"
_SERVER_KEY = "toolcrib"
# Anything else Codex takes for a conversation's name, and starts a new one
# where it does not know it.
_THREAD_ID = re.compile(r"[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}")
_EFFORT = re.compile(r"[a-z]{1,20}")
_SLACK = 30
"""Seconds that Codex waits for a tool longer than the gateway does."""
_SANDBOXES: Mapping[str, Sandbox] = {
    "read_only": "read-only",
    "workspace_write": "workspace-write",
    "unrestricted": "danger-full-access",
}
_SEARCHES = {"allow": "live", "deny": "disabled"}


@dataclass(frozen=True, slots=True, kw_only=True)
class Codex(Driver):
    """Drives the Codex CLI by ``codex exec --json``, one process a turn.

    The run works in a clone of the profile, by ``CODEX_HOME``; the home
    directory stays the user's. Settings, MCP servers, instructions, skills,
    rules, prompts, agents and hooks are copied, logins in files are linked,
    conversations, memories, plugins and databases are left out. A login in the
    system's keyring belongs to the profile's path, so a clone does not have it.
    A file that `config.toml` names by a relative path has to be one of those
    that are copied.

    Installing a tool is the host's consent: calls of hosted tools are approved
    in the clone's `config.toml`, and nothing else is. What the model's shell
    may do is the profile's to say, or ``sandbox``; Codex asks nobody in this
    mode, and refuses what would need an approval. Under a policy that approves
    everything, the tools of the profile's other MCP servers are approved too.

    The token is kept out of the model's shell and of shell snapshots, whatever
    the profile or a repository says. A repository's own `.codex/config.toml`
    counts for Codex where it may write in the workspace, so one that has a
    server of our name is refused.

    Codex counts tokens over a whole conversation; the usage of a run is the
    difference, and unknown where the conversation's file does not tell it.

    Args:
        command: A path, a name on ``PATH``, or one of those with arguments
            after it. Unset, ``codex`` on ``PATH``, then the one of the Python
            package ``openai-codex-cli-bin``.
        profile: The source profile, a directory that holds what `~/.codex`
            does; it must exist. Unset it is ``CODEX_HOME`` or the user's own,
            which may be missing.
        model: The model's name. Unset, the profile or the CLI chooses.
        sandbox: What the model's shell commands may do. Unset, the profile or
            the CLI chooses.
        reasoning_effort: How much the model should think, such as ``high``.
            Unset, the profile or the CLI chooses.
        environment: Variables to add to the process's environment.
        extra_args: Further arguments of ``codex exec``.
        grace: Seconds between asking the process to end and ending its group.

    Raises:
        ConfigurationError: An argument can't be used; it is named.
    """

    provider: ClassVar[str] = "codex"
    capabilities: ClassVar[Capabilities] = Capabilities(
        sandbox=frozenset({"read_only", "workspace_write", "unrestricted"}),
        web_search=frozenset({"allow", "deny"}),
        approvals=MappingProxyType({"permission": frozenset({"auto_approve"})}),
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
    sandbox: Sandbox | None = None
    reasoning_effort: str | None = None
    environment: Mapping[str, str] = field(default_factory=dict, repr=False, hash=False)
    extra_args: Sequence[str] = ()
    grace: float = 2.0

    def __post_init__(self) -> None:
        settle(self)
        check_arguments(self.extra_args)
        if self.sandbox is not None and self.sandbox not in get_args(Sandbox):
            known = ", ".join(get_args(Sandbox))
            msg = f"sandbox is {self.sandbox!r}. Choose one of {known}."
            raise ConfigurationError(msg)
        effort = self.reasoning_effort
        if effort is not None and not _EFFORT.fullmatch(effort):
            msg = f"reasoning_effort is {effort!r}. Give a word such as 'high'."
            raise ConfigurationError(msg)

    def preflight(self, check: Preflight) -> None:
        """Find the command and the profile, and settings that are in the way."""
        check_resources(check.resources)
        environment = self._surroundings(check.environment)
        self._find(environment)
        source = self._source(environment)
        files = (source.config, *other_files(check.workspace, source.profile))
        excluded(files)
        if check.server_key is None or check.variable is None:
            return
        for path in files:
            check_config(path, check.server_key, check.variable)

    def seed(self, clone: Clone, environment: Mapping[str, str]) -> None:
        """Copy the settings and link the logins."""
        self._source(self._surroundings(environment)).seed(clone)

    def prepare(self, request: TurnRequest) -> Launch:
        """Write the hosted server into the clone's configuration, and say how to start."""
        environment = self._surroundings(request.environment)
        prefix = self._find(environment)
        server = request.server
        config = request.clone.profile / "config.toml"
        others = other_files(request.workspace, self._source(environment).profile)
        variables = {"CODEX_HOME": str(request.clone.profile)}
        if server is None:
            put_server(config, _SERVER_KEY, None)
        else:
            for path in others:
                check_config(path, server.key, server.variable)
            put_server(config, server.key, _entry(server))
            variables[server.variable] = server.token.reveal()
        lay_skills(request.clone, request.skills, request.clone.profile / "skills")
        put_agents(request)
        settings = _settings(request, (config, *others))
        added = layer(request, config, others, _SERVER_KEY)
        added += output_arguments(request.clone, request.output)
        self._check_instructions(request)
        return Launch(
            argv=(*prefix, "exec", *self._arguments(request, settings, added)),
            environment=child_environment(environment, request.clone, variables),
            cwd=request.workspace,
            secrets=() if server is None else (server.token,),
            grace=self.grace,
        )

    def dialect(self, request: TurnRequest) -> Dialect:
        """Return the reader of one turn's records."""
        resume = request.resume
        files = () if resume is None else self.conversation_files(request.clone, resume)
        before = spent(request.clone.profile / files[0]) if files else None
        return CodexDialect(
            command=self._shown_command(),
            prompt=worded(request.prompt, request.output),
            server_key=None if request.server is None else request.server.key,
            resume=resume,
            spent={} if resume is None else before,
            typed=request.output is not None,
        )

    def conversation_files(self, clone: Clone, session_id: str) -> tuple[PurePosixPath, ...]:
        """Return the files below `sessions` whose name ends with the id."""
        sessions = clone.profile / "sessions"
        if sessions.is_symlink() or not session_id:
            return ()
        found: list[PurePosixPath] = []
        for parent, _names, files in os.walk(sessions):
            for name in files:
                path = Path(parent, name)
                regular = path.is_file() and not path.is_symlink()
                if regular and name.partition(".")[0].endswith(f"-{session_id}"):
                    found.append(PurePosixPath(path.relative_to(clone.profile)))
        return tuple(sorted(found))

    def _surroundings(self, base: Mapping[str, str]) -> dict[str, str]:
        return {**base, **self.environment}

    def _source(self, environment: Mapping[str, str]) -> Source:
        return find_source(None if self.profile is None else Path(self.profile), environment)

    def _find(self, environment: Mapping[str, str]) -> tuple[str, ...]:
        try:
            return find_command(self.command, (_NAME,), environment)
        except ProviderNotFoundError:
            packaged = _packaged() if self.command is None else None
            if packaged is None:
                raise
            return (packaged,)

    def _shown_command(self) -> str:
        if self.command is None:
            return _NAME
        return self.command if isinstance(self.command, str) else " ".join(self.command)

    def _check_instructions(self, request: TurnRequest) -> None:
        if request.instructions is None:
            return
        found = self.conversation_files(request.clone, request.resume or "")
        rollouts = [request.clone.profile / file for file in found]
        text = joined(request.instructions, request.clone.profile / "config.toml")
        check_instructions(text, rollouts if request.resume else None)

    def _arguments(
        self, request: TurnRequest, settings: Mapping[str, Any], added: Sequence[str]
    ) -> list[str]:
        # The driver's come last, since of two values of a setting the last counts.
        arguments = [*self.extra_args, "--json", "--skip-git-repo-check", *added]
        policy, model = request.policy, chosen_model(request.model, self.model)
        sandbox = _SANDBOXES[policy.sandbox] if policy.sandbox else self.sandbox
        if model is not None:
            arguments += ["--model", model]
        if sandbox is not None:
            arguments += ["--sandbox", sandbox]
        if self.reasoning_effort is not None:
            settings = {**settings, "model_reasoning_effort": self.reasoning_effort}
        for name, value in settings.items():
            arguments += ["--config", f"{name}={tomlkit.item(value).as_string()}"]
        if request.resume is not None:
            if not _THREAD_ID.fullmatch(request.resume):
                msg = f"{request.resume!r} is no conversation of Codex. Start a new thread."
                raise ConfigurationError(msg)
            arguments += ["resume", request.resume]
        return [*arguments, "-"]


def _entry(server: HostedServer) -> dict[str, Any]:
    return {
        "url": server.url,
        "bearer_token_env_var": server.variable,
        # Without it a turn may begin, and end, without the tools.
        "required": True,
        "default_tools_approval_mode": "approve",
        "startup_timeout_sec": STARTUP,
        "tool_timeout_sec": server.deadline + _SLACK,
    }


def _settings(request: TurnRequest, files: Iterable[Path]) -> dict[str, Any]:
    """Return what holds for this process whatever a configuration file says.

    On the command line, since a repository's file is read over the clone's.
    """
    profile = request.clone.profile
    settings: dict[str, Any] = {"sqlite_home": str(profile), "log_dir": str(profile / "log")}
    if request.server is not None:
        patterns = dict.fromkeys((*excluded(files), request.server.variable))
        settings["shell_environment_policy.exclude"] = list(patterns)
        settings["features.shell_snapshot"] = False
    if request.policy.web_search is not None:
        settings["web_search"] = _SEARCHES[request.policy.web_search]
    if request.instructions is not None:
        settings["developer_instructions"] = joined(request.instructions, profile / "config.toml")
    return settings


def _packaged() -> str | None:
    try:
        package = importlib.import_module("codex_cli_bin")
        return str(package.bundled_codex_path())
    except (ImportError, AttributeError, OSError):
        return None
