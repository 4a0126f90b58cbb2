"""Large messages are read as strictly as small ones, and leave other threads their turn."""

from __future__ import annotations

import itertools
import json
import math
import threading
import time
import tracemalloc
from collections.abc import Callable
from typing import Any

import pydantic_core
import pytest
from hypothesis import given
from hypothesis import strategies as st

from toolcrib import tool
from toolcrib.runtime import json_text

from .conftest import Opener

LARGE = 64 * 1024  # bytes; larger ones are read in another way
REFUSED = "refused"

# Beside what both parsers of the oracle refuse, what only one of them does.
TABLE = [
    *[b'"\\ud800"', b'"\\udc00\\ud800"', b'{"\\udfff":1}', b'["a\\uD800\\u0041"]'],
    *[b'"\\ud83d\\ude00"', b'"\\uD83D\\uDE00"', b'"\\\\ud800"', b'"\\\\\\ud800"'],
    *[b'"\\ud800\\ud800\\udc00"', b'"\\ud83d\\ude00\\ude00"'],
    *[b"\xef\xbb\xbf1", '"é"'.encode("utf-16"), b"\xff", b'"\xed\xa0\x80"', b'"\xc0\xaf"'],
    *[b"NaN", b"Infinity", b"-Infinity", b"1e999", b"-1e999", b"1e308", b"-0.0", b"1.0"],
    *[b"9" * 4300, b"9" * 4301, b"-" + b"9" * 4301, b"01", b"1.", b".5", b"+1", b"-", b"1e"],
    *[b'{"a":1,"a":2}', b'[{"a":1,"\\u0061":2}]', b'{"a":1,}', b"[1,]", b"{1:2}", b"['a']"],
    *[b"[" * depth + b"]" * depth for depth in (199, 200, 201, 500, 100_000)],
    *[b'{"a":' * depth + b"1" + b"}" * depth for depth in (200, 201, 5000)],
    *[b"[" * 150 + b'{"a":' * 50 + b"[]" + b"}" * 50 + b"]" * 150],
    *[b'["' + b"[" * 300 + b'"]', b"[" + b"[]," * 300 + b"1]", b'{"a":"{{{["}'],
    *[b"", b" ", b"1 1", b"1\x00", b'"\x00"', b'"\x1f"', b'"\x7f"', b'"\t"', b'"\\x"', b'"a'],
    *[b"\x0b1", b"\xc2\xa01", b"\t\n\r 1 ", b"// a\n1", b"tru", b"nul", b"True", b'"\\u12"'],
]

json_texts = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(),
    lambda inner: st.lists(inner) | st.dictionaries(st.text(max_size=3), inner),
    max_leaves=12,
).map(lambda value: json.dumps(value).encode())
fragments = st.lists(
    st.sampled_from(
        [
            *b'{}[]:,"\\ 01-.eE',
            "\\ud800",
            "\\udc00",
            "\\u0061",
            '"a":',
            '"a"',
            "true",
            "NaN",
            "1e400",
            "\ufeff",
            "é",
            "\x00",
            "\n",
            "[" * 201,
            "]" * 201,
        ]
    ).map(lambda each: bytes([each]) if isinstance(each, int) else each.encode()),
    max_size=12,
).map(b"".join)


def oracle(body: bytes) -> Any:
    """What two parsers agree on, with the rules that neither has."""

    def unique(pairs: list[tuple[str, Any]]) -> Any:
        if len({key for key, _ in pairs}) < len(pairs):
            raise ValueError
        return dict(pairs)

    def finite(text: str) -> float:
        if not math.isfinite(float(text)):
            raise ValueError
        return float(text)

    try:
        pydantic_core.from_json(body, allow_inf_nan=False)
        return json.loads(
            body, object_pairs_hook=unique, parse_float=finite, parse_constant=finite
        )
    except (ValueError, RecursionError):
        return REFUSED


def ours(body: bytes) -> Any:
    try:
        return json_text.read(body)
    except ValueError:
        return REFUSED


def check(body: bytes) -> None:
    # As text, since 1, 1.0 and True are equal.
    wanted = repr(oracle(body))
    assert repr(ours(body)) == wanted
    assert repr(ours(body.ljust(len(body) + LARGE))) == wanted


@pytest.mark.parametrize("body", TABLE, ids=lambda body: repr(body[:40]))
def test_what_is_refused_is_what_two_parsers_refuse(body: bytes) -> None:
    check(body)


