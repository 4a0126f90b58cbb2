"""Tools: functions of the application that an agent may call.

::

    from toolcrib import tool

    @tool.define(read_only=True, revision="v1")
    def lookup_issue(key: str) -> Issue:
        \"\"\"Look up one issue by key.\"\"\"
        if key not in issues:
            raise tool.reject("not_found", "Choose a key that exists.")
        return issues[key]

    lookup_issue.invoke({"key": "ISSUE-42"})
"""

from __future__ import annotations

from .runtime.tools.context import Context
from .runtime.tools.definition import define
from .runtime.tools.markers import Alias, Examples, Pattern
from .runtime.tools.providers import WireView
from .runtime.tools.rejection import as_rejection, reject
from .runtime.tools.tool import Tool, ToolAnnotations

__all__ = [
    "Alias",
    "Context",
    "Examples",
    "Pattern",
    "Tool",
    "ToolAnnotations",
    "WireView",
    "as_rejection",
    "define",
    "reject",
]
