"""The Cursor CLI's command line."""

from __future__ import annotations

import argparse
import os
import sys
import uuid
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple, NoReturn

from ..conversation import Conversation, UnknownConversation, is_session_id
from ..player import Exit, Player
from ..printer import Printer
from ..script import load, refuse_asking
from ..toolbox import Toolbox
from .teller import CursorTeller

if TYPE_CHECKING:
    from ..servers import Server

__all__ = ["run"]

_NAME = "scripted-provider"
_PROTOCOL = "2025-11-25"
"""What the real CLI speaks, where the script does not say."""


class _Places(NamedTuple):
    """The directories that the provider works with."""

    workspace: Path
    home: Path
    data: Path


def run(argv: Sequence[str]) -> int:
    """Play one turn as the arguments ask for, and return the exit code.

    Raises:
        Exit: The process has to end at once.
        ScriptError: The script is wrong.
    """
    options = _parser().parse_args(argv)
    script = load(options.script)
    refuse_asking(script)
    places = _places(options.workspace)
    if not places.workspace.is_dir():
        raise Exit(1, f"Error: Workspace does not exist: {places.workspace}")
    prompt = options.prompt
    if prompt is None:
        prompt = sys.stdin.buffer.read().decode("utf-8", "replace")
    if not prompt.strip():
        raise Exit(1, "Error: No prompt provided")
    try:
        conversation = _conversation(places.data, options.resume)
    except UnknownConversation as error:
        raise Exit(1, f"Error: Conversation not found: {options.resume}") from error
    turn, match = script.choose(prompt, resumed=options.resume is not None)
    cwd = str(places.workspace)
    printer = Printer(sys.stdout.buffer)
    with Toolbox(_finder(options, places), script.protocol or _PROTOCOL) as toolbox:
        player = Player(
            script.source,
            prompt=prompt,
            match=match,
            workspace=places.workspace,
            conversation=conversation,
            printer=printer,
            toolbox=toolbox,
            teller=CursorTeller(printer, conversation.session_id, cwd=cwd, model=options.model),
            options={"model": options.model, "resume": options.resume or ""},
        )
        return player.play(turn)


def _finder(options: argparse.Namespace, places: _Places) -> Callable[[str], Server]:
    def find(key: str) -> Server:
        # Only scripts that call something need it.
        from .servers import find_server

        return find_server(
            key,
            workspace=places.workspace,
            home=places.home,
            data=places.data,
            environment=os.environ,
            approve_all=options.approve_mcps,
        )

    return find


def _conversation(data: Path, resume: str | None) -> Conversation:
    session_id = str(uuid.uuid4()) if resume is None else resume
    path = data / "chats" / session_id / "transcript.jsonl"
    # The id comes from argv: it must not lead out of the directory.
    if resume is not None and not (is_session_id(resume) and path.is_file()):
        raise UnknownConversation(resume)
    return Conversation(session_id, path)


def _places(workspace: str | None) -> _Places:
    home = Path(os.environ.get("HOME") or Path.home())
    data = os.environ.get("CURSOR_DATA_DIR")
    return _Places(
        Path(workspace or ".").resolve(), home, Path(data) if data else home / ".cursor"
    )


class _Parser(argparse.ArgumentParser):
    def error(self, message: str) -> NoReturn:
        self.exit(2, f"{self.prog}: error: {message}\n")


class _Version(argparse.Action):
    def __call__(self, parser: argparse.ArgumentParser, *_: object) -> NoReturn:
        # Slow to import, so not before it is asked for.
        from importlib.metadata import version

        print(f"{_NAME} {version('toolcrib')}")
        parser.exit()


def _parser() -> argparse.ArgumentParser:
    parser = _Parser(prog=_NAME, allow_abbrev=False, description="A stand-in for the Cursor CLI.")
    parser.add_argument("--script", required=True, help="the script to play, a JSON file")
    parser.add_argument("--version", action=_Version, nargs=0, help="print the version")
    parser.add_argument("-p", "--print", action="store_true", required=True)
    parser.add_argument("--output-format", choices=["stream-json"], required=True)
    parser.add_argument("--workspace", help="the directory to work in")
    parser.add_argument("--resume", metavar="ID", help="the conversation to go on with")
    parser.add_argument("--model", default="Auto")
    parser.add_argument("--mode", choices=["agent", "ask", "plan"])
    parser.add_argument("-f", "--force", "--yolo", action="store_true")
    parser.add_argument("--trust", action="store_true")
    parser.add_argument("--approve-mcps", action="store_true")
    parser.add_argument("prompt", nargs="?", help="read from standard input where it is left out")
    return parser
