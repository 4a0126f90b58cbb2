"""The command line: ``toolcrib demo`` and ``toolcrib diagrams``."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence
from pathlib import Path

__all__ = ["main"]


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command line.

    Args:
        arguments: The arguments; ``None`` takes those of the process.

    Returns:
        The process's exit code.
    """
    chosen = _parser().parse_args(arguments)
    command = {"demo": _demo, "diagrams": _diagrams}[chosen.command]
    return command(chosen)


def _parser() -> argparse.ArgumentParser:
    from . import __version__

    parser = argparse.ArgumentParser(
        prog="toolcrib",
        description="Lend a coding agent your application's own typed Python functions.",
    )
    parser.add_argument("--version", action="version", version=f"toolcrib {__version__}")
    commands = parser.add_subparsers(dest="command", required=True)
    demo = commands.add_parser(
        "demo", help="run the main job, by default with no account and no network"
    )
    demo.add_argument("prompt", nargs="?", default="Is ISSUE-42 still open?", help="what to ask")
    demo.add_argument(
        "--driver",
        choices=("scripted", "codex", "claude", "codebuddy"),
        default="scripted",
        help="the provider: the scripted stand-in, or an installed, logged-in CLI "
        "(default: %(default)s)",
    )
    demo.add_argument(
        "--offline",
        action="store_true",
        help="let the installed CLI talk to a scripted model on this machine: no account, "
        "no network",
    )
    demo.add_argument(
        "--diagram",
        type=Path,
        default=Path("toolcrib-demo.mmd"),
        help="where to write the run's sequence diagram (default: %(default)s)",
    )
    diagrams = commands.add_parser(
        "diagrams", help="draw the sequence diagrams of a run and a close, from real ones"
    )
    diagrams.add_argument("directory", type=Path, help="where to write run.mmd and close.mmd")
    return parser


def _demo(chosen: argparse.Namespace) -> int:
    from .demo import run_demo

    return run_demo(
        chosen.prompt,
        sys.stdout,
        chosen.diagram,
        provider=chosen.driver,
        offline=chosen.offline,
    )


def _diagrams(chosen: argparse.Namespace) -> int:
    from .demo import PROMPT
    from .demo.recording import close_diagram, run_diagram
    from .runtime.tracing import write

    for name, text in (("run.mmd", run_diagram(PROMPT)), ("close.mmd", close_diagram())):
        path = chosen.directory / name
        print(f"{path}: {'written' if write(path, text) else 'unchanged'}")
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
