"""Checks and copies of what an application gives a provider."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

from ..errors import ConfigurationError, ServerConflictError
from ..messages.frozen import FrozenMap
from ..messages.resources import (
    AgentDefinition,
    HttpServer,
    McpServer,
    Resources,
    Skill,
    StdioServer,
)
from .spec import SERVER_KEY

__all__ = ["checked_resources", "checked_servers", "checked_skills", "joined_skills"]

_KEY = re.compile(r"[A-Za-z0-9_-]{1,64}")
_VARIABLE = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")


def checked_servers(given: Iterable[McpServer]) -> tuple[McpServer, ...]:
    """Return copies of MCP servers that go together.

    Raises:
        TypeError: Something is of the wrong type.
        ValueError: A key, a command, a URL or a variable can't be one.
        ServerConflictError: A key is ours, or is there twice.
    """
    servers = tuple(map(_checked_server, given))
    seen: set[str] = set()
    for server in servers:
        key = server.key.lower()
        if key == SERVER_KEY:
            msg = f"The MCP server key {server.key!r} is that of the Agent's tools; use another."
            raise ServerConflictError(msg)
        if key in seen:
            msg = f"Two MCP servers have the key {server.key!r}; rename one."
            raise ServerConflictError(msg)
        seen.add(key)
    return servers


def checked_skills(given: Iterable[Skill]) -> tuple[Skill, ...]:
    """Return copies of skills that go together; see `joined_skills`.

    Raises:
        TypeError: Something is of the wrong type.
        ValueError: A name can't be one, or not exactly one of path and content is given.
        ConfigurationError: A folder has no ``SKILL.md``, or two skills share a name.
    """
    return joined_skills((), tuple(map(_checked_skill, given)))


def joined_skills(first: tuple[Skill, ...], then: tuple[Skill, ...]) -> tuple[Skill, ...]:
    """Return the skills of both, equal ones once.

    Raises:
        ConfigurationError: Two that differ have the same name.
    """
    found: dict[str, Skill] = {}
    for skill in (*first, *then):
        key = skill.name.lower()  # not every file system tells them apart
        if found.setdefault(key, skill) != skill:
            msg = f"Two different skills have the name {skill.name!r}; rename one, or give one."
            raise ConfigurationError(msg)
    return tuple(found.values())


def checked_resources(given: object) -> Resources:
    """Return a copy of resources whose agents go together.

    Raises:
        TypeError: Something is of the wrong type.
        ValueError: A name can't be one, or a text is empty.
        ConfigurationError: Two agents share a name.
    """
    if not isinstance(given, Resources):
        msg = f"resources is a {type(given).__name__}; pass Resources(...)."
        raise TypeError(msg)
    agents = tuple(map(_checked_agent, given.agents))
    names: set[str] = set()
    for agent in agents:
        if agent.name.lower() in names:  # not every file system tells them apart
            msg = f"Two agents have the name {agent.name!r}; rename one."
            raise ConfigurationError(msg)
        names.add(agent.name.lower())
    return replace(given, agents=agents)


def _checked_agent(agent: object) -> AgentDefinition:
    if not isinstance(agent, AgentDefinition):
        msg = f"resources.agents holds a {type(agent).__name__}; pass an AgentDefinition."
        raise TypeError(msg)
    where = f"Agent {agent.name!r:.80}"
    if not isinstance(agent.name, str) or not _KEY.fullmatch(agent.name):
        msg = f"{where}: its name can't be one; use 1 to 64 of letters, digits, - and _."
        raise ValueError(msg)
    if isinstance(agent.tools, str):
        msg = f"{where}: tools is one str; pass a tuple of names."
        raise TypeError(msg)
    tools = None if agent.tools is None else tuple(agent.tools)
    texts = {"description": agent.description, "instructions": agent.instructions}
    texts |= {} if agent.model is None else {"model": agent.model}
    texts |= {f"tools[{n}]": name for n, name in enumerate(tools or ())}
    for name, text in texts.items():
        _check_text(text, f"{where}: its {name}")
        if not text.strip():
            msg = f"{where}: its {name} is empty; say something, or leave the agent out."
            raise ValueError(msg)
    if tools == ():
        msg = f"{where}: tools is empty; name one at least, or pass None."
        raise ValueError(msg)
    return replace(agent, tools=tools)


def _checked_server(server: object) -> McpServer:
    if not isinstance(server, StdioServer | HttpServer):
        msg = f"mcp holds a {type(server).__name__}; pass a StdioServer or an HttpServer."
        raise TypeError(msg)
    where = f"MCP server {server.key!r:.80}"
    if not isinstance(server.key, str) or not _KEY.fullmatch(server.key):
        msg = f"{where}: its key can't be one; use 1 to 64 of letters, digits, - and _."
        raise ValueError(msg)
    return (
        _checked_stdio(server, where)
        if isinstance(server, StdioServer)
        else _checked_http(server, where)
    )


def _checked_stdio(server: StdioServer, where: str) -> StdioServer:
    if isinstance(server.args, str):
        msg = f"{where}: args is one str; pass a tuple of them."
        raise TypeError(msg)
    args = tuple(server.args)
    for text in (server.command, *args):
        _check_text(text, f"{where}: its command and args")
    if not server.command:
        msg = f"{where}: its command is empty; name the program to start."
        raise ValueError(msg)
    if not isinstance(server.env, Mapping):
        msg = f"{where}: env is a {type(server.env).__name__}; pass a mapping of str to str."
        raise TypeError(msg)
    for name, value in server.env.items():
        _check_variable(name, where)
        _check_text(value, f"{where}: the values of env")
    return replace(server, args=args, env=FrozenMap(server.env))


def _checked_http(server: HttpServer, where: str) -> HttpServer:
    _check_text(server.url, f"{where}: its url")
    parts = urlsplit(server.url)
    if parts.scheme not in {"http", "https"} or not parts.hostname:
        msg = f"{where}: its url is none of http or https; pass one such as https://host/mcp."
        raise ValueError(msg)
    if parts.username is not None or parts.password is not None:
        msg = f"{where}: its url holds a login; put the token into bearer_variable's variable."
        raise ValueError(msg)
    if server.bearer_variable is not None:
        _check_variable(server.bearer_variable, where)
    return server


def _checked_skill(skill: object) -> Skill:
    if not isinstance(skill, Skill):
        msg = f"skills holds a {type(skill).__name__}; pass a Skill."
        raise TypeError(msg)
    where = f"Skill {skill.name!r:.80}"
    if not isinstance(skill.name, str) or not _KEY.fullmatch(skill.name):
        msg = f"{where}: its name can't be one; use 1 to 64 of letters, digits, - and _."
        raise ValueError(msg)
    if (skill.path is None) == (skill.content is None):
        msg = f"{where}: give either path or content."
        raise ValueError(msg)
    if skill.path is None:
        _check_text(skill.content, f"{where}: its content")
        return skill
    path = Path(skill.path).absolute()
    if not (path / "SKILL.md").is_file():
        msg = f"{where}: there is no SKILL.md in {path}; name the folder that holds it."
        raise ConfigurationError(msg)
    return replace(skill, path=path)


def _check_variable(name: Any, where: str) -> None:
    if not isinstance(name, str) or not _VARIABLE.fullmatch(name):
        msg = f"{where}: {name!r:.80} can't be a variable's name; use letters, digits and _."
        raise ValueError(msg)


def _check_text(value: object, what: str) -> None:
    # No value in the message: it may be a secret.
    if not isinstance(value, str):
        msg = f"{what} hold a {type(value).__name__}; pass str."
        raise TypeError(msg)
    if "\0" in value:
        msg = f"{what} hold a NUL character; leave it out."
        raise ValueError(msg)
