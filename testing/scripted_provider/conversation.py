"""Conversations as files: ``chats/<session id>/transcript.jsonl``."""

from __future__ import annotations

import json
import re
import uuid
from pathlib import Path
from typing import Any

__all__ = ["Conversation", "UnknownConversation"]

_FILE = "transcript.jsonl"
_ID = re.compile(r"[A-Za-z0-9_-]{1,128}")


class UnknownConversation(Exception):
    """Raised when there is no conversation of this id."""


class Conversation:
    """One conversation, appended to as it goes on.

    Use `start` or `resume` to get one.
    """

    def __init__(self, session_id: str, path: Path, earlier: list[dict[str, Any]]) -> None:
        self.session_id = session_id
        """The id that a later invocation resumes it by."""
        self.earlier_turns = max((entry["turn"] for entry in earlier), default=0)
        """How many turns came before this one."""
        self.last_answer = "".join(
            entry["text"]
            for entry in earlier
            if entry["turn"] == self.earlier_turns and entry["role"] == "assistant"
        )
        """What was said in the last of them."""
        self._path = path

    @classmethod
    def start(cls, data: Path) -> Conversation:
        """Begin a new conversation below the data directory."""
        session_id = str(uuid.uuid4())
        folder = data / "chats" / session_id
        folder.mkdir(parents=True, mode=0o700)
        return cls(session_id, folder / _FILE, [])

    @classmethod
    def resume(cls, data: Path, session_id: str) -> Conversation:
        """Go on with an earlier conversation.

        Raises:
            UnknownConversation: The data directory has none of this id.
        """
        path = data / "chats" / session_id / _FILE
        # The id comes from argv: it must not lead out of the directory.
        if not _ID.fullmatch(session_id) or not path.is_file():
            raise UnknownConversation(session_id)
        lines = path.read_text(encoding="utf-8").splitlines()
        return cls(session_id, path, [json.loads(line) for line in lines])

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
