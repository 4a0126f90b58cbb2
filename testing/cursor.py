"""A Cursor driver whose CLI is the scripted provider."""

from __future__ import annotations

import atexit
import json
import os
import shutil
import sys
import tempfile
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from ..errors import ConfigurationError
from ..runtime.drivers.cursor import Cursor
from .scripted_provider.script import ScriptError, load

__all__ = ["scripted_cursor"]

_MODULE = "toolcrib.testing.scripted_provider"


def scripted_cursor(
    script: Mapping[str, Any] | str | os.PathLike[str],
    *,
    profile: str | os.PathLike[str] | None = None,
    directory: str | os.PathLike[str] | None = None,
    **cursor_options: Any,
) -> Cursor:
    """Return a Cursor driver that runs the scripted provider.

    The provider is a real child process. It needs no account and no network.

    Args:
        script: The script, as JSON values or as a file; ``docs/testing.md``
            has the format.
        profile: The source profile. By default an empty one, so that nothing
            of the user's own profile reaches a test.
        directory: Where files are put that are needed: a script given as
            values, an empty profile. By default a temporary directory that is
            removed when the interpreter ends.
        cursor_options: Further options of `Cursor`, except ``command``.

    Raises:
        ConfigurationError: The script breaks the format; the message names the
            file, the step and the key.
    """
    base = _temporary() if directory is None else os.fspath(directory)
    path = Path(_written(script, base) if isinstance(script, Mapping) else script).resolve()
    try:
        load(path)
    except ScriptError as error:
        raise ConfigurationError(str(error)) from error
    # -P: a module in the workspace must not shadow one that the provider needs.
    command = (sys.executable, "-P", "-m", _MODULE, "--script", str(path))
    if profile is None:
        profile = tempfile.mkdtemp(prefix="profile-", dir=base)
    return Cursor(command=command, profile=profile, **cursor_options)


def _temporary() -> str:
    directory = tempfile.mkdtemp(prefix="toolcrib-script-")
    atexit.register(shutil.rmtree, directory, ignore_errors=True)
    return directory


def _written(script: Mapping[str, Any], directory: str) -> str:
    handle, path = tempfile.mkstemp(prefix="script-", suffix=".json", dir=directory)
    with os.fdopen(handle, "w", encoding="utf-8") as file:
        json.dump(script, file)
    return path
