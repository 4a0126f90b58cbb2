"""What a message gets as its answer, in every revision of the protocol."""

from __future__ import annotations

import asyncio
import json
import logging
from typing import Any

import pytest

from toolcrib import tool

from .conftest import MODERN, Counter, Opener

HANDSHAKES = ("2024-11-05", "2025-03-26", "2025-06-18", "2025-11-25")
HUGE = 10**40 + 7


def lookup(key: str) -> dict[str, int]:
    return {key: HUGE}


def numbers() -> list[float]:
    return [0.1, 1e22, -0.0, 5e-324]


def reject(key: str) -> str:
    raise tool.reject("not_found", f"There is no {key}.")


def crash() -> str:
    msg = "secret text of a handler"
    raise RuntimeError(msg)


def leave() -> str:
    msg = "secret text of a handler"
    raise SystemExit(msg)


async def later(text: str) -> str:
    await asyncio.sleep(0)
    return text


@pytest.fixture
def counter(open_counter: Opener) -> Counter:
    handlers = (lookup, numbers, reject, crash, leave, later)
    return open_counter(*(tool.define(each.__name__, "A tool.", each) for each in handlers))


@pytest.mark.parametrize("version", HANDSHAKES)
def test_a_handshake_is_answered_in_its_revision(counter: Counter, version: str) -> None:
    client = {"name": "test", "version": "1"}
    params = {"protocolVersion": version, "capabilities": {}, "clientInfo": client}

    result = counter.message("initialize", params).result

    assert result["protocolVersion"] == version
    assert result["serverInfo"]["name"] == "toolcrib"
    assert "tools" in result["capabilities"]


def test_a_handshake_of_an_unknown_revision_gets_the_latest(counter: Counter) -> None:
    client = {"name": "test", "version": "1"}
    params = {"protocolVersion": "1999-01-01", "capabilities": {}, "clientInfo": client}

    assert counter.message("initialize", params).result["protocolVersion"] == HANDSHAKES[-1]


@pytest.mark.parametrize("version", HANDSHAKES)
def test_every_handshake_revision_lists_and_calls(counter: Counter, version: str) -> None:
    extra = [f"MCP-Protocol-Version: {version}"]

    listed = counter.message("tools/list", extra=extra).result["tools"]
    called = counter.call("lookup", {"key": "a"}, extra=extra).result

    assert [each["name"] for each in listed] == sorted(each["name"] for each in listed)
    assert len(listed) == 6
    assert called["structuredContent"] == {"a": HUGE}


def test_the_modern_revision_discovers_lists_and_calls(counter: Counter) -> None:
    discovered = counter.modern("server/discover").result
    listed = counter.modern("tools/list").result
    called = counter.modern("tools/call", {"name": "lookup", "arguments": {"key": "a"}}).result

    assert MODERN in discovered["supportedVersions"]
    assert (len(listed["tools"]), listed["resultType"]) == (6, "complete")
    assert (called["structuredContent"], called["resultType"]) == ({"a": HUGE}, "complete")
    for result in (discovered, listed, called):
        assert result["_meta"]["io.modelcontextprotocol/serverInfo"]["name"] == "toolcrib"


def test_an_answer_that_is_kept_is_the_same_as_a_fresh_one(counter: Counter) -> None:
    first, second = counter.message("tools/list").body, counter.message("tools/list").body
    modern = [counter.modern("tools/list").body for _ in range(2)]

    assert first == second
    assert modern[0] == modern[1]
    assert first != modern[0]


def test_a_kept_answer_does_not_answer_a_malformed_request(counter: Counter) -> None:
    counter.message("tools/list")

    reply = counter.message("tools/list", {"_meta": 5})

    assert reply.json["error"]["code"] == -32602


def test_an_unknown_revision_is_told_all_that_are_known(counter: Counter) -> None:
    reply = counter.message("ping", extra=["MCP-Protocol-Version: 1999-01-01"])

    assert reply.status == 400
    assert reply.json["error"]["data"]["supported"] == [*HANDSHAKES, MODERN]


