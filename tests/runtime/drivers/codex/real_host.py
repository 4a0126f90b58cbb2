"""A host program for the real Codex CLI: ``real_host.py COMMAND DIRECTORY``; prints JSON.

Runs in a network namespace of its own, against the scripted model server.
"""

from __future__ import annotations

import json
import os
import sys
from dataclasses import replace
from pathlib import Path
from typing import Any

from toolcrib import Agent, Codex, MemoryStore, RunError, tool
from toolcrib.testing import ModelServer
from toolcrib.testing.model_server import CallTool, RunShell, Say, Turn

UNKNOWN = "01a22fa8-874d-7003-bbd4-f1a496d51bfd"
SCRIPT = [
    Turn([CallTool("lookup_issue", {"key": "A"}), Say("Said {{result}}")], when="look"),
    Turn([RunShell("env"), Say("{{result}}")], when="print"),
]


@tool.define(revision="v1")
def lookup_issue(key: str) -> dict[str, str]:
    """Look up one issue.

    Args:
        key: The issue's key.
    """
    return {"title": f"Title of {key}"}


def main(command: str, directory: Path) -> dict[str, Any]:
    """Run two turns of a thread, a shell command, and a conversation that nobody knows."""
    workspace = directory / "workspace"
    store = MemoryStore()
    with ModelServer(SCRIPT) as model:
        setup = model.codex_profile(directory / "profile")
        config = setup.profile / "config.toml"
        config.write_text(f'sqlite_home = "{directory / "elsewhere"}"\n{config.read_text()}')
        environment = {**setup.environment, "KEPT_OUT": "x", "LET_IN": "x"}
        driver = Codex(
            command=command,
            profile=setup.profile,
            environment=environment,
            # So that Codex trusts the workspace, and reads the repository's settings.
            sandbox="danger-full-access",
        )
        with Agent(driver, tools=[lookup_issue], store=store, workspace=workspace) as agent:
            turns = [agent.thread("t").run("look") for _ in range(2)]
            shell = agent.run("print").text
            lease = store.acquire("t", "me")
            record = store.load("t")
            assert record is not None
            store.commit(lease, replace(record, session_id=UNKNOWN))
            store.release(lease)
            try:
                agent.thread("t").run("look")
                unknown = ""
            except RunError as error:
                unknown = error.reason
        return {
            "texts": [turn.text for turn in turns],
            "input_tokens": [turn.usage and turn.usage.input_tokens for turn in turns],
            "sessions": [turn.session_id for turn in turns],
            "history": [len(request.messages) for request in model.requests],
            "shell": shell,
            "variable": agent.token_variable,
            "unknown": unknown,
            "elsewhere": (directory / "elsewhere").exists(),
        }


if __name__ == "__main__":
    os.umask(0o077)
    print(json.dumps(main(sys.argv[1], Path(sys.argv[2]))))  # noqa: T201
