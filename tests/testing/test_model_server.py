"""The scripted model server, spoken to as the CLIs speak to their models."""

from __future__ import annotations

import gzip
import http.client
import json
import re
import socket
import threading
import tomllib
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import psutil
import pytest
from model_clients import (
    DEADLINE,
    LOOKUP,
    Completions,
    Heard,
    Messages,
    Provider,
    Responses,
    ask,
    give,
    post,
)

from toolcrib.errors import ConfigurationError
from toolcrib.testing import (
    CallTool,
    ModelRequest,
    ModelServer,
    Refuse,
    RunShell,
    Say,
    Script,
    Think,
    Turn,
    WritePlan,
)


@pytest.fixture(params=[Responses, Messages, Completions])
def provider(request: pytest.FixtureRequest) -> Provider:
    made: Provider = request.param()
    return made


def test_without_a_script_the_prompt_says_which_tool_to_call(provider: Provider) -> None:
    with ModelServer() as server:
        first = ask(server, provider, 'CALL lookup_issue {"key": "ISSUE-42"}')
        give(provider, first, '{"state":"open"}')
        second = ask(server, provider)

    assert [call[1:] for call in first.calls] == [
        ("mcp__toolcrib__lookup_issue", {"key": "ISSUE-42"})
    ]
    assert second == Heard(
        200, 'The tool said: {"state":"open"}', usage={"in": 11, "cached": 3, "out": 5}
    )


def test_without_a_script_several_lines_are_several_calls_at_once(provider: Provider) -> None:
    with ModelServer() as server:
        first = ask(server, provider, "Please:\nCALL lookup_issue\nSHELL echo 'a b'\nThanks!")
        give(provider, first, "one", "two")
        second = ask(server, provider)

    assert first.names == ["mcp__toolcrib__lookup_issue", provider.shell]
    assert "echo 'a b'" in str(first.calls[1][2])
    assert second.text == "The tool said: one\ntwo"


def test_without_a_script_any_other_prompt_is_repeated(provider: Provider) -> None:
    with ModelServer() as server:
        assert ask(server, provider, "Recall lookups").text == "You said: Recall lookups"


@pytest.mark.parametrize("arguments", ["{broken", "[1]"])
def test_arguments_that_are_no_object_are_told(arguments: str) -> None:
    with ModelServer() as server:
        heard = ask(server, Messages(), f"CALL lookup_issue {arguments}")

    assert arguments in heard.text
    assert not heard.calls


def test_a_request_shows_what_the_model_saw(provider: Provider) -> None:
    with ModelServer() as server:
        first = ask(server, provider, 'CALL lookup_issue {"key": "A-1"}')
        give(provider, first, "gone")
        ask(server, provider)

    begun, gone_on = server.requests
    tool = begun.find("lookup_issue")
    assert tool is not None
    assert tool.full_name == "mcp__toolcrib__lookup_issue"
    assert (tool.description, tool.schema) == ("Look up.", LOOKUP)
    assert (begun.protocol, begun.model, begun.step, begun.results) == (
        provider.protocol,
        "m",
        0,
        (),
    )
    assert [message.role for message in gone_on.messages] == ["system", "user", "call", "result"]
    assert gone_on.messages[0].text == "Be brief."
    assert json.loads(gone_on.messages[2].text) == {"key": "A-1"}
    assert gone_on.step == 1
    (result,) = gone_on.results
    assert (result.text, result.tool) == ("gone", gone_on.messages[2].tool)
    assert result.tool.endswith("lookup_issue")
    assert result.is_error is (provider.protocol == "messages")
    assert gone_on.prompt == 'CALL lookup_issue {"key": "A-1"}'
    assert gone_on.body["model"] == "m"


def test_steps_are_played_in_order_and_the_last_one_again(provider: Provider) -> None:
    script: Script = [
        (Think("I think about it."), Say("Look: "), CallTool("lookup_issue"), RunShell("ls")),
        CallTool("lookup_issue", {"key": "B"}),
        Say("{{prompt}} {{result}}"),
    ]
    with ModelServer(script) as server:
        first = ask(server, provider, "Go!")
        give(provider, first, "1", "2")
        second = ask(server, provider)
        give(provider, second, "3")
        last, again = ask(server, provider), ask(server, provider)

    assert (first.text, first.thought) == ("Look: ", "I think about it.")
    assert first.names == ["mcp__toolcrib__lookup_issue", provider.shell]
    assert second.calls[0][2] == {"key": "B"}
    assert (last.text, again.text) == ("Go! 3", "Go! 3")


