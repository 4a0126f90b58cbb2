"""Plays the steps of one turn."""

from __future__ import annotations

import os
import re
import sys
import time
from collections.abc import Callable, Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any, NoReturn

from . import faults, templates
from .conversation import Conversation
from .records import Printer, Records
from .script import ScriptError, Step, Turn
from .toolbox import Toolbox

__all__ = ["Player"]


class _Exit(Exception):
    def __init__(self, code: int) -> None:
        super().__init__(code)
        self.code = code


class Player:
    """Plays one turn, in the calling thread.

    Args:
        source: The script's name, for messages.
        prompt: The prompt.
        match: What the turn's pattern found in it.
        workspace: The working directory; paths in the script start there.
        conversation: The conversation that this turn belongs to.
        printer: Where records go.
        toolbox: Where tools are.
    """

    def __init__(
        self,
        source: str,
        *,
        prompt: str,
        match: re.Match[str] | None,
        workspace: Path,
        conversation: Conversation,
        printer: Printer,
        toolbox: Toolbox,
    ) -> None:
        self.conversation = conversation
        self.printer = printer
        self.toolbox = toolbox
        self.records = Records(conversation.session_id)
        self.scope = _scope(prompt, match, conversation)
        self._source = source
        self._prompt = prompt
        self._workspace = workspace
        self._began = time.monotonic()
        self._said: list[str] = []
        self._finished = False

    def play(self, turn: Turn, *, model: str) -> int:
        """Play the turn to its end.

        Args:
            turn: What to do.
            model: The model's name, for the init record.

        Returns:
            The exit code.

        Raises:
            ScriptError: The script uses a name that means nothing.
        """
        self.conversation.add("user", self._prompt)
        if turn.opening:
            self.printer.record(self.records.init(str(self._workspace), model))
            self.printer.record(self.records.message("user", self._prompt))
        try:
            self.steps(turn.steps)
        except _Exit as exit_:
            return exit_.code
        self.finish_once()
        return 0

    def steps(self, steps: Iterable[Step]) -> None:
        """Play some steps, in order."""
        for step in steps:
            _ACTIONS[step.verb](self, step)

    def answer(self, text: str, pieces: Iterable[str]) -> None:
        """Say a part of the answer, piece by piece."""
        self._said.append(text)
        self.conversation.add("assistant", text)
        for piece in pieces:
            self.printer.record(self.records.message("assistant", piece))

    def finish(self, override: Mapping[str, Any]) -> None:
        """Print the terminal record, with some fields replaced."""
        self._finished = True
        took = int((time.monotonic() - self._began) * 1000)
        text = "".join(self._said)
        self.printer.record(self.records.result(text, self._prompt, took, override))

    def finish_once(self) -> None:
        """Print the terminal record unless there was one."""
        if not self._finished:
            self.finish({})

    def exit(self, code: int) -> NoReturn:
        """End the process with this code, and without a terminal record."""
        raise _Exit(code)

    def fail(self, message: str) -> NoReturn:
        """End as the real CLI does when something is wrong."""
        print(message, file=sys.stderr, flush=True)
        self.exit(1)

    def fill(self, step: Step, value: Any) -> Any:
        """Return the value with the names in it replaced; see `templates.fill`."""
        return self._named(step, lambda: templates.fill(value, self.scope))

    def text(self, step: Step, value: str) -> str:
        """Return the string with the names in it replaced."""
        filled: str = self._named(step, lambda: templates.fill_text(value, self.scope))
        return filled

    def path(self, step: Step, value: str) -> Path:
        """Return the path that a script means; a relative one starts in the workspace."""
        return self._workspace / self.text(step, value)

    def _named(self, step: Step, fill: Callable[[], Any]) -> Any:
        try:
            return fill()
        except LookupError as error:
            name = f"{{{{{error.args[0]}}}}}"
            msg = f"{self._source}: {step.where}.{step.verb}: nothing is named {name} here"
            raise ScriptError(msg) from None


def _scope(prompt: str, match: re.Match[str] | None, conversation: Conversation) -> dict[str, Any]:
    return {
        "prompt": prompt,
        "match": {} if match is None else _groups(match),
        "results": {},
        "error": {},
        "turn": conversation.turn,
        "history": {"turns": conversation.earlier_turns, "last": conversation.last_answer},
        "session_id": conversation.session_id,
        "env": os.environ,
    }


def _groups(match: re.Match[str]) -> dict[str, str]:
    numbered = {str(i): match[i] or "" for i in range(match.re.groups + 1)}
    return {**numbered, **match.groupdict("")}


def _call(player: Player, step: Step) -> None:
    # Leads to slow imports, so only where a script calls a tool.
    from . import calls

    calls.call(player, step)


def _list_tools(player: Player, step: Step) -> None:
    from . import calls

    calls.list_tools(player, step)


def _think(player: Player, step: Step) -> None:
    text = player.text(step, step.value)
    for piece in _pieces(text, step.options.get("pieces", 1)):
        player.printer.record(player.records.thinking(piece))
    player.printer.record(player.records.thinking(None))


def _say(player: Player, step: Step) -> None:
    text = _repeated(player, step)
    player.answer(text, _pieces(text, step.options.get("pieces", 1)))


def _flood(player: Player, step: Step) -> None:
    piece = player.text(step, step.options.get("text", "."))
    player.answer(piece * step.value, (piece for _ in range(step.value)))


def _fail(player: Player, step: Step) -> None:
    player.fail(player.text(step, step.value))


def _after_result(player: Player, step: Step) -> None:
    player.finish_once()
    player.steps(step.value)


def _linger(player: Player, _: Step) -> None:
    player.finish_once()
    faults.hang()


def _spawn(player: Player, step: Step) -> None:
    pid_file = step.options.get("pid_file")
    faults.spawn(
        detached=step.value == "detached",
        pid_file=None if pid_file is None else player.path(step, pid_file),
    )


def _write_file(player: Player, step: Step) -> None:
    text = player.text(step, step.options.get("text", ""))
    faults.put(player.path(step, step.value), text)


def _stderr(player: Player, step: Step) -> None:
    print(_repeated(player, step), file=sys.stderr, flush=True)


def _repeated(player: Player, step: Step) -> str:
    repeat: int = step.options.get("repeat", 1)
    return player.text(step, step.value) * repeat


def _pieces(text: str, count: int) -> Iterator[str]:
    size = max(1, -(-len(text) // count))
    return (text[start : start + size] for start in range(0, len(text), size))


_ACTIONS: Mapping[str, Callable[[Player, Step], None]] = {
    "think": _think,
    "say": _say,
    "call": _call,
    "list_tools": _list_tools,
    "result": lambda player, step: player.finish(player.fill(step, step.value)),
    "after_result": _after_result,
    "linger": _linger,
    "record": lambda player, step: player.printer.record(player.fill(step, step.value)),
    "print": lambda player, step: player.printer.line(_repeated(player, step)),
    "stderr": _stderr,
    "flood": _flood,
    "touch": lambda player, step: faults.put(player.path(step, step.value), ""),
    "write_file": _write_file,
    "wait_for_file": lambda player, step: faults.wait_for(player.path(step, step.value)),
    "spawn": _spawn,
    "ignore_sigterm": lambda _, __: faults.ignore_sigterm(),
    "hang": lambda _, __: faults.hang(),
    "exit": lambda player, step: player.exit(step.value),
    "die": lambda _, step: faults.die(step.value),
    "fail": _fail,
}