def test_a_routing_field_may_be_there_once_only(counter: Counter) -> None:
    extra = ["MCP-Protocol-Version: 2025-06-18", "mcp-protocol-version: 2025-06-18"]

    assert counter.message("ping", extra=extra).status == 400


def test_modern_fields_have_to_agree_with_the_body(counter: Counter) -> None:
    meta = {
        "io.modelcontextprotocol/protocolVersion": MODERN,
        "io.modelcontextprotocol/clientCapabilities": {},
    }
    params = {"name": "lookup", "arguments": {"key": "a"}, "_meta": meta}
    extra = [f"MCP-Protocol-Version: {MODERN}", "Mcp-Method: tools/call", "Mcp-Name: crash"]

    reply = counter.message("tools/call", params, extra=extra)

    assert reply.status == 400
    assert "mcp-name" in reply.json["error"]["message"]


ROUTED = {
    "type": "object",
    "properties": {
        "region": {"type": "string", "x-mcp-header": "Region"},
        "count": {"type": "integer"},
    },
}


@pytest.mark.parametrize(
    ("arguments", "fields", "status"),
    [
        ({"region": "eu"}, ["Mcp-Param-Region: eu"], 200),
        ({"region": "é"}, ["mcp-param-region: =?base64?w6k=?="], 200),
        ({"count": 1}, [], 200),
        ({"region": "eu", "count": 1}, ["Mcp-Param-Region: eu", "Mcp-Param-Count: 2"], 200),
        ({"region": "eu"}, [], 400),
        ({"region": "eu"}, ["Mcp-Param-Region: us"], 400),
        ({}, ["Mcp-Param-Region: eu"], 400),
        ({"region": "eu"}, ["Mcp-Param-Region: eu", "Mcp-Param-Region: eu"], 400),
        ({"region": "eu"}, ["Mcp-Param-Region: us", "Mcp-Param-Region: eu"], 400),
    ],
)
def test_fields_that_repeat_arguments_have_to_agree_with_them(
    open_counter: Opener, arguments: dict[str, Any], fields: list[str], status: int
) -> None:
    def route(region: str = "", count: int = 0) -> str:
        return region * count

    counter = open_counter(tool.define("route", "Route.", route, input_schema=ROUTED))

    for _ in range(2):
        reply = counter.modern("tools/call", {"name": "route", "arguments": arguments}, fields)
        assert reply.status == status
        assert ("error" in reply.json) == (status == 400)
        assert reply.json["id"] == 1
    assert counter.call("route", arguments).status == 200, "the older revisions know none"


@pytest.mark.parametrize("method", ["notifications/initialized", "notifications/unknown"])
def test_a_notification_is_accepted_without_a_body(counter: Counter, method: str) -> None:
    body = json.dumps({"jsonrpc": "2.0", "method": method}).encode()

    reply = counter.ask(counter.request(body))

    assert (reply.status, reply.body) == (202, b"")


def test_a_connection_serves_one_request_after_the_other(counter: Counter) -> None:
    client = counter.connect()
    notification = counter.request(b'{"jsonrpc":"2.0","method":"notifications/initialized"}')

    assert client.send(notification).answer().status == 202
    for id in range(3):
        reply = client.send(counter.call_bytes("later", {"text": "x"}, id=id)).answer()
        assert (reply.json["id"], "connection" in reply.fields) == (id, False)


@pytest.mark.parametrize("id", [0, -1, 2**70, "", "7", 'é\n"', "x" * 10000])
def test_an_id_comes_back_as_it_was(counter: Counter, id: Any) -> None:
    assert counter.call("later", {"text": "x"}, id=id).json["id"] == id


def test_a_result_is_text_and_structured_content(counter: Counter) -> None:
    result = counter.call("lookup", {"key": "a"}).result

    assert result == {
        "content": [{"type": "text", "text": f'{{"a":{HUGE}}}'}],
        "structuredContent": {"a": HUGE},
        "isError": False,
    }