def test_the_turn_that_fits_the_prompt_begins_anew_in_a_conversation(provider: Provider) -> None:
    script = [
        Turn([CallTool("lookup_issue"), Say("first: {{result}}")], when="one|three"),
        Turn([Say("second, after {{result}}.")], when="^two$"),
    ]
    with ModelServer(script) as server:
        call = ask(server, provider, "one")
        give(provider, call, "A")
        answers = [ask(server, provider).text, ask(server, provider, "two").text]
        call = ask(server, provider, "three")
        give(provider, call, "B")
        answers += [ask(server, provider).text, ask(server, provider, "two, or so").text]

    assert answers[:3] == ["first: A", "second, after .", "first: B"]
    assert "no turn" in answers[3]


def test_what_a_provider_inserts_is_no_prompt(provider: Provider) -> None:
    with ModelServer() as server:
        provider.user("<environment_context>\n  <cwd>/</cwd>\n</environment_context>")
        provider.user("The question")
        if not isinstance(provider, Completions):
            provider.user("<system-reminder>\nNow.\n</system-reminder>\n")
        assert ask(server, provider).text == "You said: The question"


def test_an_inserted_element_beside_the_users_is_no_prompt() -> None:
    provider = Completions()
    text = "<system-reminder>Now.</system-reminder>\n<user_query>The\nquestion</user_query>"
    provider.messages.append({"role": "user", "content": text})
    with ModelServer() as server:
        assert ask(server, provider).text == "You said: The\nquestion"


@pytest.mark.parametrize(
    ("tool", "arguments"),
    [
        ("exec_command", {"cmd": "ls"}),
        ("shell_command", {"command": "ls"}),
        ("shell", {"command": ["bash", "-c", "ls"]}),
    ],
)
def test_each_shell_tool_gets_the_command_its_way(tool: str, arguments: object) -> None:
    provider = Responses()
    provider.shell = tool
    with ModelServer([RunShell("ls")]) as server:
        assert ask(server, provider, "Go").calls[0][1:] == (tool, arguments)


def test_a_tool_that_is_not_offered_ends_the_turn_with_a_word_about_it(provider: Provider) -> None:
    with ModelServer([CallTool("delete_issue"), Say("never")]) as server:
        offered = ask(server, provider, "Go")
        none = ask(server, provider, "Go", tools=False)

    assert offered.text.startswith("There is no tool delete_issue. Offered: ")
    assert "mcp__toolcrib__lookup_issue" in offered.text
    assert none.text == "There is no tool delete_issue. Offered: none."


def test_a_plan_is_written_where_the_provider_says() -> None:
    provider = Responses()
    with ModelServer([WritePlan("1. Look."), Say("Done.")]) as server:
        nowhere = ask(server, provider, "Go")
        provider.shell = "Write"
        named = ask(server, provider, "Plan, in `/clone/plans/calm-owl.md`.")

    assert nowhere.text == "There is no file for a plan."
    (call,) = named.calls
    assert call[1:] == ("Write", {"file_path": "/clone/plans/calm-owl.md", "content": "1. Look."})


def test_a_refusal_is_an_error_as_the_protocol_has_it(provider: Provider) -> None:
    with ModelServer([Refuse(429, "Slow down.")]) as server:
        heard = ask(server, provider, "Go")

    assert (heard.status, heard.error) == (429, "Slow down.")


def test_an_answer_that_need_not_stream_is_one_document(provider: Provider) -> None:
    provider.user("Hello")
    body = {**provider.body(), "stream": False}
    with ModelServer() as server:
        status, answer = post(server.url, provider.path, json.dumps(body).encode())

    assert status == 200
    assert provider.whole(json.loads(answer)) == "You said: Hello"


