"""The command to start, and the arguments that a user may add to it."""

from __future__ import annotations

import importlib.util
from collections.abc import Mapping, Sequence
from pathlib import Path

from ....errors import ConfigurationError, ProviderNotFoundError
from ..executable import find_command

__all__ = ["check_arguments", "check_choice", "locate", "shown"]


def locate(
    command: str | Sequence[str] | None,
    names: Sequence[str],
    environment: Mapping[str, str],
    packaged: tuple[str, str],
) -> tuple[str, ...]:
    """Return the arguments that the command line begins with.

    Args:
        command: What the user named.
        names: The provider's own names.
        environment: The environment whose ``PATH`` counts.
        packaged: A Python package that carries the command, and where in it;
            it is not imported. It counts where ``command`` is unset and none
            of the names is on ``PATH``.

    Raises:
        ProviderNotFoundError: There is no such command.
        ConfigurationError: ``command`` is empty.
    """
    try:
        return find_command(command, names, environment)
    except ProviderNotFoundError:
        path = _in_package(*packaged) if command is None else None
        if path is None:
            raise
        return find_command(str(path), names, environment)


def _in_package(package: str, inside: str) -> Path | None:
    spec = importlib.util.find_spec(package)
    folders = (spec.submodule_search_locations or ()) if spec else ()
    paths = (Path(folder) / inside for folder in folders)
    return next((path for path in paths if path.is_file()), None)


def shown(command: str | Sequence[str] | None, name: str) -> str:
    """Return the command as messages should name it."""
    if command is None:
        return name
    return command if isinstance(command, str) else " ".join(command)


def check_choice(name: str, value: str | None, choices: Sequence[str]) -> None:
    """Check an option that has few values.

    Raises:
        ConfigurationError: It has another.
    """
    if value is not None and value not in choices:
        msg = f"{name} is {value!r}. Choose one of {', '.join(choices)}."
        raise ConfigurationError(msg)


def check_arguments(
    arguments: Sequence[str], own: Mapping[str, str], short: Mapping[str, str]
) -> None:
    """Check further arguments for the provider's command line.

    Args:
        arguments: What the user gave.
        own: The flags that are the driver's to decide, and why.
        short: Their letters.

    Raises:
        ConfigurationError: One of them, in any spelling, is the driver's to
            decide, or would be taken as the prompt.
    """
    takes_value = False
    for argument in arguments:
        name = argument.partition("=")[0]
        if name in own:
            raise _refusal(name, own[name])
        for letter in _letters(argument):
            if letter in short:
                raise _refusal(name, own[short[letter]])
        if argument in {"", "-", "--"} or (argument[0] != "-" and not takes_value):
            raise _refusal(name, "it would be read as the prompt")
        takes_value = argument.startswith("-") and "=" not in argument


def _letters(argument: str) -> str:
    # The CLIs read `-fx` as `-f -x`, so any letter counts.
    if argument.startswith("-") and not argument.startswith("--"):
        return argument[1:].partition("=")[0]
    return ""


def _refusal(argument: str, reason: str) -> ConfigurationError:
    msg = f"extra_args can't hold {argument!r}: {reason}. Leave it out."
    return ConfigurationError(msg)
