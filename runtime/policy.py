"""Whether a driver can do what a run's options ask for, before anything starts."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Literal, get_args

from ..errors import UnsupportedError
from ..messages.options import RunOptions
from ..messages.policy import ApprovalKind, Policy
from ..messages.resources import McpServer, StdioServer
from .drivers.interface import Capabilities

__all__ = ["check_mcp", "check_options"]

_KINDS: tuple[ApprovalKind, ...] = get_args(ApprovalKind)
_RESOURCES: tuple[Literal["agents", "config"], ...] = ("agents", "config")


def check_options(options: RunOptions, provider: str, capabilities: Capabilities) -> None:
    """Refuse what the driver can't do. An unset value asks for nothing.

    Args:
        options: The run's options.
        provider: The driver's provider name.
        capabilities: What the driver can do.

    Raises:
        UnsupportedError: Names the option, its value and what is possible.
    """
    _check_policy(options.policy, provider, capabilities)
    for name in ("model", "instructions", "skills"):
        value = getattr(options, name)
        if (value is not None and value != ()) and not getattr(capabilities, name):
            raise _unsupported(provider, name, value, ())
    check_mcp(options.mcp, provider, capabilities)
    for part in _RESOURCES:
        value = getattr(options.resources, part, None)
        if value and part not in capabilities.resources:
            raise _unsupported(provider, f"resources.{part}", value, ())


def check_mcp(servers: Iterable[McpServer], provider: str, capabilities: Capabilities) -> None:
    """Refuse MCP servers of a transport that the driver can't add to a turn.

    Raises:
        UnsupportedError: Names the server's key and what is possible.
    """
    for server in servers:
        transport = "stdio" if isinstance(server, StdioServer) else "http"
        if transport not in capabilities.mcp:
            option = f"mcp (the {transport} server {server.key})"
            raise _unsupported(provider, option, server, capabilities.mcp)


def _check_policy(policy: Policy, provider: str, capabilities: Capabilities) -> None:
    for name in ("sandbox", "web_search", "browser"):
        value, able = getattr(policy, name), getattr(capabilities, name)
        if value is not None and value not in able:
            raise _unsupported(provider, f"policy.{name}", value, able)
    for kind in _KINDS:
        mode, modes = policy.approvals.mode(kind), capabilities.approvals.get(kind, frozenset())
        if mode is not None and mode not in modes:
            raise _unsupported(provider, f"policy.approvals.{kind}", mode, modes)


def _unsupported(
    provider: str, option: str, value: object, able: Iterable[str]
) -> UnsupportedError:
    what = f"{option} = {value!r}" if isinstance(value, str) and len(value) < 40 else option
    choices = " or ".join(repr(choice) for choice in sorted(able))
    advice = f"choose {choices}, or leave it unset" if choices else "leave it unset"
    msg = f"The driver of {provider} can't do {what}; {advice}, or use another driver."
    return UnsupportedError(msg, provider=provider, option=option, value=value)