def test_a_function_answers_from_what_it_is_asked(provider: Provider) -> None:
    def answer(request: ModelRequest) -> Sequence[Say]:
        return [Say(f"{request.protocol} "), Say(f"{len(request.tools)}")]

    with ModelServer(answer) as server:
        assert ask(server, provider, "Go").text == f"{provider.protocol} 2"


@pytest.mark.parametrize("raised", [AssertionError("not so"), SystemExit(3)])
def test_what_a_function_raises_reaches_provider_and_test(raised: BaseException) -> None:
    def answer(_: ModelRequest) -> Say:
        raise raised

    heard: list[Heard] = []
    with pytest.raises(type(raised)) as caught, ModelServer(answer) as server:
        heard.append(ask(server, Messages(), "Go"))

    assert caught.value is raised
    assert heard[0].status == 500
    assert repr(raised) in heard[0].error


def _fail_after(heard: Heard) -> None:
    raise LookupError(f"the test's, after {heard.status}")


def test_what_the_test_raises_is_not_hidden_by_what_the_function_raised() -> None:
    def answer(_: ModelRequest) -> Say:
        raise AssertionError("the function's")

    server = ModelServer(answer)
    with pytest.raises(LookupError, match="the test's"), server:
        _fail_after(ask(server, Messages(), "Go"))


def test_an_answer_of_a_function_that_is_none_is_told() -> None:
    with (
        pytest.raises(ConfigurationError, match="The answer of the model's script is 'hi'"),
        ModelServer(lambda _: "hi") as server,  # type: ignore[arg-type]
    ):
        assert ask(server, Messages(), "Go").status == 500


def test_a_request_can_be_waited_for_while_it_is_answered() -> None:
    go = threading.Event()

    def answer(request: ModelRequest) -> Say:
        assert go.wait(DEADLINE)
        return Say(request.prompt)

    heard: list[Heard] = []
    with ModelServer(answer) as server:
        asking = threading.Thread(target=lambda: heard.append(ask(server, Messages(), "Go")))
        asking.start()
        request = server.wait_for(lambda request: request.prompt == "Go", DEADLINE)
        assert not heard
        go.set()
        asking.join(DEADLINE)
    assert (request.prompt, heard[0].text) == ("Go", "Go")


def test_a_request_that_does_not_come_is_a_timeout() -> None:
    with (
        ModelServer() as server,
        pytest.raises(TimeoutError, match="None of 0 requests fits after"),
    ):
        server.wait_for(lambda _: True, 0.01)


@pytest.mark.parametrize(
    ("script", "words"),
    [
        ([], "script is []"),
        ("say", "script is 'say'"),
        ([Say("a"), Turn([Say("b")])], "mixes turns and steps"),
        ([Turn([])], "Turn 0 of the model's script has no steps"),
        ([Turn([Say("a")]), Turn([Say("b")], when="(")], "Turn 1 of the model's script: '('"),
        ([Say("a"), ()], "Step 1 of turn 0 of the model's script is ()"),
        (["a"], "Step 0 of turn 0 of the model's script is 'a'"),
        ([[Say("a"), 3]], "Step 0 of turn 0 of the model's script holds 3"),
        ([[Say("a"), Refuse(500, "b")]], "Refuse stands alone"),
        ([Refuse(200, "b")], "a status 400 to 599"),
    ],
)
def test_a_script_that_cannot_be_played_is_refused(script: Any, words: str) -> None:
    with pytest.raises(ConfigurationError, match=re.escape(words)):
        ModelServer(script)


def test_a_body_may_come_in_chunks_or_compressed() -> None:
    provider = Messages()
    provider.user("Hello")
    body = json.dumps(provider.body()).encode()
    with ModelServer() as server:
        zipped = post(
            server.url, provider.path, gzip.compress(body), **{"Content-Encoding": "gzip"}
        )
        connection = http.client.HTTPConnection(
            server.url.removeprefix("http://"), timeout=DEADLINE
        )
        connection.request("POST", provider.path, iter([body[:9], body[9:]]), encode_chunked=True)
        response = connection.getresponse()
        chunked = response.status, response.read()
        connection.close()

    assert [provider.hear(answer).text for _, answer in (zipped, chunked)] == [
        "You said: Hello"
    ] * 2


