"""The scripted provider as Claude Code, started and spoken to by hand."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from claude_session import SHAPES, Session, check_shape, kind

ASKS = ("--permission-prompt-tool", "stdio")


def test_every_record_has_the_shape_that_the_real_cli_gives_it(
    start_claude: Any, claude_server: Any
) -> None:
    session = start_claude(
        {"think": "Hm.", "pieces": 2},
        {"say": "So.", "pieces": 2},
        {"call": "lookup_issue", "arguments": {"key": "ISSUE-42"}},
        {"ask": "Bash", "arguments": {"command": "ls", "description": "List"}},
        {"question": "Which?", "choices": ["One", {"label": "Two", "description": "more"}]},
        {"plan": "# Do it"},
        {"ask": "Bash", "withdraw": True},
        {"say": "Done."},
        {"result": {"structured": {"answer": 4}}},
        arguments=(*ASKS, "--json-schema", '{"type": "object"}'),
    )
    for _ in range(3):
        request = session.asked()
        session.respond(
            request, {"behavior": "allow", "updatedInput": request["request"]["input"]}
        )
    session.respond(session.asked(), {"behavior": "deny", "message": "No."})

    assert session.end() == (0, "")
    for record in session.records:
        check_shape(record)
    kinds = {kind(record) for record in session.records}
    assert {name for name in SHAPES if not name.startswith("stream_event")} - kinds == {
        "result/error_during_execution",
        "system/permission_denied",
    }


def test_a_refusal_without_asking_and_an_interruption_have_their_shapes_too(
    start_claude: Any,
) -> None:
    session = start_claude({"ask": "Bash", "arguments": {"command": "ls"}}, arguments=())
    session.result()
    assert session.end() == (0, "")
    for record in session.records:
        check_shape(record)
    assert "system/permission_denied" in {kind(record) for record in session.records}

    session = start_claude({"ask": "Bash"}, {"say": "never"})
    session.respond(session.asked(), {"behavior": "deny", "message": "No.", "interrupt": True})
    result = session.result()
    check_shape(result)
    assert (result["subtype"], result["is_error"]) == ("error_during_execution", True)
    assert [denial["tool_name"] for denial in result["permission_denials"]] == ["Bash"]
    assert session.end()[0] == 1


def test_pieces_of_a_message_make_up_its_blocks(start_claude: Any) -> None:
    session = start_claude({"say": "one two", "pieces": 3}, {"say": "!"})
    session.result()

    events = [record["event"] for record in session.records if record["type"] == "stream_event"]
    assert [event["type"] for event in events] == [
        "message_start",
        *("content_block_start", *["content_block_delta"] * 3, "content_block_stop"),
        *("content_block_start", "content_block_delta", "content_block_stop"),
        *("message_delta", "message_stop"),
    ]
    deltas = [event["delta"]["text"] for event in events if "text" in event.get("delta", {})]
    whole = [record for record in session.records if record["type"] == "assistant"]
    assert "".join(deltas) == "one two!"
    assert [record["message"]["content"][0]["text"] for record in whole] == ["one two", "!"]
    assert len({record["message"]["id"] for record in whole}) == 1
    assert session.records[-1]["result"] == "one two!"


def test_without_the_flag_there_are_no_pieces(start_claude: Any) -> None:
    session = start_claude({"say": "hi"})
    session.result()
    assert "stream_event" in {record["type"] for record in session.records}

    formats = ("--input-format", "stream-json", "--output-format", "stream-json")
    whole = Session(session.root, "-p", "--verbose", *formats)
    whole.start()
    whole.say("Hello")
    whole.result()
    assert whole.end()[0] == 0
    assert [record["type"] for record in whole.records] == ["system", "assistant", "result"]


def test_the_result_is_what_was_said_last(start_claude: Any) -> None:
    session = start_claude(
        {"say": "Let me see."}, {"ask": "Bash"}, {"say": "It "}, {"say": "works."}
    )
    session.respond(session.asked(), {"behavior": "allow", "updatedInput": {}})

    assert session.result()["result"] == "It works."


def test_edited_arguments_are_those_that_later_steps_see(start_claude: Any) -> None:
    step = {
        "ask": "Bash",
        "arguments": {"command": "rm {{prompt}}"},
        "output": "ran {{results.run.arguments.command}}",
        "save": "run",
        "on_allow": [{"say": "{{results.run.arguments.command}}, {{results.run.allowed}}"}],
        "on_deny": [{"say": "never"}],
    }
    session = start_claude(step)
    request = session.asked()
    session.respond(request, {"behavior": "allow", "updatedInput": {"command": "ls"}})

    assert request["request"]["input"] == {"command": "rm Hello"}
    assert session.result()["result"] == "ls, true"
    (returned,) = [record for record in session.records if record["type"] == "user"]
    assert returned["message"]["content"][0]["content"] == "ran ls"


def test_a_denial_leads_to_its_own_steps(start_claude: Any) -> None:
    step = {
        "ask": "Bash",
        "save": "run",
        "on_allow": [{"say": "never"}],
        "on_deny": [{"say": "{{error.code}}: {{error.message}} {{results.run.allowed}}"}],
    }
    session = start_claude(step, {"say": " Anyway."})
    session.respond(session.asked(), {"behavior": "deny", "message": "Not today."})

    assert session.result()["result"] == "denied: Not today. false Anyway."


@pytest.mark.parametrize(
    ("response", "message"),
    [
        ({"subtype": "error", "error": "not served"}, "Error: not served"),
        ({"subtype": "success", "response": {"behavior": "deny"}}, "not valid"),
        ({"subtype": "success", "response": {"allowed": True}}, "not valid"),
        ({"subtype": "success"}, "Error: None"),
    ],
)
def test_an_answer_that_is_none_denies(
    start_claude: Any, response: dict[str, Any], message: str
) -> None:
    session = start_claude({"ask": "Bash", "on_deny": [{"say": "{{error.message}}"}]})
    number = session.asked()["request_id"]
    session.write({"type": "control_response", "response": {**response, "request_id": number}})

    assert message in session.result()["result"]


def test_the_end_of_the_input_denies_what_is_open_and_the_turn_goes_on(start_claude: Any) -> None:
    session = start_claude({"ask": "Bash", "on_deny": [{"say": "{{error.code}}"}]})
    session.asked()

    assert session.end() == (0, "")
    assert session.records[-1]["result"] == "denied"


def test_answers_to_other_requests_are_no_answers(start_claude: Any) -> None:
    session = start_claude({"ask": "Bash", "on_allow": [{"say": "yes"}]})
    request = session.asked()
    session.respond({"request_id": "another"}, {"behavior": "deny", "message": "No."})
    session.respond(request, {"behavior": "allow"})

    assert session.result()["result"] == "yes"


def test_a_question_is_answered_by_its_text(start_claude: Any) -> None:
    session = start_claude(
        {"question": "Which colour?", "choices": ["Red", "Blue"], "save": "colour"},
        {"say": "{{results.colour}}"},
    )
    request = session.asked()
    asked = request["request"]["input"]
    session.respond(
        request,
        {"behavior": "allow", "updatedInput": {**asked, "answers": {"Which colour?": "Green"}}},
    )

    assert request["request"]["tool_name"] == "AskUserQuestion"
    (question,) = asked["questions"]
    assert question["question"] == "Which colour?"
    assert [option["label"] for option in question["options"]] == ["Red", "Blue"]
    assert session.result()["result"] == "Green"


def test_a_plan_is_approved_or_sent_back(start_claude: Any) -> None:
    step = {"plan": "# Plan", "on_allow": [{"say": "go"}], "on_deny": [{"say": "back"}]}
    for behavior, said in (("allow", "go"), ("deny", "back")):
        session = start_claude(step)
        request = session.asked()
        session.respond(request, {"behavior": behavior, "message": "Shorter."})

        assert request["request"]["tool_name"] == "ExitPlanMode"
        assert request["request"]["input"] == {"plan": "# Plan"}
        assert session.result()["result"] == said


NAMES_OF_ASKS = ("first", "second", "third")


def says(text: str) -> Callable[[dict[str, Any]], bool]:
    """Tell the record of a text block."""
    return lambda record: (
        record["type"] == "assistant" and record["message"]["content"][0].get("text") == text
    )


def test_several_are_open_at_once_and_settled_in_any_order(start_claude: Any) -> None:
    asks = [
        {"ask": "Bash", "arguments": {"command": name}, "on_allow": [{"say": name}]}
        for name in NAMES_OF_ASKS
    ]
    session = start_claude({"together": asks})
    requests = [session.asked() for _ in asks]
    for place in (2, 0, 1):
        request = requests[place]
        session.respond(
            request, {"behavior": "allow", "updatedInput": request["request"]["input"]}
        )
        session.until(says(NAMES_OF_ASKS[place]))
    session.result()
    assert session.end() == (0, "")


def test_an_interruption_takes_back_what_else_is_open(start_claude: Any) -> None:
    session = start_claude({"together": [{"ask": "Bash"}, {"ask": "Write"}]}, {"say": "never"})
    first, second = session.asked(), session.asked()
    session.respond(second, {"behavior": "deny", "message": "No.", "interrupt": True})
    session.result()

    taken = [record for record in session.records if record["type"] == "control_cancel_request"]
    assert [record["request_id"] for record in taken] == [first["request_id"]]
    assert session.end()[0] == 1


def test_a_request_is_taken_back_when_a_file_is_there(start_claude: Any) -> None:
    session = start_claude(
        {"ask": "Bash", "withdraw": "enough", "on_deny": [{"say": "{{error.code}}"}]}
    )
    request = session.asked()
    (session.workspace / "enough").touch()
    taken = session.until(lambda record: record["type"] == "control_cancel_request")

    assert taken["request_id"] == request["request_id"]
    assert session.result()["result"] == "withdrawn"


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (("--allowedTools", "Read,Bash"), "allowed"),
        (("--allowedTools", "Read", "Bash", "--verbose"), "allowed"),
        (("--disallowedTools", "Bash"), "denied"),
        ((), "denied"),
    ],
)
def test_what_the_command_line_decides_is_not_asked(
    start_claude: Any, arguments: tuple[str, ...], said: str
) -> None:
    step = {"ask": "Bash", "on_allow": [{"say": "allowed"}], "on_deny": [{"say": "denied"}]}
    asks = ASKS if "--disallowedTools" in arguments else ()
    session = start_claude(step, arguments=(*asks, *arguments))

    assert session.result()["result"] == said
    assert "control_request" not in {record["type"] for record in session.records}
