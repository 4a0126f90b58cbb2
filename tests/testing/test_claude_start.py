"""How the scripted provider starts as Claude Code, and the servers that it finds."""

from __future__ import annotations

import json
import os
import subprocess
from pathlib import Path
from typing import Any

import pytest
from claude_session import DEADLINE, TOKEN, check_shape

ASKS = ("--permission-prompt-tool", "stdio")

CALL = {
    "call": "lookup_issue",
    "arguments": {"key": "ISSUE-7"},
    "save": "issue",
    "on_result": [{"say": "{{results.issue.title}}"}],
    "on_error": [{"say": "{{error.code}}: {{error.message}}"}],
}


def test_a_servers_tool_is_asked_for_before_it_is_called(
    start_claude: Any, claude_server: Any
) -> None:
    session = start_claude(CALL)
    request = session.asked()

    assert request["request"]["tool_name"] == "mcp__toolcrib__lookup_issue"
    assert request["request"]["display_name"] == "Issue lookup"
    assert "tools/call" not in claude_server.rpc_methods()
    session.respond(request, {"behavior": "allow", "updatedInput": {"key": "ISSUE-42"}})
    assert session.result()["result"] == "Wrong currency"
    assert claude_server.tokens() == {f"Bearer {TOKEN}"}
    assert claude_server.rpc_methods()[0] == "server/discover"


def test_a_servers_tool_that_is_denied_is_not_called(
    start_claude: Any, claude_server: Any
) -> None:
    session = start_claude(CALL)
    session.respond(session.asked(), {"behavior": "deny", "message": "Not today."})

    assert session.result()["result"] == "denied: Not today."
    assert "tools/call" not in claude_server.rpc_methods()


@pytest.mark.parametrize("allowed", ["mcp__toolcrib", "mcp__toolcrib__lookup_issue"])
def test_a_servers_tool_that_is_allowed_is_called_at_once(
    start_claude: Any, claude_server: Any, allowed: str
) -> None:
    session = start_claude(CALL, arguments=(*ASKS, "--allowedTools", allowed))

    assert session.result()["result"] == "not_found: There is no ISSUE-7."
    assert "control_request" not in {record["type"] for record in session.records}


def test_the_init_record_tells_the_servers_that_the_turn_uses(
    start_claude: Any, claude_server: Any
) -> None:
    allowed = (*ASKS, "--allowedTools", "mcp__toolcrib")
    there = start_claude(CALL, arguments=allowed)
    there.result()
    (there.root / "profile" / ".claude.json").write_text("{}")
    gone = start_claude(CALL, arguments=allowed)
    gone.result()
    unused = start_claude({"say": "hi"}, arguments=allowed)
    unused.result()

    init = there.records[0]
    assert init["mcp_servers"] == [{"name": "toolcrib", "status": "connected", "source": "user"}]
    assert "mcp__toolcrib__lookup_issue" in init["tools"]
    assert gone.records[0]["mcp_servers"][0]["status"] == "failed"
    assert gone.records[-1]["result"].startswith("unknown_server: ")
    assert "mcp_servers" not in unused.records[0]


def test_servers_are_found_in_the_workspace_and_on_the_command_line(
    start_claude: Any, claude_server: Any, tmp_path: Path
) -> None:
    profile = tmp_path / "profile" / ".claude.json"
    given = tmp_path / "servers.json"
    profile.rename(given)
    allowed = ("--allowedTools", "mcp__toolcrib")
    first = start_claude(CALL, arguments=(*allowed, "--mcp-config", str(given)))
    assert first.result()["result"].startswith("not_found")

    given.rename(tmp_path / "workspace" / ".mcp.json")
    second = start_claude(CALL, arguments=allowed)
    assert second.result()["result"].startswith("not_found")


def test_scripts_can_refer_to_what_the_process_was_started_with(
    start_claude: Any, tmp_path: Path
) -> None:
    path = tmp_path / "instructions.txt"
    path.write_text("Be brief.")
    names = "{{options.model}} {{options.instructions}} {{options.schema.type}}"
    session = start_claude(
        {"say": names},
        arguments=(
            *("--model", "m1", "--append-system-prompt-file", str(path)),
            *("--json-schema", '{"type": "object"}'),
        ),
    )

    assert session.result()["result"] == "m1 Be brief. object"
    assert session.records[0]["model"] == "m1"


