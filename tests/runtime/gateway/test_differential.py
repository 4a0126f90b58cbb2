"""Our answers beside the SDK's own, request by request, in every revision.

Calls of tools take a shorter way than the SDK's, lists are kept as bytes, and
errors are ours. A request goes to a real listener, twice, since the second
answer may be a kept one, and to two references: `serve_one`, the SDK's entry
for one parsed request, with a tool handler that returns what our tools return;
and the SDK's whole HTTP application. What may differ is named in `ALLOWED`.
"""

from __future__ import annotations

import asyncio
import copy
import itertools
import json
import random
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import pytest
from hypothesis import HealthCheck, assume, given, settings
from hypothesis import strategies as st

from toolcrib import tool
from toolcrib.runtime.tools.catalog import Catalog

from .conftest import MODERN, Client, Counter, Opener
from .sdk_reference import Answer, OneExchange, Request, ask_application, enveloped

HANDSHAKES = ("2024-11-05", "2025-03-26", "2025-06-18", "2025-11-25")
VERSIONS = (None, *HANDSHAKES, MODERN, "1999-01-01")

# Why each difference from the SDK's application is meant.
ALLOWED = {
    "empty data": "Its errors of invalid parameters carry an empty text as their data.",
    "unknown revision": "It speaks of a missing envelope; we name the revisions that we know.",
    "parser's text": "It sends what its parser says, with a part of the body.",
    "dropped": "It takes a request with an odd id for a notification, and never answers.",
    "a response": "It accepts a response to a request that nobody made.",
    "lenient parser": "It takes NaN and keys that are there twice.",
}
PING = b'{"jsonrpc":"2.0","id":1,"method":"ping"}'
BODIES = {
    b"{not json": "parser's text",
    b"": "parser's text",
    b"\xef\xbb\xbf" + PING: "parser's text",
    b"[" + PING + b"]": "parser's text",
    b'"ping"': "parser's text",
    b'{"jsonrpc":"1.0","id":1,"method":"ping"}': "parser's text",
    b'{"jsonrpc":"2.0","id":1,"method":"ping","params":[1]}': "parser's text",
    b'{"jsonrpc":"2.0","id":null,"method":"ping"}': "dropped",
    b'{"jsonrpc":"2.0","id":1.5,"method":"ping"}': "dropped",
    b'{"jsonrpc":"2.0","id":true,"method":"ping"}': "dropped",
    b'{"jsonrpc":"2.0","id":1,"result":{}}': "a response",
    b'{"jsonrpc":"2.0","id":1,"method":"ping","params":{"a":NaN}}': "lenient parser",
    b'{"jsonrpc":"2.0","id":1,"method":"ping","params":{"a":1,"a":2}}': "lenient parser",
}


# The tools. Each answers the same to the same arguments.


def echo(text: str) -> dict[str, str]:
    return {"text": text}


def number(value: int) -> int:
    return value * 10**20


def fractions() -> list[float]:
    return [0.1, 1e22, -0.0, 5e-324]


def nothing() -> None:
    return None


def reject(key: str) -> str:
    raise tool.reject("not_found", f"There is no {key}.")


def crash() -> str:
    raise RuntimeError("secret text of a handler")


async def later(text: str, times: int = 1) -> str:
    await asyncio.sleep(0)
    return text * times


HANDLERS = (echo, number, fractions, nothing, reject, crash, later)


@pytest.fixture(scope="module")
def tools() -> tuple[tool.Tool, ...]:
    return tuple(tool.define(each.__name__, "A tool.", each) for each in HANDLERS)


class Ours:
    """The real listener, over one connection that is kept."""

    def __init__(self, counter: Counter) -> None:
        self._counter = counter
        # Not before the first request, which may not take long to follow.
        self._client: Client | None = None

    def ask(self, request: Request, body: bytes | None = None) -> Answer:
        extra = [f"{name}: {value}" for name, value in request.headers.items()]
        data = self._counter.request(request.body if body is None else body, extra=extra)
        self._client = self._client or self._counter.connect()
        reply = self._client.send(data).answer()
        return Answer(reply.status, reply.json if reply.body else None)


@dataclass
class Pair:
    """Ours and `serve_one` over the same tools."""

    ours: Ours
    reference: OneExchange

    def differ(self, request: Request) -> str | None:
        """Ask both; return what differs."""
        expected = self.reference.ask(request)
        for attempt in ("first", "second"):
            answer = self.ours.ask(request)
            if not same(answer, expected):
                return f"{attempt} answer to {request}:\n  ours {answer}\n  SDK  {expected}"
        return None


