"""What a turn adds to the profile, as layers over Codex's configuration."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

import tomlkit

from ....errors import ConfigurationError
from ....messages.json_values import plain_json
from ....messages.resources import McpServer, StdioServer
from ...profiles.files import is_there, reported, write_atomically
from ...profiles.given import digest_of
from ...profiles.servers import check_added
from ..interface import TurnRequest
from .config import read_config, server_names

__all__ = ["STARTUP", "check_instructions", "joined", "layer"]

STARTUP = 30
"""Seconds that Codex waits for the first answers of a server."""

_LONGEST = 120_000


def layer(request: TurnRequest, config: Path, others: Iterable[Path], ours: str) -> list[str]:
    """Write what a turn adds to the configuration, and return the arguments that name it.

    Runs may share a clone, so the file is named after its content.

    Args:
        request: The turn.
        config: The clone's configuration.
        others: Further files that Codex reads servers from.
        ours: The key of the hosted server.

    Raises:
        ServerConflictError: A server has a name that is taken, or mentions our
            variable.
        ProfileError: A file can't be read or written.
    """
    approved = request.policy.approvals.permission == "auto_approve"
    own = [name for name in server_names(config) if name != ours]
    servers: dict[str, Any] = {name: _mode() for name in own} if approved else {}
    if request.mcp:
        check_added(request.mcp, [*own, *_named(others)], request.server, ours)
        mode = _mode() if approved else {}
        servers |= {server.key: {**_entry(server), **mode} for server in request.mcp}
    config_of_turn = plain_json(request.resources.config)
    if not servers and not config_of_turn:
        return []
    text = tomlkit.dumps({**config_of_turn, **({"mcp_servers": servers} if servers else {})})
    name = f"toolcrib-{digest_of(text)}"
    path = config.with_name(f"{name}.config.toml")
    if not is_there(path):
        write_atomically(path, text.encode())
    return ["--profile", name]


def joined(instructions: str, config: Path) -> str:
    """Return instructions after those of the profile.

    Raises:
        ProfileError: The configuration can't be read or is malformed.
    """
    own = read_config(config).get("developer_instructions")
    return f"{own}\n\n{instructions}" if isinstance(own, str) and own else instructions


def check_instructions(instructions: str, rollouts: Sequence[Path] | None) -> None:
    """Check that Codex would follow instructions.

    Args:
        instructions: The instructions.
        rollouts: The files of the conversation to go on with; ``None`` for a new one.

    Raises:
        ConfigurationError: They are too long, or not those that the
            conversation began with: Codex keeps those, whatever it is told.
        ProfileError: A file can't be read.
    """
    if len(instructions.encode(errors="replace")) > _LONGEST:
        msg = (
            f"The instructions are longer than {_LONGEST} bytes, more than Codex's command "
            "line takes. Shorten them, or give a skill."
        )
        raise ConfigurationError(msg)
    if rollouts is not None and not any(_began_with(path, instructions) for path in rollouts):
        msg = (
            "Codex keeps the instructions that a conversation began with, and these are "
            "others. Start a new thread, or put them into the prompt."
        )
        raise ConfigurationError(msg)


def _mode() -> dict[str, Any]:
    return {"default_tools_approval_mode": "approve"}


def _named(files: Iterable[Path]) -> list[str]:
    return [name for file in files for name in server_names(file)]


def _entry(server: McpServer) -> dict[str, Any]:
    # Without `required` a turn may begin, and end, without the server's tools.
    waited = {"required": True, "startup_timeout_sec": STARTUP}
    if isinstance(server, StdioServer):
        command = {"command": server.command, "args": list(server.args)}
        return {**command, "env": dict(server.env), **waited}
    name = server.bearer_variable
    bearer = {} if name is None else {"bearer_token_env_var": name}
    return {"url": server.url, **bearer, **waited}


def _began_with(rollout: Path, instructions: str) -> bool:
    with reported("read", rollout), rollout.open("rb") as file:
        return any(_says(line, instructions) for line in file if b'"developer"' in line)


def _says(line: bytes, instructions: str) -> bool:
    try:
        payload = json.loads(line)["payload"]
        parts = payload["content"] if payload["role"] == "developer" else []
        return any(isinstance(p, Mapping) and p.get("text") == instructions for p in parts)
    except (ValueError, LookupError, TypeError, RecursionError):
        return False
