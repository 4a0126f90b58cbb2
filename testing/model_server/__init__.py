"""A scripted model server, for tests with the real provider CLIs."""

from __future__ import annotations

from .exchange import ModelMessage, ModelRequest, OfferedTool
from .replies import CallTool, Refuse, Reply, RunShell, Say, Script, Think, Turn, WritePlan
from .server import ModelServer
from .setup import ProviderSetup

__all__ = [
    "CallTool",
    "ModelMessage",
    "ModelRequest",
    "ModelServer",
    "OfferedTool",
    "ProviderSetup",
    "Refuse",
    "Reply",
    "RunShell",
    "Say",
    "Script",
    "Think",
    "Turn",
    "WritePlan",
]
