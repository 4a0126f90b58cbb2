"""Which arguments of Claude Code's command line belong to the driver alone."""

from __future__ import annotations

from ..stream_json.flags import ELSEWHERE, OWN, PERMISSIONS, SERVERS, THREAD

__all__ = ["CLAUDE_OWN"]

CLAUDE_OWN = {
    **OWN,
    "--allow-dangerously-skip-permissions": PERMISSIONS,
    "--permission-prompts": PERMISSIONS,
    "--bare": SERVERS,
    "--restricted": SERVERS,
    "--safe-mode": SERVERS,
    "--from-pr": THREAD,
    "--cloud": ELSEWHERE,
    "--desktop": ELSEWHERE,
    "--environment": ELSEWHERE,
}
"""The flags that are the driver's, and why."""
