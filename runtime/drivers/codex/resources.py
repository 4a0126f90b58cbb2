"""Agents and settings of an application, as Codex keeps them."""

from __future__ import annotations

import tomllib
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import tomlkit

from ....errors import ConfigurationError, UnsupportedError
from ....messages.resources import AgentDefinition, Resources
from ...profiles.agents import lay_agents, repository_folders
from ..interface import TurnRequest
from .config import read_config
from .flags import ELSEWHERE, PERMISSIONS, SETTINGS

__all__ = ["check_resources", "put_agents"]

_UNCHECKED = "servers of plugins would go unchecked; use the options `mcp` and `skills`"
_CONVERSATIONS = "conversations stay in the clone"
_SEARCH = "it is the policy's `web_search`"

_OWN = {
    **SETTINGS,
    "mcp_servers": "MCP servers are the option `mcp`",
    "model": "it is the option `model`",
    "sandbox_mode": "it is the policy's `sandbox`",
    "web_search": _SEARCH,
    "tools.web_search": _SEARCH,
    "agents": "agents are `Resources.agents`",
    "profiles": "its settings would go unchecked",
    "plugins": _UNCHECKED,
    "marketplaces": _UNCHECKED,
    "apps": PERMISSIONS,
    "auto_review": PERMISSIONS,
    "browser_use": PERMISSIONS,
    "computer_use": PERMISSIONS,
    "bypass_hook_trust": PERMISSIONS,
    "hooks": "Codex runs only hooks that its user has trusted; put them into the profile",
    "oss_provider": ELSEWHERE,
    "experimental_thread_store": _CONVERSATIONS,
    "experimental_thread_store_endpoint": _CONVERSATIONS,
}


def check_resources(resources: Resources) -> None:
    """Refuse what Codex can't do, and settings that are the driver's to decide.

    Raises:
        UnsupportedError: An agent names its tools.
        ConfigurationError: A setting can't be given; it is named, and what to
            use instead.
    """
    for agent in resources.agents:
        if agent.tools is not None:
            option = f"resources.agents (the tools of {agent.name})"
            msg = f"The driver of codex can't do {option}; leave them None, or use another driver."
            raise UnsupportedError(msg, provider="codex", option=option, value=agent.tools)
    for path, value in _settings(resources.config, ()):
        reason = _reason(path)
        if value is None:
            reason = "it is null, which TOML has no form for"
        if reason is not None:
            name = ".".join(path)
            msg = f"resources.config of Codex can't hold {name!r}: {reason}. Leave it out."
            raise ConfigurationError(msg)


def put_agents(request: TurnRequest) -> None:
    """Lay a turn's agents into the clone.

    Raises:
        ConfigurationError: There is another agent of that name.
        ProfileError: A file can't be read or written.
    """
    profile = request.clone.profile
    _check_roles(request.resources.agents, profile / "config.toml")
    lay_agents(
        {agent.name: _text(agent) for agent in request.resources.agents},
        profile / "agents",
        ".toml",
        others=repository_folders(request.workspace, ".codex/agents"),
        named=_declared,
    )


def _check_roles(agents: tuple[AgentDefinition, ...], config: Path) -> None:
    roles = read_config(config).get("agents") if agents else None
    taken = {name.casefold(): name for name in roles} if isinstance(roles, Mapping) else {}
    for agent in agents:
        if (other := taken.get(agent.name.casefold())) is not None:
            msg = (
                f"The agent {agent.name!r} has the name of agents.{other} in the profile's "
                "config.toml. Rename the one you add."
            )
            raise ConfigurationError(msg)


def _settings(value: Any, path: tuple[str, ...]) -> Iterator[tuple[tuple[str, ...], Any]]:
    """Return what is set, by where; the nulls in arrays as well."""
    if isinstance(value, Mapping):
        for name, each in value.items():
            yield from _settings(each, (*path, name))
        return
    yield path, value
    if isinstance(value, tuple):
        for each in value:
            yield from _settings(each, path)


def _reason(path: tuple[str, ...]) -> str | None:
    for name, reason in _OWN.items():
        own = tuple(name.split("."))
        shorter = min(len(own), len(path))
        if own[:shorter] == path[:shorter]:
            return reason
    return None


def _text(agent: AgentDefinition) -> str:
    values = {
        "name": agent.name,
        "description": agent.description,
        "developer_instructions": agent.instructions,
    }
    return tomlkit.dumps(values if agent.model is None else {**values, "model": agent.model})


def _declared(text: str) -> str | None:
    try:
        name = tomllib.loads(text).get("name")
    except (ValueError, RecursionError):
        return None
    return name if isinstance(name, str) else None
