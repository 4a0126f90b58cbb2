"""A value that may be used but never shown."""

from __future__ import annotations

__all__ = ["Secret"]


class Secret:
    """Text whose ``repr``, ``str`` and pickle never show it.

    Args:
        value: The text to hide.
    """

    __slots__ = ("_value",)

    def __init__(self, value: str) -> None:
        self._value = value

    def reveal(self) -> str:
        """Return the text. Only for the environment of a child process."""
        return self._value

    def __repr__(self) -> str:
        return "Secret('***')"

    __str__ = __repr__

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Secret) and other._value == self._value

    def __hash__(self) -> int:
        return hash((Secret, self._value))

    def __reduce__(self) -> str:
        msg = "A Secret can't be pickled; pass it through the environment instead."
        raise TypeError(msg)
