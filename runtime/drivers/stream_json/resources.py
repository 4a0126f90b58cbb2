"""Agents and settings of an application, as both profiles keep them."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from typing import Any

from ....errors import ConfigurationError
from ....messages.json_values import plain_json
from ....messages.resources import AgentDefinition
from ...profiles.agents import lay_agents, repository_folders
from ...profiles.mcp_json import read_object, write_object
from ..interface import TurnRequest
from .flags import ELSEWHERE

__all__ = ["agent_text", "check_settings", "put_resources"]

_SERVERS = "MCP servers are the option `mcp`"
_PERMISSIONS = "what the agent may do is the option `policy`, or the driver's `permission_mode`"
_PLUGINS = "servers of plugins would go unchecked; use the options `mcp` and `skills`"
_EFFORT = "it is the driver's `reasoning_effort`"

_OWN = {
    "model": "it is the option `model`",
    "env": "it is the driver's `environment`",
    "effort": _EFFORT,
    "effortlevel": _EFFORT,
    "reasoningeffort": _EFFORT,
    "cleanupperioddays": "conversations would not be kept",
}
# Providers have several settings of each of these, and get further ones.
_OWN_WORDS = {
    "mcp": _SERVERS,
    "permission": _PERMISSIONS,
    "sandbox": _PERMISSIONS,
    "automode": _PERMISSIONS,
    "autoapprove": _PERMISSIONS,
    "bypass": _PERMISSIONS,
    "trust": _PERMISSIONS,
    "plugin": _PLUGINS,
    "marketplace": _PLUGINS,
    "remote": ELSEWHERE,
    "channel": ELSEWHERE,
}

_FRONT = re.compile(r"\A\ufeff?---[ \t]*\n(.*?)^---[ \t]*$", re.DOTALL | re.MULTILINE)
_NAME = re.compile(r"^name[ \t]*:[ \t]*(.*?)[ \t]*$", re.MULTILINE)
# What YAML takes for a line's end, or not at all, though JSON leaves it as it is.
_UNPRINTABLE = re.compile("[\x7f-\x9f\u2028\u2029\ufeff\ufffe\uffff]")


def check_settings(config: Mapping[str, Any], product: str) -> None:
    """Refuse settings that are the driver's to decide.

    Args:
        config: The settings to lay over the profile's.
        product: The product's name, for messages.

    Raises:
        ConfigurationError: There is one; it is named, and what to use instead.
    """
    for name in config:
        key = name.casefold()
        reasons = (reason for word, reason in _OWN_WORDS.items() if word in key)
        reason = _OWN.get(key) or next(reasons, None)
        if reason is not None:
            msg = f"resources.config of {product} can't hold {name!r}: {reason}. Leave it out."
            raise ConfigurationError(msg)


def put_resources(request: TurnRequest, folder: str) -> None:
    """Lay a turn's agents and settings into the clone.

    Args:
        request: The turn.
        folder: The folder of a repository that the provider reads, such as ``.claude``.

    Raises:
        ConfigurationError: There is another agent of that name.
        ProfileError: A file can't be read or written.
    """
    profile = request.clone.profile
    lay_agents(
        {agent.name: agent_text(agent) for agent in request.resources.agents},
        profile / "agents",
        ".md",
        others=repository_folders(request.workspace, f"{folder}/agents"),
        named=_declared,
    )
    config = plain_json(request.resources.config)
    settings = profile / "settings.json"
    before = read_object(settings) if config else {}
    after = _merged(before, config)
    if after != before:
        write_object(settings, after)


def agent_text(agent: AgentDefinition) -> str:
    """Return an agent's file: front matter in YAML, and the instructions."""
    lines = [f"name: {_quoted(agent.name)}", f"description: {_quoted(agent.description)}"]
    if agent.model is not None:
        lines.append(f"model: {_quoted(agent.model)}")
    if agent.tools is not None:
        lines.append(f"tools: [{', '.join(map(_quoted, agent.tools))}]")
    front = "\n".join(lines)
    return f"---\n{front}\n---\n\n{agent.instructions}\n"


def _quoted(text: str) -> str:
    # JSON's strings are YAML's, except for a few characters.
    quoted = json.dumps(text, ensure_ascii=False)
    return _UNPRINTABLE.sub(lambda found: f"\\u{ord(found[0]):04x}", quoted)


def _declared(text: str) -> str | None:
    front = _FRONT.match(text.replace("\r\n", "\n"))
    found = _NAME.search(front[1]) if front else None
    return found[1].strip("\"'") if found else None


def _merged(below: Mapping[str, Any], over: Mapping[str, Any]) -> dict[str, Any]:
    merged = dict(below)
    for name, value in over.items():
        own = merged.get(name)
        if isinstance(own, Mapping) and isinstance(value, Mapping):
            merged[name] = _merged(own, value)
        else:
            merged[name] = value
    return merged
