"""The script format: what a script may hold, and reading it."""

from __future__ import annotations

import json
import os
import re
import signal
from collections.abc import Callable, Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any, NamedTuple, NoReturn

from .templates import unknown_roots

__all__ = [
    "ASKING",
    "PROTOCOLS",
    "VERBS",
    "Script",
    "ScriptError",
    "Step",
    "Turn",
    "load",
    "parse",
    "refuse_asking",
    "walk",
]

PROTOCOLS = ("2025-11-25", "2026-07-28")
"""The MCP revisions that a script may ask for."""
ASKING = ("ask", "question", "plan", "together")
"""The verbs that ask for a decision."""


class ScriptError(Exception):
    """Raised when a script breaks the format; names the file, the step and the key."""


# Named tuples, since dataclasses cost 14 ms to import, of the 100 that a start may take.
class Step(NamedTuple):
    """One thing to do."""

    verb: str
    """Which thing: a key of `VERBS`."""
    value: Any
    """The verb's own value; nested steps are a tuple of `Step`."""
    options: Mapping[str, Any]
    """The step's other keys."""
    where: str
    """Its place in the script, such as ``turns[0].steps[2]``."""


class Turn(NamedTuple):
    """What to do for one prompt."""

    pattern: re.Pattern[str] | None
    """What to look for in the prompt; ``None`` fits any."""
    resumed: bool | None
    """Whether the conversation must be a resumed one; ``None`` fits both."""
    opening: bool
    """Whether the init and user records are printed before the first step."""
    steps: tuple[Step, ...]
    """What to do, in order."""


class Script(NamedTuple):
    """A whole script, checked."""

    source: str
    """Where it came from, for messages."""
    protocol: str | None
    """The MCP revision to speak with servers; ``None`` is what the CLI speaks."""
    turns: tuple[Turn, ...]
    """The turns to choose from."""

    def choose(self, prompt: str, *, resumed: bool) -> tuple[Turn, re.Match[str] | None]:
        """Return the first turn that fits, and the match of its pattern.

        Args:
            prompt: The prompt of this invocation.
            resumed: Whether it goes on with an earlier conversation.

        Raises:
            ScriptError: No turn fits.
        """
        for turn in self.turns:
            if turn.resumed is not None and turn.resumed is not resumed:
                continue
            match = turn.pattern.search(prompt) if turn.pattern else None
            if match or not turn.pattern:
                return turn, match
        msg = f"{self.source}: no turn fits the prompt; add one without a `when` as the last"
        raise ScriptError(msg)


class _Kind(NamedTuple):
    """What a value must be."""

    name: str
    fits: Callable[[Any], bool]


def _is_int(value: Any) -> bool:
    return isinstance(value, int) and not isinstance(value, bool)


_TEXT = _Kind("a string", lambda value: isinstance(value, str))
_NAME = _Kind(
    "a name of letters, digits and _",
    lambda value: isinstance(value, str) and value.isidentifier(),
)
_OBJECT = _Kind("an object", lambda value: isinstance(value, dict))
_TRUE = _Kind("true", lambda value: value is True)
_BOOL = _Kind("true or false", lambda value: isinstance(value, bool))
_COUNT = _Kind("a whole number from 1", lambda value: _is_int(value) and value >= 1)
_CODE = _Kind("a whole number from 0 to 255", lambda value: _is_int(value) and 0 <= value <= 255)
_SIGNAL = _Kind(
    "the name of a signal, such as SIGKILL",
    lambda value: isinstance(value, str) and value in signal.Signals.__members__,
)
_SPAWN = _Kind('"child" or "detached"', lambda value: value in ("child", "detached"))
_PROTOCOL = _Kind(" or ".join(PROTOCOLS), lambda value: value in PROTOCOLS)
_LIST = _Kind("a list that is not empty", lambda value: isinstance(value, list) and bool(value))
_STEPS = _Kind("a list of steps", lambda value: isinstance(value, list))
_ASKS = _Kind(
    "a list of two or more steps that ask",
    lambda value: isinstance(value, list) and len(value) > 1,
)
_WITHDRAW = _Kind("true or a path", lambda value: value is True or isinstance(value, str))
_CHOICES = _Kind(
    "a list of labels, or of objects with a label and perhaps a description",
    lambda value: isinstance(value, list) and all(_is_choice(choice) for choice in value),
)


def _is_choice(value: Any) -> bool:
    if isinstance(value, str):
        return bool(value)
    return (
        isinstance(value, dict)
        and bool(value.get("label"))
        and value.keys() <= {"label", "description"}
        and all(isinstance(text, str) for text in value.values())
    )


