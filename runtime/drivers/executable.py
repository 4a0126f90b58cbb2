"""Finding a provider's command."""

from __future__ import annotations

import os
import shutil
from collections.abc import Mapping, Sequence
from pathlib import Path

from ...errors import ConfigurationError, ProviderNotFoundError

__all__ = ["find_command"]


def find_command(
    command: str | Sequence[str] | None,
    names: Sequence[str],
    environment: Mapping[str, str],
) -> tuple[str, ...]:
    """Return the arguments that a provider's command line begins with.

    The first is an absolute path. Links are kept, since some programs go by
    the name that they are called with.

    Args:
        command: A path, a name to look for on ``PATH``, or one of those with
            arguments after it. ``None`` looks for ``names``.
        names: The provider's own names, the best first.
        environment: The environment whose ``PATH`` counts.

    Raises:
        ProviderNotFoundError: There is no such command.
        ConfigurationError: ``command`` is empty.
    """
    if command is None:
        return (_first_of(names, environment),)
    words = (command,) if isinstance(command, str) else tuple(command)
    if not words or not words[0]:
        msg = "The provider's command is empty. Give its path or its name."
        raise ConfigurationError(msg)
    return (_locate(words[0], environment), *words[1:])


def _first_of(names: Sequence[str], environment: Mapping[str, str]) -> str:
    for name in names:
        found = _on_path(name, environment)
        if found is not None:
            return found
    shown = " or ".join(names)
    msg = f"The command {shown} is not on PATH. Install it, or pass its path as `command`."
    raise ProviderNotFoundError(msg)


def _locate(word: str, environment: Mapping[str, str]) -> str:
    if os.sep not in word:
        found = _on_path(word, environment)
        if found is not None:
            return found
        msg = f"The command {word} is not on PATH. Install it, or pass its path as `command`."
        raise ProviderNotFoundError(msg)
    path = Path(word).expanduser().absolute()
    if not path.is_file():
        msg = f"There is no file {path} to start. Correct `command`."
        raise ProviderNotFoundError(msg)
    if not os.access(path, os.X_OK):
        msg = f"{path} is not executable. Make it so, or correct `command`."
        raise ProviderNotFoundError(msg)
    return str(path)


def _on_path(name: str, environment: Mapping[str, str]) -> str | None:
    found = shutil.which(name, path=environment.get("PATH", os.defpath))
    return None if found is None else str(Path(found).absolute())
