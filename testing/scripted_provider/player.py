"""Plays the steps of one turn."""

from __future__ import annotations

import os
import re
import sys
from collections.abc import Callable, Iterable, Iterator, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any, NoReturn

from . import faults, templates
from .conversation import Conversation
from .printer import Printer
from .script import ASKING, ScriptError, Step, Turn, walk
from .telling import Teller
from .toolbox import Toolbox

if TYPE_CHECKING:
    from .claude.desk import Desk

__all__ = ["Exit", "Player"]

_OUR_SERVER = "toolcrib"


class Exit(Exception):
    """Raised when the process has to end at once.

    Args:
        code: The exit code.
        message: What to say on standard error; may be empty.
    """

    def __init__(self, code: int, message: str = "") -> None:
        super().__init__(code)
        self.code = code
        self.message = message


class _TurnOver(Exception):
    pass


class Player:
    """Plays one turn, in the calling thread.

    Args:
        source: The script's name, for messages.
        prompt: The prompt.
        match: What the turn's pattern found in it.
        workspace: The working directory; paths in the script start there.
        conversation: The conversation that this turn belongs to.
        printer: Where raw records go.
        toolbox: Where tools are.
        teller: Tells what happens.
        options: What ``{{options.…}}`` means.
        desk: Where decisions are asked for; ``None`` where the CLI can't ask.
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
        teller: Teller,
        options: Mapping[str, Any],
        desk: Desk | None = None,
    ) -> None:
        self.conversation = conversation
        self.printer = printer
        self.toolbox = toolbox
        self.teller = teller
        self.desk = desk
        self.scope = _scope(prompt, match, conversation, options)
        self._source = source
        self._prompt = prompt
        self._workspace = workspace
        self._finished = False

    def play(self, turn: Turn) -> int:
        """Play the turn to its end, and return the exit code that goes with it.

        Raises:
            Exit: The process has to end at once.
            ScriptError: The script uses a name that means nothing.
        """
        self.conversation.add("user", self._prompt)
        if turn.opening:
            self.teller.opening(self._prompt, _servers(turn))
        try:
            self.steps(turn.steps)
        except _TurnOver:
            return self.teller.code
        self.finish_once()
        return self.teller.code

    def steps(self, steps: Iterable[Step]) -> None:
        """Play some steps, in order."""
        for step in steps:
            _ACTIONS[step.verb](self, step)

    def answer(self, text: str, pieces: Iterable[str]) -> None:
        """Say a part of the answer, piece by piece."""
        self.conversation.add("assistant", text)
        self.teller.say(pieces)

    def finish(self, override: Mapping[str, Any]) -> None:
        """Print the terminal record, with some fields replaced."""
        self._finished = True
        self.teller.finish(override)

    def finish_once(self) -> None:
        """Print the terminal record unless there was one."""
        if not self._finished:
            self.finish({})

    def break_off(self, override: Mapping[str, Any]) -> NoReturn:
        """End the turn here, with some fields of the terminal record replaced."""
        self.finish(override)
        raise _TurnOver

    def exit(self, code: int) -> NoReturn:
        """End the process with this code, and without a terminal record."""
        raise Exit(code)

    def fail(self, message: str) -> NoReturn:
        """End as the real CLI does when something is wrong."""
        raise Exit(1, message)

    def server(self, step: Step) -> str:
        """Return the key of the server that a step means."""
        return self.text(step, step.options.get("server", _OUR_SERVER))

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


def _servers(turn: Turn) -> list[str]:
    keys = (
        step.options.get("server", _OUR_SERVER)
        for step in walk(turn.steps)
        if step.verb in ("call", "list_tools")
    )
    # What a name in braces will mean can't be known by now.
    return list(dict.fromkeys(key for key in keys if "{{" not in key))


def _scope(
    prompt: str,
    match: re.Match[str] | None,
    conversation: Conversation,
    options: Mapping[str, Any],
) -> dict[str, Any]:
    return {
        "prompt": prompt,
        "match": {} if match is None else _groups(match),
        "results": {},
        "error": {},
        "turn": conversation.turn,
        "history": {"turns": conversation.earlier_turns, "last": conversation.last_answer},
        "session_id": conversation.session_id,
        "options": options,
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


def _ask(player: Player, step: Step) -> None:
    # Only where a script asks for something.
    from . import asks

    asks.ask(player, step)


def _think(player: Player, step: Step) -> None:
    text = player.text(step, step.value)
    player.teller.think(_pieces(text, step.options.get("pieces", 1)))


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
    **dict.fromkeys(ASKING, _ask),
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
