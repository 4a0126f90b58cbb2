"""Tool calls through the official client, against a real MCP server."""

from __future__ import annotations

import hashlib
import json
import socket
from typing import Any

import pytest

TOKEN = "a-token-of-this-test"
VARIABLE = "TOOLCRIB_TOKEN_0123456789ABCDEF0123456789ABCDEF"

LOOK_UP = {"call": "lookup_issue", "arguments": {"key": "{{match.key}}"}, "save": "issue"}
TURN = {"when": {"prompt": r"(?P<key>ISSUE-\d+)"}}


@pytest.fixture
def connected(provider: Any, tool_server: Any) -> Any:
    provider.declare(tool_server.url)
    provider.environment[VARIABLE] = TOKEN
    return provider


def test_a_call_reaches_the_server_and_its_result_reaches_the_answer(
    connected: Any, tool_server: Any
) -> None:
    script = connected.script(
        LOOK_UP,
        {"say": "{{results.issue.title}} is {{results.issue.state}}, {{results.issue.votes}}."},
        **TURN,
    )

    ended = connected.run(script, "--approve-mcps", prompt="Is ISSUE-42 open?")

    assert ended.stderr == ""
    assert ended.code == 0
    assert ended.terminal["result"] == "Wrong currency is open, 3."
    assert tool_server.tokens() == {f"Bearer {TOKEN}"}
    methods = tool_server.rpc_methods()
    assert methods == ["initialize", "notifications/initialized", "tools/list", "tools/call"]


def test_a_call_is_reported_by_two_records_of_one_id(connected: Any) -> None:
    ended = connected.run(connected.script(LOOK_UP, **TURN), "--approve-mcps", prompt="ISSUE-42")

    started, completed = ended.tool_calls()
    call = started["tool_call"]["mcpToolCall"]
    call_id = started["call_id"]
    assert "\n" in call_id
    assert call == {
        "args": {
            "name": "toolcrib-lookup_issue",
            "args": {"key": "ISSUE-42"},
            "toolCallId": call_id,
            "providerIdentifier": "toolcrib",
            "toolName": "lookup_issue",
            "smartModeApprovalOnly": False,
            "skipApproval": False,
            "serverIdentifier": "toolcrib",
        },
        "description": "Issue lookup",
    }
    assert (started["subtype"], completed["subtype"]) == ("started", "completed")
    assert completed["call_id"] == call_id
    result = completed["tool_call"]["mcpToolCall"].pop("result")
    assert completed["tool_call"]["mcpToolCall"] == call
    assert result["success"]["isError"] is False
    (item,) = result["success"]["content"]
    assert json.loads(item["text"]["text"])["title"] == "Wrong currency"


def test_a_rejection_is_reported_as_an_error_and_played_as_one(connected: Any) -> None:
    step = {
        **LOOK_UP,
        "on_result": [{"say": "never"}],
        "on_error": [{"say": "{{error.code}}: {{error.message}}"}],
    }

    ended = connected.run(
        connected.script(step, {"say": " Anyway."}, **TURN), "--approve-mcps", prompt="ISSUE-9"
    )

    assert ended.terminal["result"] == "not_found: There is no ISSUE-9. Anyway."
    completed = ended.tool_calls()[1]["tool_call"]["mcpToolCall"]
    assert completed["result"]["success"]["isError"] is True


def test_a_result_without_structure_is_saved_as_its_text(connected: Any) -> None:
    script = connected.script(
        {"call": "say_plainly", "save": "words", "on_result": [{"say": "{{results.words}}"}]}
    )

    assert connected.run(script, "--approve-mcps").terminal["result"] == "just words"


def test_a_call_without_an_answer_is_reported_and_the_script_goes_on(connected: Any) -> None:
    step = {"call": "break_down", "on_error": [{"say": "{{error.code}}. {{error.message}}"}]}

    ended = connected.run(connected.script(step), "--approve-mcps")

    assert ended.code == 0
    message = "The MCP server toolcrib answered: it broke"
    assert ended.terminal["result"] == f"protocol_error. {message}"
    completed = ended.tool_calls()[1]["tool_call"]["mcpToolCall"]
    assert completed["result"] == {"error": {"error": message}}


def test_one_connection_serves_all_calls(connected: Any, tool_server: Any) -> None:
    ended = connected.run(
        connected.script(LOOK_UP, {"list_tools": True}, LOOK_UP, **TURN),
        "--approve-mcps",
        prompt="ISSUE-42",
    )

    assert len(ended.tool_calls()) == 4
    assert tool_server.rpc_methods().count("initialize") == 1
    assert tool_server.rpc_methods().count("tools/call") == 2


def test_a_stream_is_held_open_and_dropped_without_a_goodbye(
    connected: Any, tool_server: Any
) -> None:
    connected.run(connected.script({"call": "say_plainly"}), "--approve-mcps")

    assert {verb for verb, _, _ in tool_server.requests} == {"GET", "POST"}


def test_the_newer_protocol_discovers_instead_of_shaking_hands(
    connected: Any, tool_server: Any
) -> None:
    script = connected.write_script(
        {"protocol": "2026-07-28", "turns": [{**TURN, "steps": [LOOK_UP]}]}
    )

    ended = connected.run(script, "--approve-mcps", prompt="ISSUE-42")

    assert ended.code == 0
    assert tool_server.rpc_methods() == ["server/discover", "tools/list", "tools/call"]


