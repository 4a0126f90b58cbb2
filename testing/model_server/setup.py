"""Provider profiles that lead to a model server, as a user could write them."""

from __future__ import annotations

import json
import os
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from types import MappingProxyType

__all__ = ["ProviderSetup", "claude", "codebuddy", "codex"]

_KEY = "no-key-is-needed"

# Everything that would reach for the network or leave a helper process is off.
_CODEX = """\
model = {model}
model_provider = "scripted"
approval_policy = "never"
check_for_update_on_startup = false
web_search = "disabled"

[model_providers.scripted]
name = "Scripted"
base_url = {url}
env_key = "SCRIPTED_MODEL_KEY"
wire_api = "responses"
supports_websockets = false
request_max_retries = 0
stream_max_retries = 0

[features]
plugins = false
remote_plugin = false
apps = false
daemon_auto_start = false
tool_suggest = false
skill_mcp_dependency_install = false

[agents]
enabled = false

[skills.bundled]
enabled = false

[analytics]
enabled = false

[feedback]
enabled = false

[history]
persistence = "none"
"""
_CLAUDE = {
    "ANTHROPIC_API_KEY": _KEY,
    "CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC": "1",
    "DISABLE_AUTOUPDATER": "1",
    "DISABLE_ERROR_REPORTING": "1",
    "DISABLE_TELEMETRY": "1",
    # A login or a cloud of the user's would take the requests elsewhere.
    "ANTHROPIC_AUTH_TOKEN": "",
    "CLAUDE_CODE_OAUTH_TOKEN": "",
    "CLAUDE_CODE_USE_BEDROCK": "",
    "CLAUDE_CODE_USE_VERTEX": "",
    "CLAUDE_CODE_USE_FOUNDRY": "",
}
_CODEBUDDY = {
    "CODEBUDDY_API_KEY": _KEY,
    "CODEBUDDY_DISABLE_AUTO_MEMORY": "1",
    "CODEBUDDY_DISABLE_CRON": "1",
    "CODEBUDDY_DISABLE_PRODUCT_CACHE": "1",
    "CODEBUDDY_REMOTE_CONFIG_DISABLED": "1",
    "CODEBUDDY_SKIP_BUILTIN_MARKETPLACE": "1",
    "DISABLE_AUTOUPDATER": "1",
    "DISABLE_GALILEO": "1",
    "DISABLE_TELEMETRY": "1",
}


@dataclass(frozen=True, slots=True)
class ProviderSetup:
    """What a provider's driver needs to use a model server.

    The fields are those of the drivers: ``Codex(profile=setup.profile,
    environment=setup.environment, model=setup.model)``.

    Args:
        profile: The source profile, a directory.
        model: The model's name.
        environment: The variables to add to the provider's environment.
    """

    profile: Path
    model: str
    environment: Mapping[str, str] = field(repr=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "environment", MappingProxyType(dict(self.environment)))


def codex(directory: str | os.PathLike[str], url: str, model: str) -> ProviderSetup:
    """Write a profile for Codex."""
    config = _CODEX.format(model=json.dumps(model), url=json.dumps(f"{url}/v1"))
    profile = _write(directory, "config.toml", config)
    return ProviderSetup(profile, model, {"SCRIPTED_MODEL_KEY": _KEY})


def claude(directory: str | os.PathLike[str], url: str, model: str) -> ProviderSetup:
    """Write a profile for Claude Code."""
    profile = _write(directory, ".claude.json", json.dumps({"hasCompletedOnboarding": True}))
    return ProviderSetup(profile, model, {**_CLAUDE, "ANTHROPIC_BASE_URL": url})


def codebuddy(directory: str | os.PathLike[str], url: str, model: str) -> ProviderSetup:
    """Write a profile for CodeBuddy."""
    entry = {
        "id": model,
        "name": model,
        "vendor": "scripted",
        "apiKey": _KEY,
        "url": f"{url}/v1/chat/completions",
        "maxInputTokens": 100_000,
        "maxOutputTokens": 4096,
        "supportsToolCall": True,
    }
    models = json.dumps({"models": [entry], "availableModels": [model]}, indent=2)
    return ProviderSetup(_write(directory, "models.json", models), model, _CODEBUDDY)


def _write(directory: str | os.PathLike[str], name: str, text: str) -> Path:
    profile = Path(directory).absolute()
    profile.mkdir(parents=True, exist_ok=True)
    (profile / name).write_text(text, encoding="utf-8")
    return profile
