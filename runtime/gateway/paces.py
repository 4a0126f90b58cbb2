"""How long calls take, tool by tool."""

from __future__ import annotations

from typing import Final

__all__ = ["Paces"]

_QUICK_SECONDS: Final = 0.0005
# Until it has shown otherwise, a tool is not quick.
_FIRST_GUESS: Final = 0.001
_WEIGHT: Final = 1 / 8
# So that one call of minutes is not remembered for hundreds of quick ones.
_LONGEST: Final = 0.02


class Paces:
    """Moving averages of how long the calls of each tool take.

    May be used from any thread; of two reports at the same moment one may be lost.
    """

    __slots__ = ("_averages",)

    def __init__(self) -> None:
        self._averages: dict[str, float] = {}

    def quick(self, tool: str) -> bool:
        """Return whether a tool has answered at once, lately."""
        return self._averages.get(tool, _FIRST_GUESS) < _QUICK_SECONDS

    def late(self, tool: str) -> None:
        """Report a call that goes on though it should have ended."""
        self.note(tool, _LONGEST)

    def note(self, tool: str, seconds: float) -> None:
        """Report how long a call of a tool took."""
        average = self._averages.get(tool, _FIRST_GUESS)
        self._averages[tool] = average + (min(seconds, _LONGEST) - average) * _WEIGHT
