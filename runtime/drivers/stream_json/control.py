"""Frames for the process's standard input."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from ..interface import Write

__all__ = ["answer", "refusal", "request", "user_frame"]


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
