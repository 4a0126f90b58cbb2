from __future__ import annotations

import json

import pytest

from toolcrib.runtime.drivers.json_lines import JsonLines

RECORDS = [
    "{}",
    '{"a": 1} \t\r',
    '{"a": [1, {"b": null}], "a": 2}',
    '{"half": "\\ud83d", "number": 1e999, "nan": NaN, "big": 123456789012345678901234567890}',
    '{"text": "\u2028 \u00a0 {}"}',
]
BROKEN = [
    "{",
    '{"a": 1',
    "{} {}",
    "{}x",
    "{}\u00a0",
    "{}\x0b",
    '{"a": tru}',
    '{"a": "\n"}',
    "{1: 2}",
    '{"a":' * 100_000,
]


@pytest.mark.parametrize("line", RECORDS)
def test_a_record_is_what_json_makes_of_it(line: str) -> None:
    lines = JsonLines()
    assert repr(lines.take(line)) == repr(json.loads(line))
    assert not lines.broken(died=False)


@pytest.mark.parametrize("line", BROKEN, ids=range(len(BROKEN)))
def test_a_broken_record_is_remembered_unless_it_was_the_last_of_one_that_died(line: str) -> None:
    with pytest.raises((ValueError, RecursionError)):
        json.loads(line)
    lines = JsonLines()
    assert lines.take(line) is None
    assert (lines.broken(died=False), lines.broken(died=True)) == (True, False)
    assert lines.take("  ") is None
    assert not lines.broken(died=True)
    assert lines.take("{}") == {}
    assert lines.broken(died=True)


@pytest.mark.parametrize("line", ["[1]", "null", '"{}"', " {}", "\ufeff{}", "no record"])
def test_other_lines_come_back_as_they_are(line: str) -> None:
    lines = JsonLines()
    assert lines.take(line) == line
    assert not lines.broken(died=False)
    assert lines.take("x" * 5000) == "x" * 2000
