"""What an annotation can say besides the type: for use inside ``Annotated``."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

__all__ = ["Alias", "Examples", "Pattern"]


@dataclass(frozen=True, slots=True)
class Alias:
    """The JSON name of a parameter or field, where it can't be a Python name.

    ``Annotated[str, tool.Alias("from")]``.

    Args:
        name: The name that the model uses.
    """

    name: str
    """The name that the model uses."""


@dataclass(frozen=True, slots=True)
class Pattern:
    """A regular expression that is found in a text; anchor it with ``^`` and ``$``.

    ``Annotated[str, tool.Pattern("^[A-Z]+-[0-9]+$")]``.

    Args:
        regex: What both Python and JSON Schema (ECMA 262) understand.
    """

    regex: str
    """The regular expression."""


@dataclass(frozen=True, slots=True, init=False)
class Examples:
    """Values that a model is shown, of the type that they are examples of.

    ``Annotated[str, tool.Examples("ISSUE-42")]``.

    Args:
        values: The examples.
    """

    values: tuple[Any, ...]
    """The examples."""

    def __init__(self, *values: Any) -> None:
        object.__setattr__(self, "values", values)
