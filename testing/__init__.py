"""For the tests of applications: a provider and a model that follow a script.

Loaded on first use, since the scripted provider passes through here as it
starts.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from .claude import scripted_claude
    from .cursor import scripted_cursor
    from .model_server import (
        CallTool,
        ModelMessage,
        ModelRequest,
        ModelServer,
        OfferedTool,
        ProviderSetup,
        Refuse,
        Reply,
        RunShell,
        Say,
        Script,
        Think,
        Turn,
        WritePlan,
    )
    from .wsgi import WsgiApp, wsgi_app

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
    "WsgiApp",
    "scripted_claude",
    "scripted_cursor",
    "wsgi_app",
]

_HOMES = {
    "WsgiApp": "wsgi",
    "scripted_claude": "claude",
    "scripted_cursor": "cursor",
    "wsgi_app": "wsgi",
}


def __getattr__(name: str) -> object:
    if name not in __all__:
        msg = f"module {__name__!r} has no attribute {name!r}"
        raise AttributeError(msg)
    home = _HOMES.get(name, "model_server")
    value: object = getattr(importlib.import_module(f".{home}", __name__), name)
    return value


def __dir__() -> list[str]:
    return [*globals(), *__all__]