def same(one: Answer, other: Answer) -> bool:
    # As text, since True equals 1 and 1 equals 1.0 in Python, and in JSON they are not.
    return one.status == other.status and text(one.json) == text(other.json)


def text(value: Any) -> str:
    return json.dumps(value, sort_keys=True)


@pytest.fixture
def pair(open_counter: Opener, tools: tuple[tool.Tool, ...]) -> Iterator[Pair]:
    reference = OneExchange(Catalog(tools))
    yield Pair(Ours(open_counter(*tools)), reference)
    reference.close()


# The requests.

ABSENT = object()
ARGUMENTS: tuple[Any, ...] = (
    ABSENT, None, True, 1, 1.5, "", "text", [], [1], {}, {"text": "hi"}, {"text": "é\u2028\x00"},
    {"text": 1}, {"text": None}, {"text": "x", "more": 1}, {"text": "a" * 1000}, {"value": 7},
    {"value": 2**70}, {"value": 1.0}, {"value": True}, {"key": "k"}, {"text": "ab", "times": 3},
)  # fmt: skip
NAMES = (*(each.__name__ for each in HANDLERS), "nope", "", "ECHO", "echo ", None, 1, ABSENT)
EXTRAS: tuple[dict[str, Any], ...] = (
    {"_meta": None}, {"_meta": 5}, {"_meta": {}}, {"_meta": {"progressToken": 1}},
    {"_meta": {"progressToken": "é"}}, {"_meta": {"progressToken": True}}, {"_meta": {"x": [1]}},
    {"junk": 1}, {"task": {"ttl": 1}}, {"task": 5}, {"inputResponses": {}},
    {"inputResponses": 1}, {"requestState": "x"}, {"requestState": 5}, {"cursor": "x"},
)  # fmt: skip
METHODS = (
    "ping", "tools/list", "server/discover", "initialize", "resources/list", "prompts/get",
    "logging/setLevel", "completion/complete", "tasks/list", "subscriptions/listen", "nope", "",
)  # fmt: skip
CLIENT = {"capabilities": {}, "clientInfo": {"name": "test", "version": "1"}}
PARAMS: tuple[Any, ...] = (
    None, {}, {"cursor": "x"}, {"cursor": 1}, {"_meta": {}}, {"_meta": 5}, {"level": "debug"},
    {"protocolVersion": "2025-06-18", **CLIENT}, {"protocolVersion": "1999", **CLIENT},
    {"protocolVersion": MODERN, **CLIENT}, {"protocolVersion": 1, **CLIENT},
)  # fmt: skip
IDS = (7, "seven", 0, -1, 2**70, "", "é\"\\\n")  # fmt: skip


def present(**params: Any) -> dict[str, Any]:
    return {key: value for key, value in params.items() if value is not ABSENT}


def table() -> Iterator[Request]:
    """Every method with every parameter, every tool with every argument."""
    for name, arguments in itertools.product(NAMES, ARGUMENTS):
        yield Request("tools/call", present(name=name, arguments=arguments))
    for extra in EXTRAS:
        yield Request("tools/call", {"name": "echo", "arguments": {"text": "hi"}, **extra})
    for method, params in itertools.product(METHODS, PARAMS):
        yield Request(method, params)
    for id, method in itertools.product(IDS, ("ping", "tools/list", "nope")):
        yield Request(method, id=id)


def versioned(request: Request, version: str | None) -> Request:
    if version == MODERN:
        return enveloped(request)
    return Request(request.method, request.params, version, request.id)


@pytest.mark.parametrize("version", VERSIONS)
def test_every_request_of_the_table_is_answered_as_the_sdk_does(
    pair: Pair, version: str | None
) -> None:
    requests = [versioned(each, version) for each in table()]
    assert len(requests) > 400

    differences = [found for each in requests if (found := pair.differ(each))]

    assert not differences, "\n".join(differences[:5])


def mutated(request: Request, chance: random.Random) -> Request:
    """Return a modern request with one thing wrong."""
    fields, params = dict(request.fields), copy.deepcopy(request.params)
    meta = params["_meta"]
    match chance.randrange(6):
        case 0:
            fields.pop(chance.choice([*fields]))
        case 1:
            fields[chance.choice([*fields])] = chance.choice(("", "echo", "ping", "tools/call"))
        case 2:
            meta.pop(chance.choice([*meta]))
        case 3:
            wrong: tuple[Any, ...] = (None, 1, "1999-01-01", "2025-11-25", {}, [], {"name": 1})
            meta[chance.choice([*meta])] = chance.choice(wrong)
        case 4:
            params["_meta"] = chance.choice((None, 5, [], {}))
        case _:
            version = chance.choice((*HANDSHAKES, "1999-01-01"))
            return Request(request.method, params, version, request.id, fields)
    return Request(request.method, params, request.version, request.id, fields)


