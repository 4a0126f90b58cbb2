"""Bearer tokens and the names of the variables that carry them."""

from __future__ import annotations

import hashlib
import secrets

__all__ = ["digest", "new_token", "new_variable"]


def new_token() -> str:
    """Return a new bearer token: 32 random bytes, base64url without padding."""
    return secrets.token_urlsafe(32)


def new_variable() -> str:
    """Return a new name for the environment variable that carries a token."""
    return f"TOOLCRIB_TOKEN_{secrets.token_hex(16).upper()}"


def digest(token: str) -> bytes:
    """Return a token's SHA-256, under which the gateway knows it.

    A lookup by digest leaks nothing by its timing, and the table holds nothing
    that a log or a debugger could give away.
    """
    return hashlib.sha256(token.encode()).digest()
