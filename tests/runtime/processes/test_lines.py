from __future__ import annotations

import random
from itertools import islice, pairwise

import pytest

from toolcrib.messages.secret import Secret
from toolcrib.runtime.drivers.interface import MaskedLine
from toolcrib.runtime.processes.lines import LineBuffer, LineTooLongError, Masks, Tail


def lines_of(buffer: LineBuffer) -> list[str]:
    return list(iter(buffer.next, None))


def masks(*secrets: str) -> Masks:
    return Masks(map(Secret, secrets))


@pytest.mark.parametrize("size", [1, 2, 3, 7, 1000])
def test_lines_do_not_depend_on_the_chunks(size: int) -> None:
    data = "é€😀\r\n\n{}\nsecret-token\nend".encode()
    buffer = LineBuffer(1000, masks("secret-token"))
    found: list[str] = []
    for at in range(0, len(data), size):
        buffer.feed(data[at : at + size])
        found += lines_of(buffer)
    assert found == ["é€😀", "", "{}", "***"]
    assert buffer.rest() == "end"
    assert buffer.rest() is None


def test_a_line_of_exactly_the_limit_passes_and_one_byte_more_does_not() -> None:
    buffer = LineBuffer(5, masks())
    buffer.feed(b"12345\n123456\n")
    assert buffer.next() == "12345"
    with pytest.raises(LineTooLongError):
        buffer.next()


def test_a_long_line_is_refused_before_its_end_comes() -> None:
    buffer = LineBuffer(5, masks())
    buffer.feed(b"123456")
    with pytest.raises(LineTooLongError):
        buffer.next()


def test_a_cut_line_comes_once_whatever_follows_it() -> None:
    buffer = LineBuffer(5, masks(), cut=True)
    found: list[str] = []
    for chunk in (b"123456", b"789" * 100, b"0", b"\nnext\n", b"abcdefg\nlast"):
        buffer.feed(chunk)
        found += lines_of(buffer)
    assert found == ["12345…", "next", "abcde…"]
    assert buffer.rest() == "last"


def test_the_rest_of_a_cut_line_is_no_line() -> None:
    buffer = LineBuffer(5, masks(), cut=True)
    buffer.feed(b"123456789")
    assert buffer.next() == "12345…"
    buffer.feed(b"more")
    assert buffer.next() is None
    assert buffer.rest() is None


@pytest.mark.parametrize("before", range(30))
def test_no_part_of_a_secret_survives_a_cut(before: int) -> None:
    buffer = LineBuffer(30, masks("0123456789"), cut=True)
    buffer.feed(b"." * before + b"0123456789" + b"." * 50)
    line = buffer.next()
    assert line is not None
    assert not set(line) & set("0123456789")


def test_a_secret_that_begins_with_another_is_hidden_whole() -> None:
    assert masks("token", "token-long").apply("<token-long> <token>") == "<***> <***>"


def test_an_empty_secret_hides_nothing() -> None:
    assert masks("").apply("text") == "text"


def test_the_lines_of_a_key_are_hidden_and_its_short_ones_are_not() -> None:
    key = "-----BEGIN KEY-----\nMIIEvQIBADANBg\n}\n"
    text = masks(key).apply("a } b MIIEvQIBADANBg")
    assert text == "a } b ***"


def test_a_tail_is_the_end_of_all_lines() -> None:
    tail = Tail(10)
    assert tail.text() == ""
    for line in ("abc", "defgh", "i", "x" * 3):
        tail.add(line)
    assert tail.text() == "efgh\ni\nxxx\n"[-10:]
    tail.add("y" * 50)
    assert tail.text() == "y" * 9 + "\n"


PARTS = [
    b"\n",
    b"\r\n",
    b"\r",
    b"a",
    b"bb",
    b"key",
    b"ke",
    b"y-two",
    b"\xff",
    b"\xe2\x82",
    "€😀".encode(),
]
SECRETS = ("key", "key-two", "y\r", "a\nb")


def one_by_one(data: bytes, limit: int) -> list[str]:
    """Cut and mask lines in the plainest way."""
    found = []
    *whole, rest = data.split(b"\n")
    for line in [*whole, rest] if rest else whole:
        if len(line) > limit:
            start = masks(*SECRETS).apply(line[:limit].decode("utf-8", "replace"))
            found.append(start[: len(start) - masks(*SECRETS).longest] + "…")
        else:
            text = line.decode("utf-8", "replace").removesuffix("\r")
            found.append(masks(*SECRETS).apply(text))
    return found


@pytest.mark.parametrize("seed", range(200))
def test_lines_taken_at_once_are_those_taken_one_by_one(seed: int) -> None:
    chance = random.Random(seed)  # noqa: S311 - so that a failure comes again
    data = b"".join(chance.choices(PARTS, k=chance.randint(0, 120)))
    limit = chance.choice([3, 9, 1000])
    buffer = LineBuffer(limit, masks(*SECRETS), cut=True)
    cuts = sorted(chance.choices(range(len(data) + 1), k=chance.randint(0, 12)))
    found: list[str] = []
    for start, end in pairwise([0, *cuts, len(data)]):
        buffer.feed(data[start:end])
        # Not always all: what is left has to wait for the next chunk.
        found += islice(iter(buffer.next, None), chance.choice([1, 1000]))
    found += lines_of(buffer)
    last = buffer.rest()
    assert found + ([] if last is None else [last]) == one_by_one(data, limit)


def test_only_lines_that_hold_a_secret_are_masked_lines() -> None:
    buffer = LineBuffer(1000, masks("secret-token"))
    buffer.feed(b"one\nis secret-token.\nthree\n")
    assert [type(line) for line in lines_of(buffer)] == [str, MaskedLine, str]


def test_a_forgotten_buffer_has_no_lines_left() -> None:
    buffer = LineBuffer(1000, masks())
    buffer.feed(b"one\ntwo\nthree")
    assert buffer.next() == "one"
    buffer.clear()
    assert buffer.next() is None
    assert buffer.rest() is None


@pytest.mark.parametrize("seed", range(100))
def test_what_may_begin_a_secret_is_the_longest_such_end(seed: int) -> None:
    chance = random.Random(seed)  # noqa: S311 - so that a failure comes again
    secrets = ["".join(chance.choices("abc", k=chance.randint(1, 6))) for _ in range(2)]
    for _ in range(50):
        text = "".join(chance.choices("abc", k=chance.randint(0, 9)))
        ends = [
            size
            for secret in secrets
            for size in range(1, len(secret))
            if text.endswith(secret[:size])
        ]
        assert masks(*secrets).begun(text) == max(ends, default=0)
