"""Masks secrets in a text that comes in pieces.

Whole lines are masked before a dialect sees them; but a model that prints its
environment may spread a secret over several of them.
"""

from __future__ import annotations

from collections.abc import Iterable

from ....messages.secret import Secret

__all__ = ["Veil"]

_MASK = "***"


class Veil:
    """Passes a text on, but for what may be the beginning of a secret.

    Args:
        secrets: What to hide; empty ones hide nothing.
    """

    def __init__(self, secrets: Iterable[Secret]) -> None:
        texts = {secret.reveal() for secret in secrets} - {""}
        # A secret may begin with another one.
        self._secrets = sorted(texts, key=len, reverse=True)
        self._held = ""

    def pass_on(self, text: str) -> str:
        """Return what can be told by now; it may be nothing."""
        if not self._secrets:
            return text
        text = self._held + text
        for secret in self._secrets:
            text = text.replace(secret, _MASK)
        held = max(_beginning(text, secret) for secret in self._secrets)
        self._held = text[len(text) - held :]
        return text[: len(text) - held]

    def rest(self) -> str:
        """Return what was held back, once nothing comes any more."""
        held, self._held = self._held, ""
        return held


def _beginning(text: str, secret: str) -> int:
    """Return how much of a text's end is the beginning of a secret."""
    lengths = range(min(len(text), len(secret) - 1), 0, -1)
    return next((n for n in lengths if text.endswith(secret[:n])), 0)
