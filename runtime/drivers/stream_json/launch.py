"""What both command lines are started with: their arguments, our server's entry."""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

from ....messages.policy import Policy
from ....messages.turn import HostedServer
from ...profiles.given import lay_skills, lay_text
from ...profiles.mcp_json import server_names
from ...profiles.servers import check_added, json_entries
from ..interface import TurnRequest
from ..options import chosen_model
from .profile import check_session

__all__ = ["added_servers", "arguments", "decides", "put_skills", "server_entry"]

_SEARCH = "WebSearch"


def arguments(
    request: TurnRequest,
    *,
    product: str,
    model: str | None,
    permission_mode: str | None,
    reasoning_effort: str | None,
    extra: Sequence[str],
    more: Sequence[str],
) -> list[str]:
    """Return the arguments of one turn, without the command.

    Args:
        request: The turn.
        product: The product's name, for messages.
        model: The model, where the driver names one and the turn does not.
        permission_mode: The permission mode, where the driver names one.
        reasoning_effort: The effort, where the driver names one.
        extra: The application's own arguments.
        more: Arguments of this provider alone.

    Raises:
        ConfigurationError: The conversation's id, or the model, is none.
    """
    # The driver's come last, since of two values of a flag the last counts.
    line = [*extra, "-p", "--input-format", "stream-json"]
    line += ["--output-format", "stream-json", "--verbose", "--include-partial-messages"]
    chosen = chosen_model(request.model, model)
    if chosen is not None:
        line += ["--model", chosen]
    if permission_mode is not None:
        line += ["--permission-mode", permission_mode]
    if reasoning_effort is not None:
        line += ["--effort", reasoning_effort]
    if request.resume is not None:
        line += ["--resume", check_session(request.resume, product)]
    return [*line, *more, *_permissions(request.policy, request.server)]


def _permissions(policy: Policy, server: HostedServer | None) -> list[str]:
    allowed = []
    # What is allowed here the provider does not ask about.
    if server is not None and policy.approvals.permission in {None, "auto_approve"}:
        allowed.append(f"mcp__{server.key}")
    if policy.web_search == "allow":
        allowed.append(_SEARCH)
    line = ["--disallowedTools", _SEARCH] if policy.web_search == "deny" else []
    return [*line, "--allowedTools", ",".join(allowed)] if allowed else line


def decides(policy: Policy) -> bool:
    """Tell whether a policy says who decides about anything."""
    asked = policy.approvals
    return any((asked.permission, asked.plan_review, asked.question))


def added_servers(request: TurnRequest, files: Iterable[Path], ours: str) -> list[str]:
    """Return the arguments that add a turn's MCP servers to those of the profile.

    Args:
        request: The turn.
        files: The files that other servers are read from.
        ours: The key of the hosted server.

    Raises:
        ServerConflictError: One has a name that is taken, or mentions our variable.
        ProfileError: A file can't be read or written.
    """
    if not request.mcp:
        return []
    taken = [name for file in files for name in server_names(file) if name != ours]
    check_added(request.mcp, taken, request.server, ours)
    text = json.dumps({"mcpServers": json_entries(request.mcp)})
    return ["--mcp-config", str(lay_text(request.clone, "servers.json", text))]


def put_skills(request: TurnRequest) -> None:
    """Lay a turn's skills into the clone.

    Raises:
        ConfigurationError: The profile has another of that name.
        ProfileError: One can't be read or written.
    """
    lay_skills(request.clone, request.skills, request.clone.profile / "skills")


def server_entry(server: HostedServer) -> dict[str, Any]:
    """Return our server as the provider's configuration names it."""
    return {
        "type": "http",
        "url": server.url,
        "headers": {"Authorization": f"Bearer ${{{server.variable}}}"},
        # Without it the tools are hidden behind a search, and not waited for.
        "alwaysLoad": True,
    }
