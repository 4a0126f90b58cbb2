"""One host program for every provider; `_driver` is all that differs.

Reads what to do as JSON from standard input, says what it saw as lines of JSON
on standard output. It uses the public names of the package only.
"""

from __future__ import annotations

import dataclasses
import json
import os
import signal
import sys
import threading
import time
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from staging.own_driver import Own
from staging.scan import descendants, leaks, token_of, tree_of

import toolcrib
from toolcrib import (
    Agent,
    AgentDefinition,
    ApprovalRequest,
    Approvals,
    Driver,
    Event,
    MemoryStore,
    Policy,
    Resources,
    Skill,
    StdioServer,
    Stream,
    System,
    Thread,
    ToolcribError,
    tool,
)
from toolcrib.errors import RunError
from toolcrib.testing import scripted_cursor

_speaking = threading.Lock()


def say(what: str, **facts: Any) -> None:
    with _speaking:
        sys.stdout.write(json.dumps({"what": what, "at": time.monotonic(), **facts}) + "\n")
        sys.stdout.flush()


def _driver(provider: str, options: dict[str, Any]) -> Driver:
    match provider:
        case "codex":
            return toolcrib.Codex(**options)
        case "claude":
            return toolcrib.Claude(**options)
        case "codebuddy":
            return toolcrib.CodeBuddy(**options)
        case "cursor":
            return scripted_cursor(**options)
        case "cursor-sdk":
            return toolcrib.Cursor(**options)
    return Own(**options)


@dataclass
class LookupInput:
    key: str
    """The issue's key, such as ISSUE-42."""


@dataclass
class LookupOutput:
    title: str
    state: str


class Host:
    """The Agent and its tools, with eyes."""

    def __init__(self, spec: dict[str, Any]) -> None:
        self._spec = spec
        self._folder = Path(spec["folder"])
        self._clones = Path(spec["clones"])
        self._system = System(clones=self._clones, port=spec.get("port", 0))
        self._token: str | None = None
        self._stream: Stream | None = None
        self._act = ""
        tools = [
            tool.define(
                "lookup_issue", "Look up one issue by key.", self.lookup_issue, revision="v1"
            ),
            tool.define("refuse", "Refuse, always.", self.refuse, revision="v1"),
            tool.define("crash", "Crash, always.", self.crash, revision="v1"),
            tool.define("hold", "Wait for something.", self.hold, revision="v1"),
        ]
        self._agent = Agent(
            _driver(spec["provider"], spec["options"]),
            tools=tools,
            store=self._store(),
            workspace=spec["workspace"],
            system=self._system,
        )
        say("agent", variable=self._agent.token_variable, marker=self._system.host)

    def lookup_issue(self, request: LookupInput) -> LookupOutput:
        self._look("lookup_issue", {"key": request.key})
        return LookupOutput(title=f"Title of {request.key}", state="open-7731")

    def refuse(self) -> str:
        self._look("refuse", {})
        raise tool.reject("not_found", "Choose the key of an issue that exists.")

    def crash(self) -> str:
        self._look("crash", {})
        msg = "the database password is hunter2"
        raise RuntimeError(msg)

    def hold(self, context: tool.Context) -> str:
        self._look("hold", {}, tree=tree_of(self._system.host))
        match self._act:
            case "cancel":
                assert self._stream is not None
                self._stream.cancel()
            case "SIGTERM" | "SIGKILL":
                os.kill(self._provider(), signal.Signals[self._act])
        context.wait_cancelled(50.0)
        return "the wait is over"

    def play(self) -> None:
        with self._agent as agent:
            for turn in self._spec["turns"]:
                self._act = turn.get("act", "")
                if turn.get("rename"):
                    self._rename(turn["thread"], turn["rename"])
                where = agent.thread(turn["thread"]) if turn.get("thread") else agent
                given = {"timeout": turn.get("timeout", 50.0), **options_of(turn)}
                try:
                    if turn.get("silent"):
                        self._run(where, turn, given)
                        continue
                    self._stream = where.stream(turn["prompt"], **given)
                except ToolcribError as error:
                    say("turn", events=[], result=None, error=_failure(error), leaks=[])
                    continue
                self._follow(self._stream, [*turn.get("answers", [])])
        say("closed", clones=self._clone_names())
        self._kept.save(self._spec["store"])
        self._system.stop()

    def _run(self, where: Agent | Thread, turn: dict[str, Any], given: dict[str, Any]) -> None:
        """Run without looking at any event, and perhaps for a value of a type."""
        result, error = None, None
        try:
            if turn.get("typed"):
                result = _plain(where.run_as(Verdict, turn["prompt"], **given))
            else:
                result = _plain(where.run(turn["prompt"], **given))
        except ToolcribError as raised:
            error = _failure(raised)
        say("turn", events=[], result=result, error=error, leaks=self._leaks())

    def _follow(self, stream: Stream, answers: list[dict[str, Any]]) -> None:
        events = []
        held: list[ApprovalRequest] = []
        for event in stream:
            events.append(_plain_event(event))
            if isinstance(event, ApprovalRequest):
                held.append(event)
                # A hold lets a request wait until the next one is there.
                if answers and "hold" not in answers[0]:
                    for request in held:
                        settle(request, stream, answers.pop(0))
                    held.clear()
                elif answers:
                    answers.pop(0)
            if events[-1].get("kind") == "spawned":
                self._token = token_of(self._agent.token_variable)
                say("spawned", token=self._token)
        result, error = None, None
        try:
            result = _plain(stream.result())
        except ToolcribError as raised:
            error = _failure(raised)
        say("turn", events=events, result=result, error=error, leaks=self._leaks())

    def _store(self) -> MemoryStore:
        path = Path(self._spec["store"])
        self._kept = MemoryStore.load_from(path) if path.exists() else MemoryStore()
        return self._kept

    def _rename(self, key: str, session_id: str) -> None:
        """Let a thread name a conversation that nobody knows."""
        lease = self._kept.acquire(key, "us")
        record = self._kept.load(key)
        assert record is not None
        self._kept.commit(lease, dataclasses.replace(record, session_id=session_id))
        self._kept.release(lease)

    def _look(self, name: str, arguments: dict[str, Any], **facts: Any) -> None:
        say(
            "call",
            tool=name,
            arguments=arguments,
            token=self._token,
            leaks=self._leaks(),
            clones=self._clone_names(),
            processes=[process.name() for process in descendants()],
            **facts,
        )

    def _leaks(self) -> list[str]:
        return leaks(self._token, self._folder) if self._token else []

    def _clone_names(self) -> list[str]:
        return sorted(str(path) for path in self._clones.glob("*/*/profile"))

    def _provider(self) -> int:
        # The provider is a child of ours and carries the token; the guard doesn't.
        for process in descendants():
            if process.ppid() == os.getpid() and self._agent.token_variable in process.environ():
                return process.pid
        msg = f"no provider among {descendants()}"
        raise LookupError(msg)


