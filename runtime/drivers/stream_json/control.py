"""Frames for the process's standard input, and who decides what it asks."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from ..interface import Write
from .records import Call

__all__ = ["Decide", "Decision", "answer", "hosted_only", "refusal", "request", "user_frame"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Decision:
    """Whether a tool call may be made."""

    allowed: bool
    """Whether it may."""
    reason: str = ""
    """Why not, for the model."""


Decide = Callable[[Call], Decision]
"""Decides on a call that the provider asks about; called on the dialect's thread."""


def hosted_only(call: Call) -> Decision:
    """Allow the Agent's own tools: installing them was the host's consent.

    What the profile allows the provider does not ask about; so the rest is
    what a CLI without a terminal refuses.
    """
    if call.hosted:
        return Decision(allowed=True)
    return Decision(
        allowed=False,
        reason=f"Nobody is here to allow {call.name}, and the settings do not. Go on without it.",
    )


def user_frame(prompt: str) -> Write:
    """Return the frame that asks something."""
    # Half a surrogate pair has no form that a model's server would take.
    prompt = prompt.encode(errors="replace").decode()
    return _frame(
        {
            "type": "user",
            "session_id": "",
            "message": {"role": "user", "content": prompt},
            "parent_tool_use_id": None,
        }
    )


def request(request_id: str, body: Mapping[str, Any]) -> Write:
    """Return a control request of ours."""
    return _frame({"type": "control_request", "request_id": request_id, "request": body})


def answer(request_id: str, body: Mapping[str, Any]) -> Write:
    """Return the answer to a control request."""
    response = {"subtype": "success", "request_id": request_id, "response": body}
    return _frame({"type": "control_response", "response": response})


def refusal(request_id: str, error: str) -> Write:
    """Return the answer to a control request that can't be served."""
    response = {"subtype": "error", "request_id": request_id, "error": error}
    return _frame({"type": "control_response", "response": response})


def _frame(value: Mapping[str, Any]) -> Write:
    return Write(json.dumps(value).encode() + b"\n")
