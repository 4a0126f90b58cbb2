"""A process of Claude Code: a conversation over standard input and output."""

from __future__ import annotations

import os
import re
import sys
import uuid
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from ..conversation import Conversation, is_session_id
from ..player import Exit, Player
from ..printer import Printer
from ..script import Script, load
from ..toolbox import Toolbox
from .desk import Desk
from .flags import Options, parse
from .frames import Frames
from .records import Records
from .teller import ClaudeTeller

if TYPE_CHECKING:
    from ..servers import Server

__all__ = ["run"]

_PROTOCOL = "2026-07-28"
"""What the real CLI speaks, where the script does not say."""


class _Profile(NamedTuple):
    """Where the CLI keeps things."""

    config: Path
    projects: Path


def run(argv: Sequence[str]) -> int:
    """Play a turn for each prompt until the input ends, and return the exit code.

    Raises:
        Exit: The process has to end at once.
        ScriptError: The script is wrong.
    """
    options = parse(argv)
    script = load(options.script)
    printer = Printer(sys.stdout.buffer)
    frames = Frames(sys.stdin.fileno(), printer)
    prompt = frames.prompt()
    if prompt is None:
        raise Exit(1, "Error: Input must be provided on stdin")
    profile, workspace = _profile(), Path.cwd()
    session_id, path = _conversation(profile, workspace, options, printer)
    resumed, code = options.resume is not None, 0
    with Toolbox(_finder(options, profile, workspace), script.protocol or _PROTOCOL) as toolbox:
        while prompt is not None:
            conversation = Conversation(session_id, path)
            turn = _Turn(script, options, printer, frames, toolbox, workspace, conversation)
            code = turn.play(prompt, resumed=resumed)
            prompt, resumed = frames.prompt(), True
    return code


class _Turn(NamedTuple):
    script: Script
    options: Options
    printer: Printer
    frames: Frames
    toolbox: Toolbox
    workspace: Path
    conversation: Conversation

    def play(self, prompt: str, *, resumed: bool) -> int:
        if not prompt.strip():
            raise Exit(1, "Error: No prompt provided")
        turn, match = self.script.choose(prompt, resumed=resumed)
        options = self.options
        records = Records(self.conversation.session_id, options.model)
        cwd = str(self.workspace)
        player = Player(
            self.script.source,
            prompt=prompt,
            match=match,
            workspace=self.workspace,
            conversation=self.conversation,
            printer=self.printer,
            toolbox=self.toolbox,
            teller=ClaudeTeller(self.printer, records, self.toolbox, cwd=cwd, options=options),
            options=_named(options),
            desk=Desk(
                self.printer,
                self.frames,
                records,
                prompts=options.prompts,
                allowed=options.allowed,
                disallowed=options.disallowed,
            ),
        )
        return player.play(turn)


def _named(options: Options) -> dict[str, Any]:
    return {
        "model": options.model,
        "instructions": options.instructions,
        "schema": "" if options.schema is None else options.schema,
        "resume": options.resume or "",
    }


def _profile() -> _Profile:
    moved = os.environ.get("CLAUDE_CONFIG_DIR")
    if moved:
        return _Profile(Path(moved, ".claude.json"), Path(moved, "projects"))
    home = Path(os.environ.get("HOME") or Path.home())
    return _Profile(home / ".claude.json", home / ".claude" / "projects")


def _conversation(
    profile: _Profile, workspace: Path, options: Options, printer: Printer
) -> tuple[str, Path]:
    resume = options.resume
    if resume is None:
        session_id = str(uuid.uuid4())
        slug = re.sub(r"[^A-Za-z0-9]", "-", str(workspace))
        return session_id, profile.projects / slug / f"{session_id}.jsonl"
    # The id comes from argv: it must not lead out of the directory.
    known = profile.projects.glob(f"*/{resume}.jsonl") if is_session_id(resume) else ()
    for path in known:
        return resume, path
    message = f"No conversation found with session ID: {resume}"
    failure = {
        "subtype": "error_during_execution",
        "is_error": True,
        "result": None,
        "errors": [message],
        "num_turns": 0,
        "terminal_reason": None,
    }
    printer.record(Records(resume, options.model).result("", (0, 0), 0, failure))
    raise Exit(1, message)


def _finder(options: Options, profile: _Profile, workspace: Path) -> Callable[[str], Server]:
    def find(key: str) -> Server:
        # Only turns that call something need it.
        from .servers import find_server

        return find_server(
            key,
            config=profile.config,
            workspace=workspace,
            more=None if options.servers is None else Path(options.servers),
            environment=os.environ,
        )

    return find
