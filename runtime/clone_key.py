"""Which runs of one Agent share a clone of the profile."""

from __future__ import annotations

import hashlib
import json
import secrets
from collections.abc import Mapping
from dataclasses import is_dataclass
from pathlib import PurePath
from typing import Any

from ..messages.resources import Identity, McpServer, Resources, Skill

__all__ = ["clone_key"]

# Keyed, since what is hashed may hold secrets and its hash is written to disk.
_KEY = secrets.token_bytes(32)


def clone_key(
    provider: str,
    identity: Identity | None,
    skills: tuple[Skill, ...],
    mcp: tuple[McpServer, ...],
    resources: Resources | None,
) -> str:
    """Return the key of the clone that a run needs.

    Runs of different identities share none. Neither do runs with other skills,
    MCP servers or resources: a driver lays those into the clone, and two runs
    may be under way at once.

    Args:
        provider: The provider's name.
        identity: On whose behalf the run is made.
        skills: The skills that are laid into the clone.
        mcp: The MCP servers that are added to the profile's.
        resources: The agents and settings that are laid into the clone.
    """
    who = (identity.tenant, identity.id) if identity else None
    if resources == Resources():
        resources = None
    if who is None and not skills and not mcp and resources is None:
        return provider
    told = json.dumps((who, [*skills], [*mcp], resources), default=_plain)
    digest = hashlib.blake2b(told.encode("utf-8", "surrogatepass"), key=_KEY, digest_size=16)
    return f"{provider}-{digest.hexdigest()}"


def _plain(value: object) -> Any:
    if is_dataclass(value) and not isinstance(value, type):
        return {name: getattr(value, name) for name in value.__dataclass_fields__}
    if isinstance(value, Mapping):
        return dict(value)
    if isinstance(value, PurePath):
        return str(value)
    return repr(value)
