"""Which arguments of CodeBuddy's command line belong to the driver alone."""

from __future__ import annotations

from ..stream_json.flags import ELSEWHERE, NOTHING, OWN, PERMISSIONS, SHORT, THREAD

__all__ = ["CODEBUDDY_OWN", "CODEBUDDY_SHORT"]

CODEBUDDY_OWN = {
    **OWN,
    "--permission-mode-before-plan": PERMISSIONS,
    "--subagent-permission-mode": PERMISSIONS,
    "--resume-create-missing": THREAD,
    "--worktree-branch": "the workspace comes from the run",
    "--tmux-classic": "the workspace comes from the run",
    "--header": "everybody can read it there; use `environment`",
    "--acp": ELSEWHERE,
    "--acp-transport": ELSEWHERE,
    "--serve": ELSEWHERE,
    "--sandbox": ELSEWHERE,
    "--sandbox-upload-dir": ELSEWHERE,
    "--sandbox-new": ELSEWHERE,
    "--sandbox-id": ELSEWHERE,
    "--sandbox-kill": ELSEWHERE,
    "--channels": ELSEWHERE,
    "--dangerously-load-development-channels": ELSEWHERE,
    "--swarm": ELSEWHERE,
    "--exec": NOTHING,
}
"""The flags that are the driver's, and why."""
CODEBUDDY_SHORT = {
    **SHORT,
    "y": "--dangerously-skip-permissions",
    "H": "--header",
    "V": "--version",
}
"""The letters of some of them."""
