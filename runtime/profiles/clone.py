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
    run: str = ""
    """The run that it is lent to; empty where it is none in particular."""

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

    @property
    def given_to_run(self) -> Path:
        """What it gave the run alone, which goes when that is over; as `given` without one."""
        return self.root / "runs" / self.run if self.run else self.given
