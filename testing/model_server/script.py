"""From a script to what is answered to one request."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

from ...errors import ConfigurationError
from .answer import Answer, Refusal, Text, Thought, ToolUse
from .exchange import ModelRequest, OfferedTool
from .replies import (
    CallTool,
    Part,
    Refuse,
    Reply,
    RunShell,
    Say,
    Script,
    Think,
    Turn,
    WritePlan,
)

__all__ = ["follow_the_prompt", "resolve", "responder"]

# A line of the prompt: CALL and SHELL at its beginning, whatever a provider puts around it.
_ORDER = re.compile(r"^[^\S\n]*(CALL|SHELL)[ \t]+(.+)$", re.MULTILINE)
_NAME = re.compile(r"\{\{(result|prompt)\}\}")
_PARTS = (Say, Think, CallTool, RunShell, WritePlan, Refuse)
_PLAN = re.compile(r"/[^\s\"'`]*/plans/[\w-]+\.md")

# The shell tools of the providers, and how each is given a command line.
_SHELLS: dict[str, Callable[[str], dict[str, Any]]] = {
    "exec_command": lambda line: {"cmd": line},
    "shell_command": lambda line: {"command": line},
    "shell": lambda line: {"command": ["bash", "-c", line]},
    "Bash": lambda line: {"command": line, "description": "Run a command"},
}


def responder(script: Script | None) -> Callable[[ModelRequest], Reply]:
    """Return the function that a script comes to.

    Raises:
        ConfigurationError: The script can't be played; the message says where.
    """
    if script is None:
        return follow_the_prompt
    if callable(script):
        return script
    if isinstance(script, str | bytes) or not isinstance(script, Sequence) or not script:
        msg = f"The model's script is {script!r}. Give a list of steps or turns, or a function."
        raise ConfigurationError(msg)
    turns = tuple(part for part in script if isinstance(part, Turn))
    if turns and len(turns) != len(script):
        msg = "The model's script mixes turns and steps. Put the steps into a Turn."
        raise ConfigurationError(msg)
    steps = [part for part in script if not isinstance(part, Turn)]
    return _Player(turns or (Turn(steps),))


class _Player:
    """Plays turns. It keeps no state, so that a provider may ask twice."""

    def __init__(self, turns: Sequence[Turn]) -> None:
        self._turns = [
            (_pattern(turn.when, number), _checked(turn.steps, number))
            for number, turn in enumerate(turns)
        ]

    def __call__(self, request: ModelRequest) -> Reply:
        for pattern, steps in self._turns:
            if pattern.search(request.prompt):
                return steps[min(request.step, len(steps) - 1)]
        return Say(f"The script has no turn for the prompt {request.prompt!r}.")


def _pattern(when: str, number: int) -> re.Pattern[str]:
    try:
        return re.compile(when)
    except re.error as error:
        msg = f"Turn {number} of the model's script: {when!r} is no regular expression: {error}."
        raise ConfigurationError(msg) from error


def _checked(steps: Sequence[Reply], number: int) -> tuple[tuple[Part, ...], ...]:
    if not steps:
        msg = f"Turn {number} of the model's script has no steps. Give it one, such as Say('Hi')."
        raise ConfigurationError(msg)
    return tuple(_parts(step, f"Step {n} of turn {number}") for n, step in enumerate(steps))


def _parts(reply: Reply, where: str) -> tuple[Part, ...]:
    """Return a reply's parts."""
    parts = (reply,) if isinstance(reply, _PARTS) else reply
    if isinstance(parts, str | bytes) or not isinstance(parts, Sequence) or not parts:
        msg = f"{where} of the model's script is {reply!r}. Give a Say, a CallTool, or several."
        raise ConfigurationError(msg)
    for part in parts:
        if not isinstance(part, _PARTS):
            msg = f"{where} of the model's script holds {part!r}. Give a Say, a CallTool, …"
            raise ConfigurationError(msg)
        if isinstance(part, Refuse) and (len(parts) > 1 or not 400 <= part.status <= 599):
            msg = f"{where} of the model's script: Refuse stands alone, with a status 400 to 599."
            raise ConfigurationError(msg)
    return tuple(parts)


def follow_the_prompt(request: ModelRequest) -> Reply:
    """Do what the prompt says, then quote what came back.

    Each line ``CALL tool {json}`` is a call, each line ``SHELL command`` a
    command for the provider's shell tool; all of them are made at once.
    """
    if request.results:
        said = "\n".join(result.text for result in request.results)
        return Say(f"The tool said: {said}")
    orders = [_order(*match.groups()) for match in _ORDER.finditer(request.prompt)]
    return orders or Say(f"You said: {request.prompt}")


def _order(verb: str, rest: str) -> Part:
    if verb == "SHELL":
        return RunShell(rest.strip())
    name, _, arguments = rest.strip().partition(" ")
    try:
        parsed = json.loads(arguments or "{}")
    except ValueError as error:
        return Say(f"I can't read the arguments {arguments!r}: {error}")
    if not isinstance(parsed, dict):
        return Say(f"The arguments {arguments!r} are no JSON object.")
    return CallTool(name, parsed)


def resolve(request: ModelRequest, reply: Reply) -> Answer:
    """Return what to send: names filled in, tools found, calls numbered."""
    parts = _parts(reply, "The answer")
    first = parts[0]
    if isinstance(first, Refuse):
        return Refusal(first.status, first.message)
    return tuple(_blocks(request, parts))


def _blocks(request: ModelRequest, parts: Sequence[Part]) -> Iterator[Text | Thought | ToolUse]:
    for number, part in enumerate(parts):
        match part:
            case Say(text=text):
                yield Text(_filled(request, text))
            case Think(text=text):
                yield Thought(_filled(request, text))
            case CallTool(name=name, arguments=arguments):
                yield _use(request, number, name, request.find(name), arguments)
            case RunShell(command=command):
                shell = next((tool for name in _SHELLS if (tool := request.find(name))), None)
                arguments = _SHELLS[shell.name](command) if shell else {}
                yield _use(request, number, "a shell", shell, arguments)
            case WritePlan(text=text):
                yield _plan(request, number, text)


def _plan(request: ModelRequest, number: int, text: str) -> Text | ToolUse:
    # It stands in the system prompt or in what the provider inserts.
    said = (message.text for message in request.messages if message.role in {"system", "user"})
    found = _PLAN.search("\n".join(said))
    if found is None:
        return Text("There is no file for a plan.")
    arguments = {"file_path": found[0], "content": text}
    return _use(request, number, "Write", request.find("Write"), arguments)


def _use(
    request: ModelRequest,
    number: int,
    name: str,
    tool: OfferedTool | None,
    arguments: Mapping[str, Any],
) -> Text | ToolUse:
    if tool is None:
        offered = ", ".join(sorted(tool.full_name for tool in request.tools))
        return Text(f"There is no tool {name}. Offered: {offered or 'none'}.")
    return ToolUse(tool, json.dumps(dict(arguments), ensure_ascii=False), request.step, number)


def _filled(request: ModelRequest, text: str) -> str:
    result = request.results[-1].text if request.results else ""
    values = {"result": result, "prompt": request.prompt}
    return _NAME.sub(lambda match: values[match[1]], text)
