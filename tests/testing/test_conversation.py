"""What the provider says when nothing goes wrong, and what it remembers."""

from __future__ import annotations

import json
from typing import Any

import pytest


def test_a_run_prints_the_records_of_the_real_cli_in_order(provider: Any) -> None:
    script = provider.script({"think": "Let me see."}, {"say": "It is open."})

    ended = provider.run(script, "--model", "some-model", prompt="Is it open?")

    assert (ended.code, ended.stderr) == (0, "")
    init, user, thought, thought_end, said, result = ended.records
    session = init["session_id"]
    assert all(record["session_id"] == session for record in ended.records)
    assert init == {
        "type": "system",
        "subtype": "init",
        "apiKeySource": "login",
        "cwd": str(provider.workspace),
        "session_id": session,
        "model": "some-model",
        "permissionMode": "default",
    }
    assert user["message"] == {
        "role": "user",
        "content": [{"type": "text", "text": "Is it open?"}],
    }
    assert (thought["subtype"], thought["text"]) == ("delta", "Let me see.")
    assert isinstance(thought["timestamp_ms"], int)
    assert thought_end["subtype"] == "completed"
    assert said["message"]["content"] == [{"type": "text", "text": "It is open."}]
    assert (result["subtype"], result["is_error"]) == ("success", False)
    assert result["result"] == "It is open."
    assert set(result["usage"]) == {"inputTokens", "outputTokens"}
    assert {"duration_ms", "request_id"} <= set(result)


def test_records_are_compact_lines_of_utf_8(provider: Any) -> None:
    ended = provider.run(provider.script({"say": "größer \ud800 \u2028"}))

    assert ended.code == 0
    said = ended.lines[2]
    assert '"text":"größer \\ud800' in said
    assert ": " not in ended.lines[0]


@pytest.mark.parametrize("pieces", [1, 2, 3, 50])
def test_a_text_in_pieces_is_the_same_text(provider: Any, pieces: int) -> None:
    text = "one two three"

    ended = provider.run(provider.script({"say": text, "pieces": pieces}))

    said = [
        record["message"]["content"][0]["text"]
        for record in ended.records
        if record["type"] == "assistant"
    ]
    assert len(said) == min(pieces, len(text))
    assert "".join(said) == ended.terminal["result"] == text


def test_the_prompt_may_be_an_argument(provider: Any) -> None:
    ended = provider.run(provider.script({"say": "{{prompt}}"}), "from argv", prompt="from stdin")

    assert ended.terminal["result"] == "from argv"


def test_the_first_turn_that_fits_is_played(provider: Any) -> None:
    script = provider.write_script(
        {
            "turns": [
                {
                    "when": {"prompt": r"(?P<verb>close|open) (\d+)( now)?"},
                    "steps": [{"say": "{{match.verb}}/{{match.2}}/{{match.3}}/{{match.0}}"}],
                },
                {"when": {"resumed": True}, "steps": [{"say": "again"}]},
                {"steps": [{"say": "something else"}]},
            ]
        }
    )

    matched = provider.run(script, prompt="please close 17").terminal
    assert matched["result"] == "close/17//close 17"
    assert provider.run(script, prompt="hello").terminal["result"] == "something else"
    resumed = provider.run(script, "--resume", matched["session_id"], prompt="hello")
    assert resumed.terminal["result"] == "again"


def test_a_prompt_that_no_turn_fits_is_a_script_error(provider: Any) -> None:
    script = provider.script({"say": "hi"}, when={"prompt": "^never$"})

    ended = provider.run(script)

    assert (ended.code, ended.lines) == (2, [])
    assert "no turn fits the prompt" in ended.stderr


def test_a_resumed_conversation_knows_what_was_said(provider: Any) -> None:
    script = provider.script(
        {"say": "Turn {{turn}}: {{prompt}}; "},
        {"say": "before: {{history.turns}} [{{history.last}}]"},
    )

    first = provider.run(script, prompt="one").terminal
    session = first["session_id"]
    second = provider.run(script, "--resume", session, prompt="two").terminal
    third = provider.run(script, f"--resume={session}", prompt="three").terminal

    assert first["result"] == "Turn 1: one; before: 0 []"
    assert second["result"] == f"Turn 2: two; before: 1 [{first['result']}]"
    assert third["result"] == f"Turn 3: three; before: 2 [{second['result']}]"
    assert first["session_id"] == second["session_id"] == third["session_id"]


