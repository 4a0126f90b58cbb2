"""The start of the scripted provider: which CLI it is, and how it ends."""

from __future__ import annotations

import os
import signal
import sys
from collections.abc import Sequence

from .player import Exit
from .script import ScriptError

__all__ = ["main"]


def main(argv: Sequence[str]) -> int:
    """Play what the arguments ask for.

    Args:
        argv: The arguments, without the program's name. Those of Claude Code
            name an input format, those of Cursor don't.

    Returns:
        The exit code: 0 for success, 1 for a failure such as a real CLI has,
        2 for wrong arguments or a wrong script.
    """
    # Like the real CLIs: an interrupt ends the process, without a traceback.
    signal.signal(signal.SIGINT, signal.SIG_DFL)
    try:
        return _run(argv)
    except Exit as end:
        return _complain(end.message, end.code)
    except ScriptError as error:
        return _complain(str(error), 2)
    except BrokenPipeError:
        # Nobody reads any more; keep the interpreter from flushing once more.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 1


def _run(argv: Sequence[str]) -> int:
    # Only one of them, since each takes a while to import.
    if any(argument.partition("=")[0] == "--input-format" for argument in argv):
        from .claude.cli import run
    else:
        from .cursor.cli import run
    return run(argv)


def _complain(message: str, code: int) -> int:
    if message:
        print(message, file=sys.stderr, flush=True)
    return code
