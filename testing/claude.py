"""A Claude Code driver whose CLI is the scripted provider."""

from __future__ import annotations

import os
from collections.abc import Mapping
from typing import Any

from ..runtime.drivers.claude import Claude
from .staging import stage

__all__ = ["scripted_claude"]


def scripted_claude(
    script: Mapping[str, Any] | str | os.PathLike[str],
    *,
    profile: str | os.PathLike[str] | None = None,
    directory: str | os.PathLike[str] | None = None,
    **claude_options: Any,
) -> Claude:
    """Return a Claude Code driver that runs the scripted provider.

    The provider is a real child process. It needs no account and no network.
    Its script may ask for decisions.

    Args:
        script: The script, as JSON values or as a file; ``docs/testing.md``
            has the format.
        profile: The source profile. By default an empty one, so that nothing
            of the user's own profile reaches a test.
        directory: Where files are put that are needed: a script given as
            values, an empty profile. By default a temporary directory that is
            removed when the interpreter ends.
        claude_options: Further options of `Claude`, except ``command``.

    Raises:
        ConfigurationError: The script breaks the format; the message names the
            file, the step and the key.
    """
    staged = stage(script, profile, directory, asks=True)
    return Claude(command=staged.command, profile=staged.profile, **claude_options)
