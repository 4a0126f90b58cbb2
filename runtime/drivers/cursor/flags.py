"""Which arguments of the command line belong to the driver alone."""

from __future__ import annotations

from collections.abc import Sequence

from ....errors import ConfigurationError

__all__ = ["check_arguments"]

_OWN = {
    "--print": "the driver always prints",
    "--output-format": "the driver reads one format",
    "--stream-partial-output": "it would print the answer twice",
    "--workspace": "the workspace comes from the run",
    "--worktree": "the workspace comes from the run",
    "--worktree-base": "the workspace comes from the run",
    "--resume": "the conversation comes from the thread",
    "--continue": "the conversation comes from the thread",
    "--cloud": "hosted tools can only be reached from this machine",
    "--model": "it is the driver's `model`",
    "--mode": "it would change what the agent may do",
    "--plan": "it would change what the agent may do",
    "--sandbox": "it would change what the agent may do",
    "--force": "it would allow every command",
    "--yolo": "it would allow every command",
    "--auto-review": "it would change what the agent may do",
    "--trust": "the driver sets it",
    "--approve-mcps": "the driver approves the hosted tools alone",
    "--api-key": "everybody can read it there; use `environment`",
    "--header": "everybody can read it there; use `environment`",
    "--endpoint": "it would change where the prompt goes",
    "--help": "nothing would run",
    "--version": "nothing would run",
}
_SHORT = {
    "p": "--print",
    "f": "--force",
    "c": "--cloud",
    "w": "--worktree",
    "a": "--api-key",
    "H": "--header",
    "e": "--endpoint",
    "h": "--help",
    "v": "--version",
    "m": "--model",
}


def check_arguments(arguments: Sequence[str]) -> None:
    """Check further arguments for the provider's command line.

    Raises:
        ConfigurationError: One of them, in any spelling, is the driver's to
            decide, or would be taken as the prompt.
    """
    takes_value = False
    for argument in arguments:
        name = argument.partition("=")[0]
        if name in _OWN:
            raise ConfigurationError(_refusal(argument, _OWN[name]))
        for letter in _short_letters(argument):
            if letter in _SHORT:
                raise ConfigurationError(_refusal(argument, _OWN[_SHORT[letter]]))
        if argument in {"", "-", "--"} or (argument[0] != "-" and not takes_value):
            raise ConfigurationError(_refusal(argument, "it would be read as the prompt"))
        takes_value = argument.startswith("-") and "=" not in argument


def _short_letters(argument: str) -> str:
    # The CLI reads `-fx` as `-f -x` and `-x=1` as `-x 1`; so any letter counts.
    if argument.startswith("-") and not argument.startswith("--"):
        return argument[1:].partition("=")[0]
    return ""


def _refusal(argument: str, reason: str) -> str:
    shown = argument.partition("=")[0]
    return f"extra_args can't hold {shown!r}: {reason}. Leave it out."
