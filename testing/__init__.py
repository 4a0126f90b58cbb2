"""For the tests of applications: a provider that follows a script.

Loaded on first use, since the scripted provider passes through here as it
starts.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from .cursor import scripted_cursor

__all__ = ["scripted_cursor"]


def __getattr__(name: str) -> object:
    if name != "scripted_cursor":
        msg = f"module {__name__!r} has no attribute {name!r}"
        raise AttributeError(msg)
    from .cursor import scripted_cursor

    return scripted_cursor


def __dir__() -> list[str]:
    return [*globals(), *__all__]