@dataclass
class Verdict:
    """What a typed run answers."""

    key: str
    open: bool


def options_of(turn: dict[str, Any]) -> dict[str, Any]:
    """Return the options of a turn."""
    options: dict[str, Any] = dict(turn.get("options", {}))
    if "policy" in turn:
        policy = dict(turn["policy"])
        approvals = Approvals(**policy.pop("approvals", {}))
        options["policy"] = Policy(approvals=approvals, **policy)
    if "skills" in turn:
        options["skills"] = [Skill(**skill) for skill in turn["skills"]]
    if "mcp" in turn:
        options["mcp"] = [StdioServer(**server) for server in turn["mcp"]]
    if "resources" in turn:
        agents = tuple(AgentDefinition(**agent) for agent in turn["resources"].get("agents", ()))
        config = turn["resources"].get("config", {})
        options["resources"] = Resources(agents=agents, config=config)
    return options


def settle(request: ApprovalRequest, stream: Stream, answer: dict[str, Any]) -> None:
    """Do with a request what the scene says."""
    match answer:
        case {"approve": arguments}:
            request.approve(arguments)
        case {"deny": reason}:
            request.deny(reason)
        case {"answer": text}:
            request.answer(text)
        case {"cancel": _}:
            stream.cancel()


def _failure(error: ToolcribError) -> dict[str, Any]:
    facts: dict[str, Any] = {"type": type(error).__name__, "message": str(error)}
    if isinstance(error, RunError):
        facts |= {"reason": str(error.reason), "result": _plain(error.result)}
    return facts


def _plain_event(event: Event) -> dict[str, Any]:
    fields = {field.name: getattr(event, field.name) for field in dataclasses.fields(event)}
    return {
        "type": type(event).__name__,
        **{name: _plain(value) for name, value in fields.items()},
    }


def _plain(value: Any) -> Any:
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        return {each.name: _plain(getattr(value, each.name)) for each in dataclasses.fields(value)}
    if isinstance(value, Mapping):
        return {str(name): _plain(each) for name, each in value.items()}
    if isinstance(value, list | tuple):
        return [_plain(each) for each in value]
    return value if isinstance(value, str | int | float | bool | None) else str(value)


if __name__ == "__main__":
    Host(json.load(sys.stdin)).play()
