"""What is refused before a body is read, and in which order."""

from __future__ import annotations

import itertools
from typing import Any

import pytest

from toolcrib import tool

from .conftest import Counter, Opener


@pytest.fixture
def counter(open_counter: Opener, echo: tool.Tool) -> Counter:
    return open_counter(echo, body_bytes=1000)


def test_a_right_request_is_answered(counter: Counter) -> None:
    assert counter.call("echo", {"text": "hi"}).result["structuredContent"] == {"text": "hi"}


# Each fails one check; in the order in which the checks are made. The body never comes.
FAULTS: list[tuple[int, dict[str, Any]]] = [
    (431, {"extra": [f"X-{number}: 1" for number in range(64)]}),
    (421, {"host": "evil.example"}),
    (403, {"extra": ["Origin: http://evil.example"]}),
    (401, {"token": "wrong"}),
    (404, {"target": "/other"}),
    (405, {"method": "PUT"}),
    (415, {"content_type": "text/plain"}),
    (406, {"extra": ["Accept: text/event-stream"]}),
    (413, {"length": 1001}),
]


@pytest.mark.parametrize(("status", "fault"), FAULTS)
def test_each_check_has_its_status_and_needs_no_body(
    counter: Counter, status: int, fault: dict[str, Any]
) -> None:
    client = counter.connect().send(counter.head(**{"length": 10, **fault}))

    reply = client.answer()

    assert reply.status == status
    assert reply.fields["connection"] == "close"
    assert client.ended()


@pytest.mark.parametrize(
    ("first", "second"), [*itertools.combinations(FAULTS, 2)], ids=lambda fault: str(fault[0])
)
def test_the_earlier_check_decides(
    counter: Counter, first: tuple[int, dict[str, Any]], second: tuple[int, dict[str, Any]]
) -> None:
    extra = [*first[1].get("extra", []), *second[1].get("extra", [])]

    reply = counter.ask(counter.head(**{"length": 10, **second[1], **first[1], "extra": extra}))

    assert reply.status == first[0]


@pytest.mark.parametrize(
    "host",
    ["localhost:{port}", "127.0.0.1", "127.0.0.1:{port}.evil.example", "[::1]:{port}"],
)
def test_only_the_numeric_host_with_its_port_is_right(counter: Counter, host: str) -> None:
    wrong = host.format(port=counter.port)

    assert counter.ask(counter.head(host=wrong)).status == 421


def test_a_request_without_a_host_is_malformed(counter: Counter) -> None:
    client = counter.connect().send(counter.head(host=None))

    assert client.answer().status == 400
    assert client.ended()


def test_the_answer_to_head_has_no_body(counter: Counter) -> None:
    reply = counter.connect().send(counter.head(method="HEAD")).answer()

    assert (reply.status, reply.body, reply.fields["allow"]) == (405, b"", "POST")


@pytest.mark.parametrize(
    "origins",
    [
        ["null"],
        [""],
        ["http://127.0.0.1"],
        ["http://localhost:{port}"],
        ["https://127.0.0.1:{port}"],
        ["http://127.0.0.1:{port}/"],
        ["http://127.0.0.1:{port}", "http://127.0.0.1:{port}"],
    ],
)
def test_an_origin_has_to_be_our_own(counter: Counter, origins: list[str]) -> None:
    extra = [f"Origin: {origin.format(port=counter.port)}" for origin in origins]

    assert counter.ask(counter.head(extra=extra)).status == 403


def test_our_own_origin_may_call(counter: Counter) -> None:
    extra = [f"Origin: http://127.0.0.1:{counter.port}"]

    assert counter.call("echo", {"text": "hi"}, extra=extra).status == 200


@pytest.mark.parametrize(
    "fields",
    [
        [],
        ["Authorization: {token}"],
        ["Authorization: Bearer"],
        ["Authorization: Bearer "],
        ["Authorization: Basic {token}"],
        ["Authorization: Bearer {token}x"],
        ["Authorization: Bearer \xff\xfe"],
        ["Authorization: Bearer wrong", "Authorization: Bearer {token}"],
        ["Authorization: Bearer {token}", "Authorization: Bearer {token}"],
    ],
)
def test_exactly_one_bearer_with_a_known_token_opens(counter: Counter, fields: list[str]) -> None:
    extra = [each.format(token=counter.token) for each in fields]

    reply = counter.ask(counter.head(token=None, extra=extra))

    assert reply.status == 401
    assert reply.fields["www-authenticate"].startswith("Bearer")


@pytest.mark.parametrize("target", ["/", "/mcp/", "/mcp?x=1", "/%6dcp", "/x/../mcp", "/MCP"])
def test_only_the_exact_path_is_served(counter: Counter, target: str) -> None:
    assert counter.ask(counter.head(target=target)).status == 404


@pytest.mark.parametrize("method", ["GET", "DELETE", "OPTIONS", "PATCH"])
def test_only_post_is_served(counter: Counter, method: str) -> None:
    reply = counter.ask(counter.head(None, method=method))

    assert reply.status == 405
    assert reply.fields["allow"] == "POST"


@pytest.mark.parametrize("content_type", [None, "text/plain; a=application/json", "", "json"])
def test_only_json_is_read(counter: Counter, content_type: str | None) -> None:
    extra = ["Content-Type:"] if content_type == "" else []

    reply = counter.ask(counter.head(content_type=content_type or None, extra=extra))

    assert reply.status == 415


def test_the_charset_of_json_does_not_matter(counter: Counter) -> None:
    reply = counter.call("echo", {"text": "é"}, content_type="Application/JSON; charset=utf-8")

    assert reply.status == 200


@pytest.mark.parametrize(
    ("accepts", "status"),
    [
        ([], 200),
        (["application/json, text/event-stream"], 200),
        (["text/event-stream", "Application/JSON;q=0.1"], 200),
        (["*/*"], 200),
        (["text/html, application/*;q=0.5"], 200),
        ([""], 406),
        (["text/html"], 406),
        (["application/json;q=0, */*"], 406),
        (["application/jsonp"], 406),
        ([";;q=,,*"], 406),
    ],
)
def test_an_answer_in_json_must_be_acceptable(
    counter: Counter, accepts: list[str], status: int
) -> None:
    extra = [f"Accept: {accept}" for accept in accepts]

    assert counter.call("echo", {"text": "hi"}, extra=extra).status == status


@pytest.mark.parametrize("extra", [[], ["Transfer-Encoding: chunked"]])
def test_a_body_needs_a_length(counter: Counter, extra: list[str]) -> None:
    assert counter.ask(counter.head(None, extra=extra)).status == 411


def test_a_body_of_the_largest_size_is_read(counter: Counter) -> None:
    reply = counter.ask(counter.request(b" " * 1000))

    assert reply.status == 400
    assert reply.json["error"]["code"] == -32700


def test_a_refusal_says_nothing_of_the_host(counter: Counter) -> None:
    reply = counter.ask(counter.head(token="wrong", target="/secret"))

    assert set(reply.fields) == {
        "connection",
        "content-length",
        "content-type",
        "www-authenticate",
    }
    assert reply.json == {
        "jsonrpc": "2.0",
        "id": None,
        "error": {"code": -32600, "message": "Unauthorized"},
    }