def test_a_server_that_speaks_only_the_older_protocol_is_not_taken_for_the_newer(
    connected: Any, tool_server: Any
) -> None:
    tool_server.refused_version = b"2026-07-28"
    step = {"list_tools": True, "on_error": [{"say": "{{error.message}}"}]}
    script = connected.write_script({"protocol": "2026-07-28", "turns": [{"steps": [step]}]})

    ended = connected.run(script, "--approve-mcps")

    assert ended.terminal["result"] == (
        "The MCP server toolcrib speaks 2025-11-25 instead of 2026-07-28."
    )


def test_listed_tools_can_be_quoted(connected: Any) -> None:
    script = connected.script(
        {"list_tools": True, "save": "all"},
        {"say": "{{results.all.names}} {{results.all.tools.lookup_issue.title}}"},
    )

    ended = connected.run(script, "--approve-mcps")

    assert ended.terminal["result"] == '["lookup_issue","say_plainly","break_down"] Issue lookup'


def test_a_wrong_token_is_answered_401_and_the_script_is_told(
    connected: Any, tool_server: Any
) -> None:
    connected.environment[VARIABLE] = "wrong"
    step = {**LOOK_UP, "on_error": [{"say": "{{error.code}}"}]}

    ended = connected.run(connected.script(step, **TURN), "--approve-mcps", prompt="ISSUE-42")

    assert ended.terminal["result"] == "unauthorized"
    assert ended.tool_calls() == []
    assert tool_server.tokens() == {"Bearer wrong"}


def test_a_refused_client_looks_for_a_login_as_the_real_one_does(
    connected: Any, tool_server: Any
) -> None:
    connected.environment[VARIABLE] = "wrong"

    connected.run(connected.script({"list_tools": True, "on_error": []}), "--approve-mcps")

    asked = [(verb, path) for verb, path, _ in tool_server.requests]
    assert ("GET", "/.well-known/oauth-protected-resource") in asked
    assert ("POST", "/register") in asked


def test_an_unset_variable_is_sent_as_it_is_written(connected: Any, tool_server: Any) -> None:
    del connected.environment[VARIABLE]

    ended = connected.run(connected.script({"list_tools": True, "on_error": []}), "--approve-mcps")

    assert ended.code == 0
    assert tool_server.tokens() == {f"Bearer ${{env:{VARIABLE}}}"}


def test_a_server_that_is_missed_ends_the_run_unless_the_script_expects_it(
    connected: Any,
) -> None:
    connected.environment[VARIABLE] = "wrong"

    ended = connected.run(connected.script(LOOK_UP, **TURN), "--approve-mcps", prompt="ISSUE-42")

    assert ended.code == 1
    assert ended.stderr == "Error: The MCP server toolcrib answered 401.\n"
    assert "result" not in ended.types


@pytest.mark.parametrize(
    ("arguments", "step", "code"),
    [
        (["--approve-mcps"], {"call": "lookup_issue", "server": "other"}, "unknown_server"),
        (["--approve-mcps"], {"call": "no_such_tool"}, "unknown_tool"),
        ([], {"call": "lookup_issue"}, "not_approved"),
    ],
)
def test_what_the_model_could_not_call_is_not_called(
    connected: Any, tool_server: Any, arguments: list[str], step: dict[str, Any], code: str
) -> None:
    script = connected.script({**step, "on_error": [{"say": "{{error.code}}"}]})

    ended = connected.run(script, *arguments)

    assert ended.terminal["result"] == code
    assert ended.tool_calls() == []
    assert "tools/call" not in tool_server.rpc_methods()


def test_an_approval_of_the_profile_holds_for_one_address(
    connected: Any, tool_server: Any
) -> None:
    entry = json.loads((connected.home / ".cursor/mcp.json").read_text())["mcpServers"]["toolcrib"]
    subject = {"path": str(connected.workspace), "server": entry}
    text = json.dumps(subject, separators=(",", ":"))
    approval = f"toolcrib-{hashlib.sha256(text.encode()).hexdigest()[:16]}"
    folder = connected.data / "projects" / "a-project"
    folder.mkdir(parents=True)
    (folder / "mcp-approvals.json").write_text(json.dumps([approval]))
    script = connected.script(
        {"list_tools": True, "save": "all", "on_error": [{"say": "{{error.code}}"}]}
    )

    assert connected.run(script).terminal["result"] == ""

    connected.declare(tool_server.url + "?moved")
    assert connected.run(script).terminal["result"] == "not_approved"


def test_a_dead_address_is_unreachable(provider: Any) -> None:
    with socket.create_server(("127.0.0.1", 0)) as gone:
        port = gone.getsockname()[1]
    provider.declare(f"http://127.0.0.1:{port}/mcp")
    script = provider.script({"list_tools": True, "on_error": [{"say": "{{error.code}}"}]})

    assert provider.run(script, "--approve-mcps").terminal["result"] == "unreachable"


def test_a_broken_mcp_json_is_named(provider: Any) -> None:
    path = provider.home / ".cursor" / "mcp.json"
    path.write_text("{")

    ended = provider.run(provider.script({"list_tools": True}), "--approve-mcps")

    assert ended.code == 1
    assert str(path) in ended.stderr


def test_the_workspace_may_declare_servers_of_its_own(connected: Any, tool_server: Any) -> None:
    connected.declare(tool_server.url, key="other", root=connected.workspace)
    script = connected.script(
        {"call": "say_plainly", "server": "other", "save": "words"},
        {"say": "{{results.words}}"},
    )

    ended = connected.run(script, "--approve-mcps")

    assert ended.terminal["result"] == "just words"
    assert ended.tool_calls()[0]["tool_call"]["mcpToolCall"]["args"]["name"] == "other-say_plainly"