def test_numbers_go_out_digit_by_digit(counter: Counter) -> None:
    assert (
        f'"structuredContent":{{"a":{HUGE}}}'.encode() in counter.call("lookup", {"key": "a"}).body
    )
    assert (
        b'"structuredContent":{"result":[0.1,1e+22,-0.0,5e-324]}' in counter.call("numbers").body
    )


def test_a_result_that_is_no_object_is_wrapped_in_its_structured_form_only(
    counter: Counter,
) -> None:
    result = counter.call("later", {"text": "hi"}).result

    assert result["content"] == [{"type": "text", "text": '"hi"'}]
    assert result["structuredContent"] == {"result": "hi"}


def test_a_rejection_reaches_the_model(counter: Counter) -> None:
    reply = counter.call("reject", {"key": "ISSUE-1"})

    assert reply.failure == {"code": "not_found", "message": "There is no ISSUE-1."}


@pytest.mark.parametrize("arguments", [{}, {"key": 1}, {"key": "a", "more": 1}])
def test_arguments_that_do_not_fit_are_the_models_to_mend(
    counter: Counter, arguments: dict[str, Any]
) -> None:
    assert counter.call("lookup", arguments).failure["code"] == "invalid_input"


@pytest.mark.parametrize("name", ["crash", "leave"])
def test_what_a_handler_raises_stays_in_the_host(
    counter: Counter, name: str, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.DEBUG)

    legacy, modern = counter.call(name), counter.modern("tools/call", {"name": name})

    assert legacy.failure["code"] == modern.failure["code"] == "internal_error"
    assert b"secret" not in legacy.body + modern.body
    told = [each for each in caplog.records if each.exc_info]
    assert {each.name for each in told} == {"toolcrib.tools"}
    assert counter.call("later", {"text": "still here"}).status == 200


def test_an_output_above_the_limit_is_an_error(open_counter: Opener) -> None:
    def size(length: int) -> str:
        return "x" * length

    counter = open_counter(tool.define("size", "Make text.", size), output_bytes=1000)

    assert counter.call("size", {"length": 998}).result["isError"] is False
    assert counter.call("size", {"length": 999}).failure["code"] == "internal_error"


def test_an_unknown_tool_is_an_error_of_the_protocol(counter: Counter) -> None:
    legacy, modern = counter.call("nope"), counter.modern("tools/call", {"name": "nope"})

    assert (legacy.status, modern.status) == (200, 400)
    assert legacy.json["error"]["code"] == modern.json["error"]["code"] == -32602


@pytest.mark.parametrize(
    "params",
    [None, {}, {"name": 1}, {"name": "lookup", "arguments": [1]}, {"name": "lookup", "_meta": 5}],
)
def test_a_malformed_call_is_an_error_that_repeats_nothing(
    counter: Counter, params: dict[str, Any] | None
) -> None:
    reply = counter.message("tools/call", params)

    assert reply.json["error"] == {"code": -32602, "message": "Invalid request parameters"}


def test_a_call_without_arguments_is_a_call_with_none(counter: Counter) -> None:
    for params in ({"name": "numbers"}, {"name": "numbers", "arguments": None}):
        assert counter.message("tools/call", params).result["isError"] is False


@pytest.mark.parametrize("method", ["resources/list", "prompts/list", "nope", "logging/setLevel"])
def test_what_we_do_not_offer_is_not_found(counter: Counter, method: str) -> None:
    params = {"level": "debug"} if method == "logging/setLevel" else None

    assert counter.message(method, params).json["error"]["code"] == -32601


def test_an_agent_without_tools_lists_none(open_counter: Opener) -> None:
    assert open_counter().message("tools/list").result["tools"] == []


def test_a_token_opens_its_own_catalog_only(counter: Counter) -> None:
    other = counter.register(tool.define("later", "Another.", later), agent="other")

    listed = counter.message("tools/list", token=other).result["tools"]

    assert [each["description"] for each in listed] == ["Another."]
    assert len(counter.message("tools/list").result["tools"]) == 6
    assert counter.call("lookup", {"key": "a"}, token=other).json["error"]["code"] == -32602
