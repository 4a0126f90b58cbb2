"""One conversation, as a handle."""

from __future__ import annotations

from .runner import Door, Runner

__all__ = ["Thread"]


class Thread(Runner):
    """One conversation of an Agent, which goes on from run to run.

    Made by `Agent.thread`. Its runs take turns: a second one at the same time
    is refused with `ThreadBusyError`.

    Args:
        agent: The Agent, which is not dropped before the thread.
        door: Where it asks for runs.
        key: The application's name for the conversation; not empty.

    Raises:
        TypeError: The key is no text.
        ValueError: The key is empty.
    """

    def __init__(self, agent: Runner, door: Door, key: str) -> None:
        if not isinstance(key, str):
            msg = f"key is a {type(key).__name__}; pass a str, your own name for the conversation."
            raise TypeError(msg)
        if not key:
            msg = "A thread's key is empty; give it your own name for the conversation."
            raise ValueError(msg)
        super().__init__(door, key)
        self._agent = agent
        self._key = key

    @property
    def key(self) -> str:
        """The application's name for the conversation."""
        return self._key

    def __repr__(self) -> str:
        return f"<Thread {self._key!r} of {self._agent!r}>"