@given(json_texts | fragments)
def test_any_text_is_refused_or_read_as_two_parsers_do(body: bytes) -> None:
    check(body)


@given(json_texts, st.data())
def test_any_text_with_a_fault_is_judged_as_two_parsers_do(body: bytes, data: Any) -> None:
    start = data.draw(st.integers(0, len(body)))
    end = data.draw(st.integers(start, min(len(body), start + 3)))
    check(body[:start] + data.draw(fragments) + body[end:])


@pytest.mark.parametrize("text", ['"\\é\n\x00/😀', "a", "\\", '"'])
@pytest.mark.parametrize("offset", [0, 1, 2, 3])
def test_a_text_of_any_size_is_written_exactly(text: str, offset: int) -> None:
    for size in (0, LARGE - 1, LARGE, LARGE + 1, 5 * LARGE):
        whole = ("x" * offset + text * size)[:size]
        assert json_text.quoted(whole) == json.dumps(whole, ensure_ascii=False)
        assert json_text.encoded(whole) == whole.encode()


def test_half_a_pair_is_never_written() -> None:
    with pytest.raises(UnicodeEncodeError):
        json_text.encoded("x" * LARGE + "\ud800")


def longest_wait(work: Callable[[], object]) -> float:
    """Which part of a work's time another thread waited at one go."""
    stamps: list[float] = []
    over = threading.Event()
    started = threading.Event()

    def tick() -> None:
        while not over.is_set():
            stamps.append(time.perf_counter())
            time.sleep(0)
            started.set()

    thread = threading.Thread(target=tick)
    thread.start()
    assert started.wait(10)
    began = time.perf_counter()
    work()
    ended = time.perf_counter()
    over.set()
    thread.join()
    marks = [began, *(stamp for stamp in stamps if began < stamp < ended), ended]
    return max(b - a for a, b in itertools.pairwise(marks)) / (ended - began)


ROWS = json.dumps([{"id": n, "name": f"row {n}", "open": True} for n in range(60_000)]).encode()
INTEGERS = json.dumps([*range(600_000)]).encode()
QUOTES = '{"a":1},' * 3_000_000


@pytest.mark.parametrize(
    "work",
    [
        lambda: json_text.read(ROWS),
        lambda: json_text.read(INTEGERS),
        lambda: json_text.quoted(QUOTES),
    ],
    ids=["rows", "integers", "quotes"],
)
def test_other_threads_get_their_turn(work: Callable[[], object]) -> None:
    # The system may keep a thread waiting too; but not every time.
    assert any(longest_wait(work) < 0.5 for _ in range(5))


def test_a_large_message_passes_in_both_directions(open_counter: Opener) -> None:
    def give_back(rows: list[dict[str, int | str]]) -> list[dict[str, int | str]]:
        return rows

    counter = open_counter(tool.define("give_back", "Give back.", give_back))
    rows = [{"id": n, "name": f'"é\\ {n}'} for n in range(30_000)]
    client = counter.connect()

    for _ in range(2):
        reply = client.send(counter.call_bytes("give_back", {"rows": rows})).answer()
        assert reply.result["structuredContent"]["result"] == rows
        assert json.loads(reply.result["content"][0]["text"]) == rows


def test_an_idle_connection_keeps_nothing_of_its_last_messages(open_counter: Opener) -> None:
    def give_back(text: str) -> str:
        return text

    counter = open_counter(tool.define("give_back", "Give back.", give_back))
    client = counter.connect()
    small, large = (counter.call_bytes("give_back", {"text": "x" * n}) for n in (1, 300_000))
    client.send(small).answer()
    tracemalloc.start()
    try:
        for _ in range(6):
            assert len(counter.connect().send(large).answer().body) > 600_000
        # Workers forget their last exchange before they take the next.
        for _ in range(20):
            client.send(small).answer()
        kept = tracemalloc.get_traced_memory()[0]
    finally:
        tracemalloc.stop()

    assert kept < 1_000_000


def test_a_large_message_with_a_fault_is_refused(open_counter: Opener, echo: tool.Tool) -> None:
    counter = open_counter(echo)
    text = "x" * 2 * LARGE

    for fault in (b"\\ud800", b"\xff", b"\n", b'","text":"'):
        body = (
            b'{"jsonrpc":"2.0","id":1,"method":"tools/call","params":'
            b'{"name":"echo","arguments":{"text":"%b%b"}}}' % (text.encode(), fault)
        )
        reply = counter.ask(counter.request(body))
        assert (reply.status, reply.json["error"]["code"]) == (400, -32700)
