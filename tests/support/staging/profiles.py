"""What a user of each provider has: a profile, a login or key, another MCP server."""

from __future__ import annotations

import json
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from toolcrib.testing import ModelServer

__all__ = ["Profile", "commands", "prepare"]

_NOTES = Path(__file__).with_name("notes_server.py")

# The provider's own binary, after something was done to its surroundings.
_WRAPPERS = {
    "record": 'exec "$@" > >(tee -a "$RECORD.out") 2> >(tee -a "$RECORD.err" >&2)',
    "unset": 'for name in ${!TOOLCRIB_TOKEN_@}; do unset "$name"; done; exec "$@"',
    "wrong": 'for name in ${!TOOLCRIB_TOKEN_@}; do export "$name=wrong"; done; exec "$@"',
    "door": 'sed -i "s#127.0.0.1:$GATEWAY/#127.0.0.1:$DOOR/#" "$CONFIG" && exec "$@"',
}
_CONFIGS = {
    "codex": "$CODEX_HOME/config.toml",
    "claude": "$CLAUDE_CONFIG_DIR/.claude.json",
    "codebuddy": "$CODEBUDDY_CONFIG_DIR/.mcp.json",
}

_CODEX = """
[mcp_servers.notes]  # the user's own
command = {python}
args = [{server}]
default_tools_approval_mode = "approve"
"""


@dataclass(frozen=True)
class Profile:
    """A source profile.

    Args:
        options: The driver's options that lead to it.
        sources: The directories that may not change.
    """

    options: dict[str, Any]
    sources: tuple[str, ...]


def prepare(scene: dict[str, Any], folder: Path, model: ModelServer) -> Profile:
    """Write a source profile as a user would have it."""
    source = folder / "source"
    match scene["provider"]:
        case "codex":
            setup = model.codex_profile(source)
            _codex(source, unboxed=scene.get("unboxed", False))
        case "claude":
            setup = model.claude_profile(source)
            _claude(source, scene)
        case "codebuddy":
            setup = model.codebuddy_profile(source)
            _codebuddy(source, scene)
        case "cursor":
            source.mkdir()
            (source / "cli-config.json").write_text('{"version": 1}')
            script = json.loads(scene["script"])
            options = {"script": script, "profile": str(source), "directory": str(folder)}
            return Profile(options, (str(source),))
        case "cursor-sdk":
            source.mkdir()
            (source / "cli-config.json").write_text('{"version": 1}')
            options = {"profile": str(source), "command": scene["runtime"]}
            return Profile(options, (str(source),))
        case _:
            return Profile({}, ())
    options = {
        "profile": str(source),
        "model": setup.model,
        "environment": dict(setup.environment),
        **scene.get("driver", {}),
    }
    return Profile(options, (str(source),))


def commands(scene: dict[str, Any], host: dict[str, Any]) -> dict[str, Any]:
    """Return the driver's ``command``, where the scene names one."""
    if "command" not in scene:
        return {}
    if "wrapper" not in host:
        return {"command": scene["command"]}
    script = f'CONFIG="{_CONFIGS[scene["provider"]]}"; {_WRAPPERS[host["wrapper"]]}'
    return {"command": ["bash", "-c", script, "provider", scene["command"]]}


def _codex(source: Path, *, unboxed: bool) -> None:
    config = source / "config.toml"
    # Where the sandbox is off, Codex asks for no approval of any tool.
    sandbox = "danger-full-access" if unboxed else "read-only"
    own = _CODEX.format(python=json.dumps(sys.executable), server=json.dumps(str(_NOTES)))
    # A key of the document's top has to come before its first table.
    config.write_text(f'# Mine.\nsandbox_mode = "{sandbox}"\n{config.read_text()}{own}')
    (source / "auth.json").write_text('{"OPENAI_API_KEY": "of the user"}\n')
    (source / "AGENTS.md").write_text("Be kind.\n")


def _claude(source: Path, scene: dict[str, Any]) -> None:
    _merge(source / ".claude.json", {"mcpServers": {"notes": _notes()}})
    _settings(source, scene)
    (source / ".credentials.json").write_text('{"claudeAiOauth": {}}\n')
    (source / "CLAUDE.md").write_text("Be kind.\n")


def _codebuddy(source: Path, scene: dict[str, Any]) -> None:
    (source / ".mcp.json").write_text(json.dumps({"mcpServers": {"notes": _notes()}}))
    _settings(source, scene)


def _settings(source: Path, scene: dict[str, Any]) -> None:
    allowed = scene.get("allowed", ["Bash", "mcp__notes"])
    (source / "settings.json").write_text(json.dumps({"permissions": {"allow": allowed}}))


def _notes() -> dict[str, Any]:
    command = {"type": "stdio", "command": sys.executable, "args": [str(_NOTES)]}
    return {**command, "alwaysLoad": True}


def _merge(path: Path, entries: dict[str, Any]) -> None:
    path.write_text(json.dumps({**json.loads(path.read_text()), **entries}))
