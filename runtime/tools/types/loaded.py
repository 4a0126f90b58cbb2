"""What other libraries define, where they are loaded already."""

from __future__ import annotations

import sys
from typing import Any

__all__ = ["loaded"]


def loaded(module: str, name: str) -> Any:
    """Return what a module defines; ``None`` while it is not there.

    Whoever uses a library's class has loaded it, so nothing is imported for the
    sake of a question. But another thread may be in the middle of loading it,
    and then the module is there before its names are.
    """
    return getattr(sys.modules.get(module), name, None)