def test_the_conversation_is_a_folder_that_can_move_to_another_profile(provider: Any) -> None:
    script = provider.script({"say": "{{history.last}}+"})
    session = provider.run(script).terminal["session_id"]
    folder = provider.data / "chats" / session
    lines = (folder / "transcript.jsonl").read_text(encoding="utf-8").splitlines()
    transcript = [json.loads(line) for line in lines]
    assert [(entry["turn"], entry["role"], entry["text"]) for entry in transcript] == [
        (1, "user", "Hello"),
        (1, "assistant", "+"),
    ]

    elsewhere = provider.root / "elsewhere"
    (elsewhere / "chats").mkdir(parents=True)
    folder.rename(elsewhere / "chats" / session)
    assert provider.run(script, "--resume", session).code == 1
    provider.environment["CURSOR_DATA_DIR"] = str(elsewhere)

    assert provider.run(script, "--resume", session).terminal["result"] == "++"


def test_without_a_data_directory_conversations_lie_in_the_home(provider: Any) -> None:
    del provider.environment["CURSOR_DATA_DIR"]

    session = provider.run(provider.script({"say": "hi"})).terminal["session_id"]

    assert (provider.home / ".cursor" / "chats" / session / "transcript.jsonl").is_file()


@pytest.mark.parametrize(
    "session", ["0e6ea4a5-2bd9-4f8c-8e8e-1f1f7f8d1c11", "../../outside", "", ".", "a/b"]
)
def test_an_unknown_conversation_is_refused(provider: Any, session: str) -> None:
    outside = provider.root / "outside"
    outside.mkdir()
    (outside / "transcript.jsonl").touch()
    (provider.data / "chats").mkdir()

    ended = provider.run(provider.script({"say": "hi"}), "--resume", session)

    assert (ended.code, ended.lines) == (1, [])
    assert ended.stderr == f"Error: Conversation not found: {session}\n"
    assert list((provider.data / "chats").iterdir()) == []


@pytest.mark.parametrize(
    ("arguments", "word"),
    [
        (["--bogus"], "--bogus"),
        (["--approve"], "--approve"),
        (["--mode", "dream"], "dream"),
        (["--output-format", "text"], "text"),
        (["--resume"], "--resume"),
    ],
)
def test_wrong_arguments_are_refused_in_one_line(
    provider: Any, arguments: list[str], word: str
) -> None:
    ended = provider.run(provider.script({"say": "hi"}), *arguments)

    assert (ended.code, ended.lines) == (2, [])
    assert word in ended.stderr
    assert ended.stderr.count("\n") == 1


def test_every_flag_of_the_real_cli_is_taken(provider: Any) -> None:
    ended = provider.run(
        provider.script({"say": "hi"}),
        *("--trust", "--approve-mcps", "--force", "--mode", "ask", "--model", "m"),
    )

    assert ended.code == 0


def test_an_empty_prompt_and_a_missing_workspace_are_failures(provider: Any) -> None:
    script = provider.script({"say": "hi"})

    empty = provider.run(script, prompt=" \n")
    nowhere = provider.run(script, "--workspace", str(provider.root / "nowhere"))

    assert (empty.code, empty.stderr) == (1, "Error: No prompt provided\n")
    assert nowhere.code == 1
    assert "nowhere" in nowhere.stderr


def test_the_version_is_that_of_the_package(provider: Any) -> None:
    command = provider.command(provider.script())[:4]

    ended = provider.execute([*command, "--version"])

    assert ended.code == 0
    assert ended.lines[0].startswith("scripted-provider ")


def test_a_script_without_tools_imports_nothing_heavy(provider: Any) -> None:
    command = provider.command(provider.script({"think": "hm"}, {"say": "{{history.last}}hi"}))

    ended = provider.execute([command[0], "-X", "importtime", *command[1:]])

    imported = {line.rpartition("|")[2].strip() for line in ended.stderr.splitlines()}
    assert "toolcrib.testing.scripted_provider.player" in imported
    heavy = {
        *("mcp", "mcp_types", "pydantic", "asyncio", "anyio", "httpx2", "ssl", "hashlib"),
        *("dataclasses", "subprocess", "importlib.metadata", "toolcrib.runtime"),
        *("toolcrib.testing.cursor", "toolcrib.testing.scripted_provider.servers"),
    }
    assert imported & heavy == set()
    assert {name for name in imported if name.startswith("toolcrib.runtime")} == set()
