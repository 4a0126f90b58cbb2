"""Conversations as files, one line an entry."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

__all__ = ["Conversation", "UnknownConversation", "is_session_id"]

_ID = re.compile(r"[A-Za-z0-9_-]{1,128}")


class UnknownConversation(Exception):
    """Raised when there is no conversation of this id."""


def is_session_id(text: str) -> bool:
    """Tell whether a text may be a conversation's id, and leads to no other folder."""
    return _ID.fullmatch(text) is not None


class Conversation:
    """One conversation, appended to as it goes on.

    Args:
        session_id: The id that a later invocation resumes it by.
        path: Its file; where there is none yet, it is a new one.
    """

    def __init__(self, session_id: str, path: Path) -> None:
        self.session_id = session_id
        """The id that a later invocation resumes it by."""
        earlier = _read(path)
        self.earlier_turns = max((entry["turn"] for entry in earlier), default=0)
        """How many turns came before this one."""
        self.last_answer = "".join(
            entry["text"]
            for entry in earlier
            if entry["turn"] == self.earlier_turns and entry["role"] == "assistant"
        )
        """What was said in the last of them."""
        self._path = path

    @property
    def turn(self) -> int:
        """The number of this turn, from 1."""
        return self.earlier_turns + 1

    def add(self, role: str, text: str, **more: Any) -> None:
        """Append an entry to this turn.

        Args:
            role: ``user``, ``assistant`` or ``tool``.
            text: What was said.
            more: Further fields, JSON values only.
        """
        line = json.dumps({"turn": self.turn, "role": role, "text": text, **more})
        with self._path.open("a", encoding="utf-8") as file:
            file.write(line + "\n")


def _read(path: Path) -> list[dict[str, Any]]:
    try:
        lines = path.read_text(encoding="utf-8").splitlines()
    except FileNotFoundError:
        path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
        return []
    return [json.loads(line) for line in lines]