VERBS: Mapping[str, tuple[_Kind, Mapping[str, _Kind]]] = {
    "think": (_TEXT, {"pieces": _COUNT}),
    "say": (_TEXT, {"pieces": _COUNT, "repeat": _COUNT}),
    "call": (
        _TEXT,
        {
            "arguments": _OBJECT,
            "server": _TEXT,
            "save": _NAME,
            "on_result": _STEPS,
            "on_error": _STEPS,
        },
    ),
    "list_tools": (_TRUE, {"server": _TEXT, "save": _NAME, "on_error": _STEPS}),
    "ask": (
        _TEXT,
        {
            "arguments": _OBJECT,
            "output": _TEXT,
            "save": _NAME,
            "withdraw": _WITHDRAW,
            "on_allow": _STEPS,
            "on_deny": _STEPS,
        },
    ),
    "question": (
        _TEXT,
        {
            "choices": _CHOICES,
            "save": _NAME,
            "withdraw": _WITHDRAW,
            "on_allow": _STEPS,
            "on_deny": _STEPS,
        },
    ),
    "plan": (
        _TEXT,
        {"save": _NAME, "withdraw": _WITHDRAW, "on_allow": _STEPS, "on_deny": _STEPS},
    ),
    "together": (_ASKS, {}),
    "result": (_OBJECT, {}),
    "after_result": (_STEPS, {}),
    "linger": (_TRUE, {}),
    "record": (_OBJECT, {}),
    "print": (_TEXT, {"repeat": _COUNT}),
    "stderr": (_TEXT, {"repeat": _COUNT}),
    "flood": (_COUNT, {"text": _TEXT}),
    "touch": (_TEXT, {}),
    "write_file": (_TEXT, {"text": _TEXT}),
    "wait_for_file": (_TEXT, {}),
    "spawn": (_SPAWN, {"pid_file": _TEXT}),
    "ignore_sigterm": (_TRUE, {}),
    "hang": (_TRUE, {}),
    "exit": (_CODE, {}),
    "die": (_SIGNAL, {}),
    "fail": (_TEXT, {}),
}
"""Each step's verb, what its value must be, and the further keys it may have."""


def load(path: str | os.PathLike[str]) -> Script:
    """Read and check a script file.

    Raises:
        ScriptError: It can't be read, is no JSON, or breaks the format;
            the message names the file, the step and the key.
    """
    source = os.fspath(path)
    try:
        data = json.loads(Path(source).read_text(encoding="utf-8"))
    except (OSError, ValueError) as error:
        msg = f"{source}: can't be read as a JSON script: {error}"
        raise ScriptError(msg) from error
    return parse(data, source)


def parse(data: object, source: str) -> Script:
    """Check a script that is already in memory.

    Args:
        data: The script as JSON values.
        source: What to call it in messages.

    Raises:
        ScriptError: It breaks the format; see `load`.
    """
    try:
        top = _object(data, "the script", {"protocol": _PROTOCOL, "turns": _LIST}, ("turns",))
        turns = tuple(_turn(turn, f"turns[{i}]") for i, turn in enumerate(top["turns"]))
    except ScriptError as error:
        msg = f"{source}: {error}"
        raise ScriptError(msg) from None
    return Script(source, top.get("protocol"), turns)


def refuse_asking(script: Script) -> None:
    """Refuse a script with steps that ask, for a CLI that can't.

    Raises:
        ScriptError: It has one.
    """
    for turn in script.turns:
        for step in walk(turn.steps):
            if step.verb in ASKING:
                msg = f"{script.source}: {step.where}.{step.verb}: Cursor can't ask; Claude can"
                raise ScriptError(msg)


def walk(steps: Iterable[Step]) -> Iterator[Step]:
    """Yield all steps, nested ones too."""
    for step in steps:
        yield step
        for value in (step.value, *step.options.values()):
            if isinstance(value, tuple):
                yield from walk(value)


def _refuse(where: str, reason: str) -> NoReturn:
    msg = f"{where}: {reason}"
    raise ScriptError(msg)


def _object(
    data: object, where: str, kinds: Mapping[str, _Kind], required: tuple[str, ...] = ()
) -> dict[str, Any]:
    if not isinstance(data, dict):
        _refuse(where, "must be an object")
    for key in required:
        if key not in data:
            _refuse(f"{where}.{key}", "is missing")
    for key, value in data.items():
        if key not in kinds:
            _refuse(f"{where}.{key}", f"is not known here; known are: {', '.join(kinds)}")
        if not kinds[key].fits(value):
            _refuse(f"{where}.{key}", f"must be {kinds[key].name}")
    return data


def _turn(data: object, where: str) -> Turn:
    turn = _object(data, where, {"when": _OBJECT, "opening": _BOOL, "steps": _STEPS}, ("steps",))
    when = _object(turn.get("when", {}), f"{where}.when", {"prompt": _TEXT, "resumed": _BOOL})
    pattern = None
    if "prompt" in when:
        try:
            pattern = re.compile(when["prompt"])
        except re.error as error:
            _refuse(f"{where}.when.prompt", f"is no regular expression: {error}")
    steps = _steps(turn["steps"], f"{where}.steps")
    return Turn(pattern, when.get("resumed"), turn.get("opening", True), steps)


def _steps(data: list[object], where: str) -> tuple[Step, ...]:
    return tuple(_step(step, f"{where}[{i}]") for i, step in enumerate(data))


def _step(data: object, where: str) -> Step:
    if not isinstance(data, dict):
        _refuse(where, "must be an object")
    verbs = [key for key in data if key in VERBS]
    if len(verbs) != 1:
        found = ", ".join(verbs or data) or "nothing"
        _refuse(where, f"must hold one of {', '.join(VERBS)}; found: {found}")
    verb = verbs[0]
    kind, options = VERBS[verb]
    _object(data, where, {verb: kind, **options})
    values = {key: _value(data[key], {verb: kind, **options}[key], where, key) for key in data}
    return Step(verb, values.pop(verb), values, where)


def _asks(data: list[object], where: str) -> tuple[Step, ...]:
    steps = _steps(data, where)
    for step in steps:
        if step.verb not in ("ask", "question", "plan"):
            _refuse(f"{step.where}.{step.verb}", "does not ask: only ask, question, plan do")
    return steps


def _value(value: Any, kind: _Kind, where: str, key: str) -> Any:
    if kind is _STEPS:
        return _steps(value, f"{where}.{key}")
    if kind is _ASKS:
        return _asks(value, f"{where}.{key}")
    for name in unknown_roots(value):
        _refuse(f"{where}.{key}", f"holds the unknown name {{{{{name}}}}}")
    return value
