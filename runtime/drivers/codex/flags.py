"""Which arguments of the command line belong to the driver alone."""

from __future__ import annotations

from collections.abc import Sequence

from ....errors import ConfigurationError

__all__ = ["ELSEWHERE", "PERMISSIONS", "SETTINGS", "check_arguments"]

PERMISSIONS = "it would change what the agent may do"
"""Why what concerns permissions is refused."""
ELSEWHERE = "it would change where the prompt goes"
"""Why what moves the run elsewhere is refused."""
_FORMAT = "the driver reads one format"
_THREAD = "the conversation comes from the thread"

_OWN = {
    "--json": _FORMAT,
    "--color": _FORMAT,
    "--output-schema": _FORMAT,
    "--output-last-message": "the answer is in the result",
    "--model": "it is the driver's `model`",
    "--oss": ELSEWHERE,
    "--local-provider": ELSEWHERE,
    "--remote": ELSEWHERE,
    "--remote-auth-token-env": ELSEWHERE,
    "--profile": "its settings would go unchecked; use the driver's `profile`",
    "--ignore-user-config": "the hosted tools are configured there",
    "--sandbox": "it is the driver's `sandbox`",
    "--ask-for-approval": PERMISSIONS,
    "--full-auto": PERMISSIONS,
    "--approve-for-me": PERMISSIONS,
    "--yolo": PERMISSIONS,
    "--dangerously-bypass-approvals-and-sandbox": PERMISSIONS,
    "--dangerously-bypass-hook-trust": PERMISSIONS,
    "--ignore-rules": PERMISSIONS,
    "--add-dir": PERMISSIONS,
    "--cd": "the workspace comes from the run",
    "--worktree": "the workspace comes from the run",
    "--skip-git-repo-check": "the driver sets it",
    "--ephemeral": "the conversation would not be kept",
    "--last": _THREAD,
    "--all": _THREAD,
    "--help": "nothing would run",
    "--version": "nothing would run",
}
_SHORT = {
    "-c": "--config",
    "-m": "--model",
    "-p": "--profile",
    "-s": "--sandbox",
    "-a": "--ask-for-approval",
    "-C": "--cd",
    "-o": "--output-last-message",
    "-h": "--help",
    "-V": "--version",
}
SETTINGS = {
    "mcp_servers.toolcrib": "the hosted tools are configured there",
    "shell_environment_policy": "the token is kept out of the model's shell by it",
    "features.shell_snapshot": "the token is kept out of files by it",
    "sqlite_home": "conversations stay in the clone",
    "log_dir": "logs stay in the clone",
    "developer_instructions": "it is the option `instructions`",
    "model": "it is the driver's `model`",
    "model_reasoning_effort": "it is the driver's `reasoning_effort`",
    "model_provider": ELSEWHERE,
    "model_providers": ELSEWHERE,
    "openai_base_url": ELSEWHERE,
    "chatgpt_base_url": ELSEWHERE,
    "profile": "its settings would go unchecked",
    "approval_policy": PERMISSIONS,
    "approvals_reviewer": PERMISSIONS,
    "sandbox_mode": "it is the driver's `sandbox`",
    "sandbox_workspace_write": PERMISSIONS,
    "sandbox_permissions": PERMISSIONS,
    "default_permissions": PERMISSIONS,
    "permissions": PERMISSIONS,
    "projects": PERMISSIONS,
}
"""The settings that are the driver's, by dotted names, and why."""

_TO_SETTING = {"--config": "", "--enable": "features.", "--disable": "features."}
_SWITCHES = {"--strict-config"}
_NO_VALUES = {"", "-", "--"}


def check_arguments(arguments: Sequence[str]) -> None:
    """Check further arguments for the provider's command line.

    Raises:
        ConfigurationError: One of them, in any spelling, is the driver's to
            decide, or would be taken as the prompt.
    """
    waiting = ""
    for word in arguments:
        flag, value = _split(word)
        if not flag:
            if not waiting or word in _NO_VALUES:
                raise _refusal(word, "it would be read as the prompt")
            flag, value = waiting, word
        if flag in _OWN:
            raise _refusal(flag, _OWN[flag])
        if value is not None and flag in _TO_SETTING:
            _check_setting(_TO_SETTING[flag] + value)
        # A flag that is not known here may take a value.
        waiting = flag if value is None and flag not in _SWITCHES else ""


def _split(word: str) -> tuple[str, str | None]:
    """Return a flag by its long name, if it has one, and the value joined to it."""
    if word in _NO_VALUES or not word.startswith("-"):
        return "", None
    if word.startswith("--"):
        name, joined, value = word.partition("=")
        return name, value if joined else None
    # All short flags but two take a value, and those two are refused.
    name, value = word[:2], word[2:].removeprefix("=")
    return _SHORT.get(name, name), value if len(word) > 2 else None


def _check_setting(setting: str) -> None:
    path = _parts(setting.partition("=")[0])
    for name, reason in SETTINGS.items():
        own = _parts(name)
        shorter = min(len(own), len(path))
        if own[:shorter] == path[:shorter]:
            raise _refusal(".".join(path), reason)


def _parts(name: str) -> list[str]:
    return [part.strip().strip("\"'") for part in name.split(".")]


def _refusal(argument: str, reason: str) -> ConfigurationError:
    msg = f"extra_args can't hold {argument!r}: {reason}. Leave it out."
    return ConfigurationError(msg)
