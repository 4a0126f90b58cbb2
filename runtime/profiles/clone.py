"""An isolated clone of a profile, as paths."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

__all__ = ["Clone"]


@dataclass(frozen=True, slots=True)
class Clone:
    """The directories of one clone; each is private to its owner (0700)."""

    root: Path
    """The directory that holds all of it, and the ownership record."""

    @property
    def profile(self) -> Path:
        """The provider's profile."""
        return self.root / "profile"

    @property
    def home(self) -> Path:
        """A home directory of its own, for providers that need one."""
        return self.root / "home"

    @property
    def temp(self) -> Path:
        """The child's temporary directory."""
        return self.root / "tmp"

    @property
    def given(self) -> Path:
        """What an application gave beside the profile; made where it is needed."""
        return self.root / "given"
