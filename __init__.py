"""Lend a coding agent your application's own typed Python functions.

Write a function, give it to `tool.define`, pass the tool to an `Agent` with a
driver, and run a prompt. The names below are the public surface, together with
the modules ``tool``, ``errors``, ``testing`` and ``runtime.drivers.interface``.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from . import errors as errors
    from . import testing as testing
    from . import tool as tool
    from .actors.system import System
    from .agent import Agent
    from .errors import (
        AgentClosedError,
        ApprovalDetachedError,
        ApprovalError,
        ApprovalExpiredError,
        ApprovalKindError,
        ApprovalResolvedError,
        AskTimeout,
        CloseTimeout,
        ConfigurationError,
        DefinitionError,
        GatewayError,
        InvalidInputError,
        InvalidOutputError,
        LeaseLostError,
        ProfileError,
        ProviderNotFoundError,
        ResumeRejectedError,
        RunError,
        ServerConflictError,
        StoreError,
        ThreadBusyError,
        ThreadError,
        ThreadIncompatibleError,
        ToolcribError,
        UnsupportedError,
    )
    from .messages.approvals import (
        Choice,
    )
    from .messages.events import (
        ApprovalRequest,
        ApprovalSettled,
        Dropped,
        Event,
        Notice,
        ProcessInfo,
        RunFinished,
        RunStarted,
        Subagent,
        TextDelta,
        Thinking,
        ToolCall,
        ToolResult,
    )
    from .messages.options import (
        ApprovalCallback,
    )
    from .messages.policy import (
        Approvals,
        Policy,
    )
    from .messages.resources import (
        AgentDefinition,
        HttpServer,
        Identity,
        McpServer,
        Resources,
        Skill,
        StdioServer,
    )
    from .messages.results import (
        Result,
        RunReason,
        TranscriptItem,
        Usage,
    )
    from .messages.secret import Secret
    from .messages.services import (
        Attachment,
        RunInfo,
        RunService,
    )
    from .options import (
        AgentKeywords,
        AgentOptions,
        Options,
        SharedKeywords,
    )
    from .runner import Runner
    from .runtime.drivers.claude import Claude
    from .runtime.drivers.codebuddy import CodeBuddy
    from .runtime.drivers.codex import Codex
    from .runtime.drivers.cursor import Cursor
    from .runtime.drivers.interface import (
        Capabilities,
        Dialect,
        Driver,
    )
    from .runtime.gateway.limits import Limits
    from .runtime.threads.interface import ThreadRecord, ThreadStore
    from .runtime.threads.memory import MemoryStore
    from .runtime.tracing import Tracer
    from .stream import Stream
    from .thread import Thread

__version__ = "0.1.0"

# Loaded on first use, so that `python -m toolcrib.testing…` starts fast and an
# application pays for nothing that it does not use.
_HOME = {
    "actors.system": ["System"],
    "agent": ["Agent"],
    "errors": [
        "AgentClosedError",
        "ApprovalDetachedError",
        "ApprovalError",
        "ApprovalExpiredError",
        "ApprovalKindError",
        "ApprovalResolvedError",
        "AskTimeout",
        "CloseTimeout",
        "ConfigurationError",
        "DefinitionError",
        "GatewayError",
        "InvalidInputError",
        "InvalidOutputError",
        "LeaseLostError",
        "ProfileError",
        "ProviderNotFoundError",
        "ResumeRejectedError",
        "RunError",
        "ServerConflictError",
        "StoreError",
        "ThreadBusyError",
        "ThreadError",
        "ThreadIncompatibleError",
        "ToolcribError",
        "UnsupportedError",
    ],
    "messages.approvals": ["Choice"],
    "messages.options": ["ApprovalCallback"],
    "messages.policy": ["Approvals", "Policy"],
    "messages.resources": [
        "AgentDefinition",
        "HttpServer",
        "Identity",
        "McpServer",
        "Resources",
        "Skill",
        "StdioServer",
    ],
    "messages.services": ["Attachment", "RunInfo", "RunService"],
    "messages.events": [
        "ApprovalRequest",
        "ApprovalSettled",
        "Dropped",
        "Event",
        "Notice",
        "ProcessInfo",
        "RunFinished",
        "RunStarted",
        "Subagent",
        "TextDelta",
        "Thinking",
        "ToolCall",
        "ToolResult",
    ],
    "messages.results": ["Result", "RunReason", "TranscriptItem", "Usage"],
    "messages.secret": ["Secret"],
    "options": ["AgentKeywords", "AgentOptions", "Options", "SharedKeywords"],
    "runner": ["Runner"],
    "runtime.drivers.claude": ["Claude"],
    "runtime.drivers.codebuddy": ["CodeBuddy"],
    "runtime.drivers.codex": ["Codex"],
    "runtime.drivers.cursor": ["Cursor"],
    "runtime.drivers.interface": ["Capabilities", "Dialect", "Driver"],
    "runtime.gateway.limits": ["Limits"],
    "runtime.threads.interface": ["ThreadRecord", "ThreadStore"],
    "runtime.threads.memory": ["MemoryStore"],
    "runtime.tracing": ["Tracer"],
    "stream": ["Stream"],
    "thread": ["Thread"],
}
_WHERE = {name: module for module, names in _HOME.items() for name in names}
_MODULES = ("errors", "testing", "tool")

__all__ = [
    "Agent",
    "AgentClosedError",
    "AgentDefinition",
    "AgentKeywords",
    "AgentOptions",
    "ApprovalCallback",
    "ApprovalDetachedError",
    "ApprovalError",
    "ApprovalExpiredError",
    "ApprovalKindError",
    "ApprovalRequest",
    "ApprovalResolvedError",
    "ApprovalSettled",
    "Approvals",
    "AskTimeout",
    "Attachment",
    "Capabilities",
    "Choice",
    "Claude",
    "CloseTimeout",
    "CodeBuddy",
    "Codex",
    "ConfigurationError",
    "Cursor",
    "DefinitionError",
    "Dialect",
    "Driver",
    "Dropped",
    "Event",
    "GatewayError",
    "HttpServer",
    "Identity",
    "InvalidInputError",
    "InvalidOutputError",
    "LeaseLostError",
    "Limits",
    "McpServer",
    "MemoryStore",
    "Notice",
    "Options",
    "Policy",
    "ProcessInfo",
    "ProfileError",
    "ProviderNotFoundError",
    "Resources",
    "Result",
    "ResumeRejectedError",
    "RunError",
    "RunFinished",
    "RunInfo",
    "RunReason",
    "RunService",
    "RunStarted",
    "Runner",
    "Secret",
    "ServerConflictError",
    "SharedKeywords",
    "Skill",
    "StdioServer",
    "StoreError",
    "Stream",
    "Subagent",
    "System",
    "TextDelta",
    "Thinking",
    "Thread",
    "ThreadBusyError",
    "ThreadError",
    "ThreadIncompatibleError",
    "ThreadRecord",
    "ThreadStore",
    "ToolCall",
    "ToolResult",
    "ToolcribError",
    "Tracer",
    "TranscriptItem",
    "UnsupportedError",
    "Usage",
    "errors",
    "testing",
    "tool",
]


def __getattr__(name: str) -> Any:
    if name in _MODULES:
        return importlib.import_module(f".{name}", __name__)
    if name in _WHERE:
        value = getattr(importlib.import_module(f".{_WHERE[name]}", __name__), name)
        globals()[name] = value
        return value
    msg = f"module {__name__!r} has no attribute {name!r}"
    raise AttributeError(msg)


def __dir__() -> list[str]:
    return sorted([*globals(), *__all__])
