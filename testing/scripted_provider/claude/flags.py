"""Claude Code's command line, as far as it is understood here."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any, NamedTuple

from ..player import Exit

__all__ = ["Options", "parse"]

_SWITCHES = (
    "-p",
    "--print",
    "--verbose",
    "--include-partial-messages",
    "--chrome",
    "--no-chrome",
)
_VALUED = (
    "--script",
    "--input-format",
    "--output-format",
    "--model",
    "--effort",
    "--permission-mode",
    "--permission-prompt-tool",
    "--resume",
    "--append-system-prompt",
    "--append-system-prompt-file",
    "--system-prompt-snapshot",
    "--json-schema",
    "--mcp-config",
)
_LISTS = ("--allowedTools", "--disallowedTools")
_MODEL = "claude-scripted"


class Options(NamedTuple):
    """What the process was started with."""

    script: str
    """The script's file."""
    model: str
    """The model's name."""
    mode: str
    """The permission mode."""
    resume: str | None
    """The conversation to go on with."""
    instructions: str
    """What the model is told before the prompt; may be empty."""
    schema: Any
    """What the answer has to be, as a JSON Schema; ``None`` takes any text."""
    servers: str | None
    """A further file of servers."""
    partial: bool
    """Whether messages are told piece by piece as well."""
    prompts: bool
    """Whether decisions are asked for on standard output."""
    allowed: tuple[str, ...]
    """The tools, or ``mcp__`` servers, that nobody is asked about."""
    disallowed: tuple[str, ...]
    """The tools that are not there."""


def parse(argv: Sequence[str]) -> Options:
    """Read the arguments.

    Raises:
        Exit: They are wrong, with what to say.
    """
    switches, values, lists = _read(list(argv))
    formats = (values.get("--input-format"), values.get("--output-format"))
    if not switches & {"-p", "--print"} or formats != ("stream-json", "stream-json"):
        raise Exit(1, "Error: only -p with the format stream-json, in and out, is known here")
    if "--verbose" not in switches:
        raise Exit(1, "Error: --print with --output-format=stream-json requires --verbose")
    if "--script" not in values:
        raise Exit(2, "Error: --script is missing")
    return Options(
        script=values["--script"],
        model=values.get("--model", _MODEL),
        mode=values.get("--permission-mode", "default"),
        resume=values.get("--resume"),
        instructions=_instructions(values),
        schema=_schema(values.get("--json-schema")),
        servers=values.get("--mcp-config"),
        partial="--include-partial-messages" in switches,
        prompts=_prompts(values.get("--permission-prompt-tool")),
        allowed=tuple(lists.get("--allowedTools", ())),
        disallowed=tuple(lists.get("--disallowedTools", ())),
    )


def _read(rest: list[str]) -> tuple[set[str], dict[str, str], dict[str, list[str]]]:
    switches: set[str] = set()
    values: dict[str, str] = {}
    lists: dict[str, list[str]] = {}
    while rest:
        name, equals, value = rest.pop(0).partition("=")
        if name in _SWITCHES and not equals:
            switches.add(name)
        elif name in _VALUED:
            if not equals and not rest:
                raise Exit(1, f"error: option '{name}' argument missing")
            values[name] = value if equals else rest.pop(0)
        elif name in _LISTS:
            given = [value] if equals else []
            while rest and not rest[0].startswith("-"):
                given.append(rest.pop(0))
            lists[name] = [tool for text in given for tool in text.replace(",", " ").split()]
        else:
            raise Exit(1, f"error: unknown option '{name}'")
    return switches, values, lists


def _prompts(tool: str | None) -> bool:
    if tool not in (None, "stdio"):
        raise Exit(1, f"Error: the permission prompt tool {tool} is not known here; stdio is")
    return tool is not None


def _instructions(values: dict[str, str]) -> str:
    path = values.get("--append-system-prompt-file")
    if path is None:
        return values.get("--append-system-prompt", "")
    try:
        return Path(path).read_text(encoding="utf-8")
    except OSError as error:
        raise Exit(1, f"Error: {path} can't be read: {error.strerror}") from error


def _schema(text: str | None) -> Any:
    try:
        return None if text is None else json.loads(text)
    except ValueError as error:
        raise Exit(1, f"Error: --json-schema is not valid JSON: {error}") from error
