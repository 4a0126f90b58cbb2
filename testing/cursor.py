"""A Cursor driver whose CLI is the scripted provider."""

from __future__ import annotations

import os
from collections.abc import Mapping
from typing import Any

from ..runtime.drivers.cursor import Cursor
from .staging import stage

__all__ = ["scripted_cursor"]


def scripted_cursor(
    script: Mapping[str, Any] | str | os.PathLike[str],
    *,
    profile: str | os.PathLike[str] | None = None,
    directory: str | os.PathLike[str] | None = None,
    **cursor_options: Any,
) -> Cursor:
    """Return a Cursor driver that runs the scripted provider.

    The provider is a real child process. It needs no account and no network.
    Cursor can't ask for decisions; see `scripted_claude` for those.

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
        ConfigurationError: The script breaks the format, or asks for a
            decision; the message names the file, the step and the key.
    """
    staged = stage(script, profile, directory, asks=False)
    return Cursor(command=staged.command, profile=staged.profile, **cursor_options)