def test_fields_and_envelopes_that_disagree_are_refused_as_the_sdk_does(pair: Pair) -> None:
    chance = random.Random(20261201)  # noqa: S311 - a seed, so that a failure comes again
    sound = [enveloped(each) for each in table()]
    requests = [mutated(each, chance) for each in chance.sample(sound, 400)]

    differences = [found for each in requests if (found := pair.differ(each))]

    assert not differences, "\n".join(differences[:5])


LEAVES = (
    st.none()
    | st.booleans()
    | st.integers()
    | st.floats(allow_nan=False, allow_infinity=False)
    | st.text(max_size=20)
)
VALUES = st.recursive(
    LEAVES,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=8), inner),
    max_leaves=8,
)
KEYS = st.sampled_from(("text", "value", "key", "times", "more"))
GENERATED = st.builds(
    versioned,
    st.builds(
        Request,
        st.just("tools/call") | st.sampled_from(METHODS),
        st.none()
        | st.fixed_dictionaries(
            {"name": st.sampled_from([each.__name__ for each in HANDLERS]) | LEAVES},
            optional={
                "arguments": st.dictionaries(KEYS, VALUES) | VALUES,
                "_meta": st.dictionaries(st.sampled_from(("progressToken", "x")), VALUES),
                "cursor": LEAVES,
                "protocolVersion": LEAVES,
            },
        ),
        id=st.integers() | st.text(max_size=20),
    ),
    st.sampled_from((None, *HANDSHAKES, MODERN)),
)


@given(request=GENERATED)
@settings(
    max_examples=400,
    deadline=None,
    suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow],
)
def test_generated_requests_are_answered_as_the_sdk_does(pair: Pair, request: Request) -> None:
    assume(all(value.isascii() and value.isprintable() for value in request.headers.values()))
    assert pair.differ(request) is None


# The whole application: what the SDK makes of the message itself, and its statuses.


def allowed(request: Request, body: bytes, ours: Answer, theirs: Answer) -> str | None:
    """Return the name of the difference, if it is one of `ALLOWED`."""
    mine, other = dict(ours.json or {}), dict(theirs.json or {})
    error = dict(other.get("error", {}))
    if error.pop("data", None) == "" and same(
        ours, Answer(theirs.status, other | {"error": error})
    ):
        return "empty data"
    if request.version == "1999-01-01" and ours.status == theirs.status == 400:
        known = mine["error"].get("data", {}).get("supported")
        return "unknown revision" if known == [*HANDSHAKES, MODERN] else None
    if body in BODIES:
        return BODIES[body] if ours.status == 400 and "error" in mine else None
    return None


def test_the_sdks_application_answers_the_same_but_for_what_is_named(
    pair: Pair, tools: tuple[tool.Tool, ...]
) -> None:
    chance = random.Random(20261202)  # noqa: S311 - a seed, so that a failure comes again
    sound = [versioned(each, version) for version in VERSIONS for each in table()]
    wrong = [mutated(enveloped(each), chance) for each in chance.sample([*table()], 200)]
    asked = [(each, each.body) for each in [*sound[::4], *wrong]]
    asked += [
        (Request("", version=version), body) for version in (None, *HANDSHAKES) for body in BODIES
    ]
    asked += [
        (
            Request(method, version=version),
            json.dumps({"jsonrpc": "2.0", "method": method}).encode(),
        )
        for method in ("notifications/initialized", "notifications/other")
        for version in (None, *HANDSHAKES)
    ]

    answers = asyncio.run(ask_application(Catalog(tools), asked))
    found: dict[str | None, list[str]] = {}
    for (request, body), theirs in zip(asked, answers, strict=True):
        ours = pair.ours.ask(request, body)
        if not same(ours, theirs):
            name = allowed(request, body, ours, theirs)
            found.setdefault(name, []).append(
                f"{request} {body!r}\n  ours {ours}\n  SDK  {theirs}"
            )

    assert not found.get(None), "\n".join(found[None][:5])
    assert found.keys() == ALLOWED.keys(), "a difference that is gone need not be allowed"
