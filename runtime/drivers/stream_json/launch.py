"""What both command lines are started with: their arguments, our server's entry."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from ....messages.turn import HostedServer
from ..interface import TurnRequest
from .profile import check_session

__all__ = ["arguments", "server_entry"]


def arguments(
    request: TurnRequest,
    *,
    product: str,
    model: str | None,
    permission_mode: str | None,
    reasoning_effort: str | None,
    extra: Sequence[str],
) -> list[str]:
    """Return the arguments of one turn, without the command.

    Args:
        request: The turn.
        product: The product's name, for messages.
        model: The model, where the driver names one.
        permission_mode: The permission mode, where the driver names one.
        reasoning_effort: The effort, where the driver names one.
        extra: The application's own arguments.

    Raises:
        ConfigurationError: The conversation's id is none.
    """
    # The driver's come last, since of two values of a flag the last counts.
    line = [*extra, "-p", "--input-format", "stream-json"]
    line += ["--output-format", "stream-json", "--verbose", "--include-partial-messages"]
    if model is not None:
        line += ["--model", model]
    if permission_mode is not None:
        line += ["--permission-mode", permission_mode]
    if reasoning_effort is not None:
        line += ["--effort", reasoning_effort]
    if request.resume is not None:
        line += ["--resume", check_session(request.resume, product)]
    if request.server is not None:
        line += ["--allowedTools", f"mcp__{request.server.key}"]
    return line


def server_entry(server: HostedServer) -> dict[str, Any]:
    """Return our server as the provider's configuration names it."""
    return {
        "type": "http",
        "url": server.url,
        "headers": {"Authorization": f"Bearer ${{{server.variable}}}"},
        # Without it the tools are hidden behind a search, and not waited for.
        "alwaysLoad": True,
    }
