"""Which arguments of both command lines belong to the driver alone."""

from __future__ import annotations

__all__ = ["ELSEWHERE", "FORMAT", "NOTHING", "OWN", "PERMISSIONS", "SERVERS", "SHORT", "THREAD"]

FORMAT = "the driver speaks one format"
"""Why flags of the transport are refused."""
THREAD = "the conversation comes from the thread"
"""Why flags that choose a conversation are refused."""
PERMISSIONS = "it would change what the agent may do"
"""Why flags of permissions are refused."""
SERVERS = "the hosted tools could be lost, and other servers would go unchecked"
"""Why flags that change the MCP servers are refused."""
ELSEWHERE = "the run has to stay in this process"
"""Why flags that move the run elsewhere are refused."""
NOTHING = "nothing would run"
"""Why flags that only tell something are refused."""
_INSTRUCTIONS = "it is the option `instructions`"
_WORKSPACE = "the workspace comes from the run"

OWN = {
    "--print": "the driver always prints",
    "--input-format": FORMAT,
    "--output-format": FORMAT,
    "--verbose": FORMAT,
    "--json-schema": FORMAT,
    "--include-partial-messages": FORMAT,
    "--replay-user-messages": FORMAT,
    "--resume": THREAD,
    "--continue": THREAD,
    "--session-id": THREAD,
    "--fork-session": THREAD,
    "--no-session-persistence": "the conversation would not be kept",
    "--model": "it is the driver's `model`",
    "--effort": "it is the driver's `reasoning_effort`",
    "--permission-mode": "it is the driver's `permission_mode`",
    "--permission-prompt-tool": PERMISSIONS,
    "--dangerously-skip-permissions": PERMISSIONS,
    "--tools": PERMISSIONS,
    "--allowedTools": PERMISSIONS,
    "--allowed-tools": PERMISSIONS,
    "--disallowedTools": PERMISSIONS,
    "--disallowed-tools": PERMISSIONS,
    "--add-dir": PERMISSIONS,
    "--append-system-prompt": _INSTRUCTIONS,
    "--append-system-prompt-file": _INSTRUCTIONS,
    "--settings": "its settings would go unchecked; use the driver's `profile`",
    "--setting-sources": "the profile is the driver's `profile`",
    "--mcp-config": SERVERS,
    "--strict-mcp-config": SERVERS,
    "--worktree": _WORKSPACE,
    "--tmux": _WORKSPACE,
    "--ide": ELSEWHERE,
    "--bg": ELSEWHERE,
    "--background": ELSEWHERE,
    "--remote-control": ELSEWHERE,
    "--teleport": ELSEWHERE,
    "--help": NOTHING,
    "--version": NOTHING,
}
"""The flags that both have, and why they are refused."""
SHORT = {
    "p": "--print",
    "r": "--resume",
    "c": "--continue",
    "w": "--worktree",
    "h": "--help",
    "v": "--version",
}
"""The letters of some of them."""