def test_a_structured_answer_comes_where_a_schema_asks_for_it(start_claude: Any) -> None:
    steps = ({"say": "Four."}, {"result": {"structured": {"answer": 4}}})
    typed = start_claude(*steps, arguments=("--json-schema", "{}")).result()
    plain = start_claude(*steps, arguments=()).result()

    assert typed["structured_output"] == {"answer": 4}
    assert json.loads(typed["result"]) == {"answer": 4}
    assert (plain["result"], "structured_output" in plain) == ("Four.", False)


def test_a_conversation_goes_on_in_one_process_and_in_the_next(start_claude: Any) -> None:
    session = start_claude({"say": "Turn {{turn}}, {{history.last}}"}, arguments=())
    first = session.result()
    session.say("And?")
    second = session.result()
    assert session.end() == (0, "")
    third = start_claude(
        {"say": "Turn {{turn}}, {{history.last}} {{options.resume}}"},
        arguments=("--resume", first["session_id"]),
    ).result()

    assert [first["result"], second["result"]] == ["Turn 1, ", "Turn 2, Turn 1, "]
    assert third["result"] == f"Turn 3, Turn 2, Turn 1,  {first['session_id']}"
    assert len({first["session_id"], second["session_id"], third["session_id"]}) == 1


@pytest.mark.parametrize("name", ["unknown", "../../outside"])
def test_an_unknown_conversation_is_refused(start_claude: Any, tmp_path: Path, name: str) -> None:
    (tmp_path / "profile" / "projects" / "one").mkdir(parents=True)
    (tmp_path / "profile" / "outside.jsonl").touch()
    session = start_claude({"say": "never"}, arguments=("--resume", name))
    result = session.result()
    code, stderr = session.end()

    assert (code, stderr) == (1, f"No conversation found with session ID: {name}\n")
    assert result["errors"] == [f"No conversation found with session ID: {name}"]
    check_shape(result)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("--nonsense",), "unknown option '--nonsense'"),
        (("--model",), "option '--model' argument missing"),
        (("--output-format", "text"), "stream-json"),
        (("--permission-prompt-tool", "mcp__x__y"), "mcp__x__y"),
        (("--json-schema", "{"), "not valid JSON"),
        (("--append-system-prompt-file", "/nowhere"), "/nowhere"),
    ],
)
def test_wrong_arguments_are_refused(
    start_claude: Any, arguments: tuple[str, ...], message: str
) -> None:
    code, stderr = start_claude(arguments=arguments, prompt="").end()

    assert code == 1
    assert message in stderr


def test_an_input_that_holds_no_frames_is_refused(start_claude: Any) -> None:
    session = start_claude(prompt="")
    session.write("Hello")
    code, stderr = session.end()
    empty = start_claude(prompt="").end()

    assert (code, empty[0]) == (1, 1)
    assert stderr.startswith("Error parsing streaming input line: ")
    assert "Input must be provided" in empty[1]


def test_other_control_requests_are_answered(start_claude: Any) -> None:
    session = start_claude(prompt="")
    for number, subtype in enumerate(("initialize", "set_model")):
        request = {"subtype": subtype}
        session.write({"type": "control_request", "request_id": str(number), "request": request})
        session.until(lambda record: record["type"] == "control_response")

    first, second = [record["response"] for record in session.records]
    assert (first["subtype"], first["request_id"]) == ("success", "0")
    assert (second["subtype"], second["request_id"]) == ("error", "1")


def test_a_turn_without_tools_imports_nothing_heavy(start_claude: Any) -> None:
    session = start_claude({"ask": "Bash"}, prompt="")
    session.end()
    command = session.command
    ended = subprocess.run(
        [command[0], "-X", "importtime", *command[1:]],
        input=b'{"type": "user", "message": {"role": "user", "content": "Hello"}}\n',
        capture_output=True,
        cwd=session.workspace,
        env={**os.environ, "CLAUDE_CONFIG_DIR": str(session.root / "profile")},
        timeout=DEADLINE,
        check=True,
    )
    imported = {line.rpartition("|")[2].strip() for line in ended.stderr.decode().splitlines()}
    heavy = {
        *("mcp", "mcp_types", "pydantic", "asyncio", "anyio", "httpx2", "ssl", "hashlib"),
        *("dataclasses", "subprocess", "importlib.metadata", "argparse", "datetime", "inspect"),
        *("toolcrib.testing.claude", "toolcrib.testing.scripted_provider.servers"),
    }

    assert "toolcrib.testing.scripted_provider.claude.desk" in imported
    assert imported & heavy == set()
    assert {name for name in imported if name.startswith("toolcrib.runtime")} == set()
