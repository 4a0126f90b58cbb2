"""The steps that need an MCP server."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from .records import mcp_call, mcp_failure, mcp_success, new_call_id
from .servers import Answer, Unavailable

if TYPE_CHECKING:
    from .mcp_client import Connection
    from .player import Player
    from .script import Step

__all__ = ["call", "list_tools"]

_OUR_SERVER = "toolcrib"


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
    answer = _exchange(player, connection, key, name, arguments)
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
    key = player.text(step, step.options.get("server", _OUR_SERVER))
    return key, player.toolbox.connection(key)


def _exchange(
    player: Player, connection: Connection, key: str, name: str, arguments: dict[str, Any]
) -> Answer:
    call_id = new_call_id()
    title = connection.tools[name].get("title", name)
    subject = mcp_call(call_id, key, name, arguments, title)
    player.printer.record(player.records.tool_call(call_id, subject))
    try:
        answer = connection.call(name, arguments)
        result = mcp_success(answer.texts, is_error=answer.is_error)
    except Unavailable as error:
        reason = {"code": error.code, "message": error.message}
        answer = Answer((json.dumps(reason),), None, is_error=True)
        result = mcp_failure(error.message)
    player.printer.record(player.records.tool_call(call_id, subject, result))
    return answer


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
    parsed = _parsed(answer.text)
    known = parsed if isinstance(parsed, Mapping) else {}
    return {"code": known.get("code", ""), "message": known.get("message", answer.text)}


def _parsed(text: str) -> Any:
    try:
        return json.loads(text)
    except ValueError:
        return text
