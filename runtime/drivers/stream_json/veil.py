"""Masks the token in a text that comes in pieces.

Whole lines are masked before a dialect sees them; but a model that prints its
environment may spread the token over several of them.
"""

from __future__ import annotations

from ....messages.secret import Secret

__all__ = ["Veil"]

_MASK = "***"


class Veil:
    """Passes a text on, but for what may be the beginning of a secret.

    Args:
        secret: What to hide; ``None`` hides nothing.
    """

    def __init__(self, secret: Secret | None) -> None:
        self._secret = secret.reveal() if secret else ""
        self._held = ""

    def pass_on(self, text: str) -> str:
        """Return what can be told by now; it may be nothing."""
        if not self._secret:
            return text
        text = (self._held + text).replace(self._secret, _MASK)
        lengths = range(min(len(text), len(self._secret) - 1), 0, -1)
        held = next((n for n in lengths if text.endswith(self._secret[:n])), 0)
        self._held = text[len(text) - held :]
        return text[: len(text) - held]

    def rest(self) -> str:
        """Return what was held back, once nothing comes any more."""
        held, self._held = self._held, ""
        return held
