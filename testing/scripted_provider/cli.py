"""The command line of the scripted provider, shaped like the Cursor CLI's."""

from __future__ import annotations

import argparse
import os
import signal
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple, NoReturn

from .conversation import Conversation, UnknownConversation
from .player import Player
from .records import Printer
from .script import ScriptError, load
from .toolbox import Toolbox

__all__ = ["main"]

_NAME = "scripted-provider"


class _Places(NamedTuple):
    """The directories that the provider works with."""

    workspace: Path
    home: Path
    data: Path


def main(argv: Sequence[str]) -> int:
    """Play one turn as the arguments ask for.

    Args:
        argv: The arguments, without the program's name.

    Returns:
        The exit code: 0 for success, 1 for a failure such as a real CLI has,
        2 for wrong arguments or a wrong script.
    """
    # Like the real CLI: an interrupt ends the process, without a traceback.
    signal.signal(signal.SIGINT, signal.SIG_DFL)
    options = _parser().parse_args(argv)
    try:
        return _run(options)
    except ScriptError as error:
        return _complain(str(error), 2)
    except BrokenPipeError:
        # Nobody reads any more; keep the interpreter from flushing once more.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 1


def _run(options: argparse.Namespace) -> int:
    script = load(options.script)
    places = _places(options.workspace)
    if not places.workspace.is_dir():
        return _complain(f"Error: Workspace does not exist: {places.workspace}", 1)
    prompt = options.prompt
    if prompt is None:
        prompt = sys.stdin.buffer.read().decode("utf-8", "replace")
    if not prompt.strip():
        return _complain("Error: No prompt provided", 1)
    try:
        conversation = _conversation(places.data, options.resume)
    except UnknownConversation:
        return _complain(f"Error: Conversation not found: {options.resume}", 1)
    turn, match = script.choose(prompt, resumed=options.resume is not None)
    toolbox = Toolbox(
        places.home,
        places.workspace,
        places.data,
        approve_all=options.approve_mcps,
        protocol=script.protocol,
    )
    with toolbox:
        player = Player(
            script.source,
            prompt=prompt,
            match=match,
            workspace=places.workspace,
            conversation=conversation,
            printer=Printer(sys.stdout.buffer),
            toolbox=toolbox,
        )
        return player.play(turn, model=options.model)


def _conversation(data: Path, resume: str | None) -> Conversation:
    return Conversation.start(data) if resume is None else Conversation.resume(data, resume)


def _places(workspace: str | None) -> _Places:
    home = Path(os.environ.get("HOME") or Path.home())
    data = os.environ.get("CURSOR_DATA_DIR")
    return _Places(
        Path(workspace or ".").resolve(), home, Path(data) if data else home / ".cursor"
    )


def _complain(message: str, code: int) -> int:
    print(message, file=sys.stderr, flush=True)
    return code


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