def test_what_is_no_request_of_a_model_is_refused_and_not_recorded() -> None:
    with ModelServer() as server:
        statuses = [
            post(server.url, "/v1/messages", b"{broken")[0],
            post(server.url, "/v1/messages", b'{"messages": [{}]}')[0],
            post(server.url, "/v1/messages", b"[]")[0],
            post(server.url, "/v1/elsewhere", b"{}")[0],
            post(server.url, "/v1/messages/count_tokens", b"{}")[0],
        ]

    assert statuses == [400, 400, 404, 404, 200]
    assert server.requests == ()


def test_the_models_can_be_listed() -> None:
    with ModelServer(model="mine") as server:
        connection = http.client.HTTPConnection(
            server.url.removeprefix("http://"), timeout=DEADLINE
        )
        answers = []
        for method, path in (("GET", "/v1/models"), ("HEAD", "/"), ("GET", "/x")):
            connection.request(method, path)
            response = connection.getresponse()
            answers.append((response.status, response.read()))
        connection.close()

    assert [status for status, _ in answers] == [200, 200, 404]
    assert json.loads(answers[0][1])["data"][0]["id"] == "mine"


def test_it_listens_on_loopback_only_and_the_end_cuts_who_is_connected() -> None:
    with ModelServer() as server:
        host, _, port = server.url.removeprefix("http://").partition(":")
        idle = socket.create_connection((host, int(port)), timeout=DEADLINE)
        idle.sendall(b"POST /v1/messages HTTP/1.1\r\n")
        ask(server, Messages(), "Go")
        listening = {
            connection.laddr.ip
            for connection in psutil.Process().net_connections("tcp")
            if connection.status == psutil.CONN_LISTEN and connection.laddr.port == int(port)
        }

    assert listening == {host} == {"127.0.0.1"}
    assert idle.recv(1) == b""
    idle.close()
    with pytest.raises(ConnectionRefusedError):
        socket.create_connection((host, int(port)), timeout=DEADLINE)


def test_it_tells_that_it_is_not_running_or_already_is(tmp_path: Path) -> None:
    server = ModelServer()
    with pytest.raises(ConfigurationError, match="not running"):
        server.codex_profile(tmp_path)
    with server, pytest.raises(ConfigurationError, match="already running"), server:
        pass


def test_codex_is_led_here_by_its_config(tmp_path: Path) -> None:
    with ModelServer(model='my "model"') as server:
        setup = server.codex_profile(tmp_path / "codex")
        url = server.url

    config = tomllib.loads((setup.profile / "config.toml").read_text())
    provider = config["model_providers"][config["model_provider"]]
    assert (config["model"], setup.model) == ('my "model"', 'my "model"')
    assert provider["base_url"] == f"{url}/v1"
    assert setup.environment[provider["env_key"]]
    assert config["analytics"] == {"enabled": False}


def test_claude_is_led_here_by_its_environment(tmp_path: Path) -> None:
    with ModelServer() as server:
        setup = server.claude_profile(tmp_path / "claude")
        assert setup.environment["ANTHROPIC_BASE_URL"] == server.url

    assert setup.environment["ANTHROPIC_API_KEY"]
    assert setup.environment["DISABLE_TELEMETRY"] == "1"
    assert setup.profile.is_dir()


def test_codebuddy_is_led_here_by_its_models(tmp_path: Path) -> None:
    with ModelServer() as server:
        setup = server.codebuddy_profile(tmp_path / "codebuddy")
        url = server.url

    (model,) = json.loads((setup.profile / "models.json").read_text())["models"]
    assert (model["id"], model["url"]) == (setup.model, f"{url}/v1/chat/completions")
    assert setup.environment["DISABLE_TELEMETRY"] == "1"


def test_a_setup_can_be_changed_by_nobody(tmp_path: Path) -> None:
    with ModelServer() as server:
        for setup in (server.codex_profile, server.claude_profile, server.codebuddy_profile):
            environment: Any = setup(tmp_path).environment
            with pytest.raises(AttributeError):
                environment.clear()
