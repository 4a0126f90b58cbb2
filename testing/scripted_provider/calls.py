"""The steps that need an MCP server."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from .asks import permitted
from .servers import Unavailable
from .telling import Answer, Call

if TYPE_CHECKING:
    from .mcp_client import Connection
    from .player import Player
    from .script import Step

__all__ = ["call", "list_tools"]


def call(player: Player, step: Step) -> None:
    """Call a tool, report both records, and play what the script has for it."""
    name = player.text(step, step.value)
    arguments = player.fill(step, step.options.get("arguments", {}))
    try:
        key, connection = _connection(player, step)
        connection.must_have(name)
    except Unavailable as error:
        _missed(player, step, error)
        return
    title = connection.tools[name].get("title", name)
    asked = Call(player.teller.call_id(), name, arguments, key, title)
    player.teller.started(asked)
    verdict = permitted(player, asked)
    if verdict.allowed:
        answer = _exchange(connection, name, verdict.arguments)
    else:
        answer = _lost("denied", verdict.message)
    player.teller.returned(asked, answer)
    player.conversation.add("tool", answer.text, name=name, is_error=answer.is_error)
    _save(player, step, _value(answer))
    if answer.is_error:
        player.scope["error"] = _error(answer)
    player.steps(step.options.get("on_error" if answer.is_error else "on_result", ()))


def list_tools(player: Player, step: Step) -> None:
    """List a server's tools."""
    try:
        _, connection = _connection(player, step)
    except Unavailable as error:
        _missed(player, step, error)
        return
    _save(player, step, {"names": list(connection.tools), "tools": connection.tools})


def _connection(player: Player, step: Step) -> tuple[str, Connection]:
    key = player.server(step)
    return key, player.toolbox.connection(key)


def _exchange(connection: Connection, name: str, arguments: Mapping[str, Any]) -> Answer:
    try:
        return connection.call(name, arguments)
    except Unavailable as error:
        return _lost(error.code, error.message)


def _lost(code: str, message: str) -> Answer:
    return Answer((message,), {"code": code, "message": message}, is_error=True, lost=True)


def _missed(player: Player, step: Step, error: Unavailable) -> None:
    # The real CLI goes on without the tools and says nothing. A script has to
    # ask for that, or a host's test would pass with nothing tested.
    player.scope["error"] = {"code": error.code, "message": error.message}
    if "on_error" not in step.options:
        player.fail(f"Error: {error.message}")
    player.steps(step.options["on_error"])


def _save(player: Player, step: Step, value: object) -> None:
    if "save" in step.options:
        player.scope["results"][step.options["save"]] = value


def _value(answer: Answer) -> Any:
    return _parsed(answer.text) if answer.structured is None else answer.structured


def _error(answer: Answer) -> dict[str, Any]:
    parsed = answer.structured if answer.lost else _parsed(answer.text)
    known = parsed if isinstance(parsed, Mapping) else {}
    return {"code": known.get("code", ""), "message": known.get("message", answer.text)}


def _parsed(text: str) -> Any:
    try:
        return json.loads(text)
    except ValueError:
        return text
