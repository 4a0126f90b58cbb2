"""The command that plays a script, and what it needs on disk."""

from __future__ import annotations

import atexit
import json
import os
import shutil
import sys
import tempfile
from collections.abc import Mapping
from pathlib import Path
from typing import Any, NamedTuple

from ..errors import ConfigurationError
from .scripted_provider.script import ScriptError, load, refuse_asking

__all__ = ["Staged", "stage"]

_MODULE = "toolcrib.testing.scripted_provider"


class Staged(NamedTuple):
    """What a driver needs to run the scripted provider."""

    command: tuple[str, ...]
    """The command, with the script."""
    profile: str | os.PathLike[str]
    """The source profile."""


def stage(
    script: Mapping[str, Any] | str | os.PathLike[str],
    profile: str | os.PathLike[str] | None,
    directory: str | os.PathLike[str] | None,
    *,
    asks: bool,
) -> Staged:
    """Check a script, and write what is not there yet.

    Args:
        script: The script, as JSON values or as a file.
        profile: The source profile; ``None`` makes an empty one.
        directory: Where files are put that are needed; ``None`` makes a
            temporary one, which is removed when the interpreter ends.
        asks: Whether the CLI that it stands in for can ask.

    Raises:
        ConfigurationError: The script breaks the format; the message names the
            file, the step and the key.
    """
    base = _temporary() if directory is None else os.fspath(directory)
    path = Path(_written(script, base) if isinstance(script, Mapping) else script).resolve()
    try:
        checked = load(path)
        if not asks:
            refuse_asking(checked)
    except ScriptError as error:
        raise ConfigurationError(str(error)) from error
    if profile is None:
        profile = tempfile.mkdtemp(prefix="profile-", dir=base)
    # -P: a module in the workspace must not shadow one that the provider needs.
    return Staged((sys.executable, "-P", "-m", _MODULE, "--script", str(path)), profile)


def _temporary() -> str:
    directory = tempfile.mkdtemp(prefix="toolcrib-script-")
    atexit.register(shutil.rmtree, directory, ignore_errors=True)
    return directory


def _written(script: Mapping[str, Any], directory: str) -> str:
    handle, path = tempfile.mkstemp(prefix="script-", suffix=".json", dir=directory)
    with os.fdopen(handle, "w", encoding="utf-8") as file:
        json.dump(script, file)
    return path
