"""The providers that the demonstration can run."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator, Mapping
from contextlib import AbstractContextManager, contextmanager, nullcontext
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeAlias

from ..data import load_demo_script
from ..runtime.drivers.interface import Driver
from ..testing import (
    CallTool,
    ModelRequest,
    ModelServer,
    ProviderSetup,
    Reply,
    Say,
    scripted_cursor,
)

__all__ = ["Opener", "advice", "choose", "scripted"]

Opener: TypeAlias = Callable[[Path], AbstractContextManager[Driver]]
"""Makes a driver, with a directory for the files that it needs."""

_KEY = re.compile(r"\b[A-Z]+-[0-9]+\b")


def _codex(**options: Any) -> Driver:
    from ..runtime.drivers.codex import Codex

    return Codex(**options)


def _claude(**options: Any) -> Driver:
    from ..runtime.drivers.claude import Claude

    return Claude(**options)


def _codebuddy(**options: Any) -> Driver:
    from ..runtime.drivers.codebuddy import CodeBuddy

    return CodeBuddy(**options)


@dataclass(frozen=True, slots=True)
class _Real:
    driver: Callable[..., Driver]
    setup: Callable[[ModelServer, Path], ProviderSetup]
    install: str


_REAL = {
    "codex": _Real(
        _codex,
        ModelServer.codex_profile,
        "`npm install -g @openai/codex` or `pip install openai-codex-cli-bin`",
    ),
    "claude": _Real(
        _claude,
        ModelServer.claude_profile,
        "`npm install -g @anthropic-ai/claude-code` or `pip install claude-agent-sdk`",
    ),
    "codebuddy": _Real(
        _codebuddy,
        ModelServer.codebuddy_profile,
        "`npm install -g @tencent-ai/codebuddy-code` or `pip install codebuddy-agent-sdk`",
    ),
}


def choose(name: str, *, offline: bool) -> Opener:
    """Return what makes the driver of this name.

    Args:
        name: ``scripted``, ``codex``, ``claude`` or ``codebuddy``.
        offline: Let a real CLI talk to a scripted model on this machine, with a
            profile of its own, instead of the user's account.
    """
    if name == "scripted":
        return scripted()
    real = _REAL[name]
    return _offline(real) if offline else lambda _: nullcontext(real.driver())


def scripted(script: Mapping[str, Any] | None = None) -> Opener:
    """Return what makes the scripted provider play a script, or the demonstration's."""
    return lambda folder: nullcontext(
        scripted_cursor(script or load_demo_script(), directory=folder)
    )


def advice(name: str) -> str:
    """Say how a provider's CLI is installed; empty for the scripted one."""
    return f"Install it with {_REAL[name].install}." if name in _REAL else ""


def _offline(real: _Real) -> Opener:
    @contextmanager
    def opened(folder: Path) -> Iterator[Driver]:
        with ModelServer(_answer) as server:
            setup = real.setup(server, folder / "profile")
            yield real.driver(
                profile=setup.profile, model=setup.model, environment=setup.environment
            )

    return opened


def _answer(request: ModelRequest) -> Reply:
    key = _KEY.search(request.prompt)
    if key is None:
        return Say("Which issue do you mean? I need a key, such as ISSUE-42.")
    if not request.results:
        return (Say(f"Let me look up {key[0]}."), CallTool("lookup_issue", {"key": key[0]}))
    match _parsed(request.results[-1].text):
        case {"title": title, "state": state}:
            return Say(f"{key[0]}, “{title}”, is {state}.")
        case {"code": code, "message": message}:
            return Say(f"I can't tell about {key[0]}: the tool answered {code}, “{message}”")
    return Say("The tool says: {{result}}")


def _parsed(text: str) -> Any:
    """Return the JSON object in a tool's result, whatever the provider put around it."""
    start = text.find("{")
    if start < 0:
        return None
    try:
        found, _ = json.JSONDecoder().raw_decode(text, start)
    except ValueError:
        return None
    # CodeBuddy gives its model the content blocks of the result, as JSON.
    return _parsed(found["text"]) if found.get("type") == "text" else found
