"""Types that JSON writes as texts: exact both ways, and nothing is guessed."""

from __future__ import annotations

import datetime as dt
import pathlib
import uuid
from decimal import Decimal
from typing import Any
from zoneinfo import ZoneInfo

import pytest
from typed_tools import dumped, giving, loaded, schema_of

from toolcrib.errors import DefinitionError, InvalidInputError, InvalidOutputError

BERLIN = dt.timezone(dt.timedelta(hours=2))
UUID = uuid.UUID("12345678-1234-5678-9234-567812345678")


@pytest.mark.parametrize(
    ("kind", "plain", "value"),
    [
        (dt.datetime, "2026-01-31T09:30:00+02:00", dt.datetime(2026, 1, 31, 9, 30, tzinfo=BERLIN)),
        (
            dt.datetime,
            "2026-01-31T09:30:00.000001+00:00",
            dt.datetime(2026, 1, 31, 9, 30, 0, 1, dt.UTC),
        ),
        (dt.date, "2026-01-31", dt.date(2026, 1, 31)),
        (dt.time, "09:30:00+02:00", dt.time(9, 30, tzinfo=BERLIN)),
        (dt.timedelta, "P1DT2H3M4.5S", dt.timedelta(1, 4, 500_000, hours=2, minutes=3)),
        (dt.timedelta, "-PT0.000001S", dt.timedelta(microseconds=-1)),
        (dt.timedelta, "PT0S", dt.timedelta()),
        (dt.timedelta, "P999999999D", dt.timedelta(999_999_999)),
        (uuid.UUID, str(UUID), UUID),
        (Decimal, "1.10", Decimal("1.10")),
        (Decimal, "-0", Decimal("-0")),
        (Decimal, "1E+50", Decimal("1E+50")),
        (Decimal, "0." + "1" * 60, Decimal("0." + "1" * 60)),
        (pathlib.Path, "/a/b c/é", pathlib.Path("/a/b c/é")),
        (pathlib.PurePosixPath, "a", pathlib.PurePosixPath("a")),
        (pathlib.PureWindowsPath, "C:\\a", pathlib.PureWindowsPath("C:\\a")),
        (bytes, "/wA=", b"\xff\x00"),
        (bytes, "", b""),
    ],
)
def test_they_arrive_as_their_values_and_leave_as_the_same_texts(
    kind: Any, plain: Any, value: Any
) -> None:
    assert repr(loaded(kind, plain)) == repr(value)
    assert dumped(kind, value) == plain


@pytest.mark.parametrize(
    ("kind", "plain", "value"),
    [
        (dt.datetime, "2026-01-31t09:30:00z", dt.datetime(2026, 1, 31, 9, 30, tzinfo=dt.UTC)),
        (dt.timedelta, "P2W", dt.timedelta(weeks=2)),
        (dt.timedelta, "PT90M", dt.timedelta(minutes=90)),
        (uuid.UUID, str(UUID).upper(), UUID),
        (Decimal, 3, Decimal(3)),
        (Decimal, 3.0, Decimal(3)),
    ],
)
def test_other_spellings_of_the_same_value_arrive(kind: Any, plain: Any, value: Any) -> None:
    assert repr(loaded(kind, plain)) == repr(value)


@pytest.mark.parametrize(
    ("kind", "wrong"),
    [
        (
            dt.datetime,
            [
                "2026-01-31",
                "2026-01-31T09:30:00",
                "2026-01-31 09:30:00Z",
                "2026-02-30T00:00:00Z",
                "2026-01-31T24:00:00Z",
                "2026-01-31T23:59:60Z",
                "2026-01-31T09:30:00.1234567Z",
                "0000-01-31T09:30:00Z",
                "2026-01-31T09:30:00Z\n",
                1_769_851_800,
            ],
        ),
        (dt.date, ["2026-01-31T09:30:00Z", "20260131", "2026-W01-1", "2026-13-01", "0000-01-01"]),
        (dt.time, ["09:30:00", "09:30Z", "24:00:00Z", "09:30:00.1234567Z"]),
        (dt.timedelta, ["P", "PT", "P1DT", "P1Y", "P1M", "1D", "PT1.0000001S", "P9999999999D", 5]),
        (dt.timedelta, ["P" + "9" * 5000 + "D"]),
        (uuid.UUID, [UUID.hex, "{" + str(UUID) + "}", "x", 5]),
        (Decimal, ["NaN", "Infinity", "1_000", " 1", "1.", ".5", "٣", "1\n", 1.5, True]),
        (pathlib.Path, [5, None, "\ud800"]),
        (bytes, ["/w", "/w=", "/x==", "_w==", "/w==\n", " /w==", "é", [255]]),
    ],
)
def test_texts_that_mean_nothing_exact_are_refused(kind: Any, wrong: list[Any]) -> None:
    for plain in wrong:
        with pytest.raises(InvalidInputError):
            loaded(kind, plain)


@pytest.mark.parametrize(
    ("kind", "value", "reason"),
    [
        (dt.datetime, dt.datetime(2026, 1, 1), "timezone"),  # noqa: DTZ001
        (dt.datetime, dt.date(2026, 1, 1), "not a datetime"),
        (
            dt.datetime,
            dt.datetime(1880, 1, 1, tzinfo=ZoneInfo("Europe/Berlin")),
            "whole number of minutes",
        ),
        (dt.date, dt.datetime(2026, 1, 1, tzinfo=dt.UTC), "not a date"),
        (dt.time, dt.time(9), "timezone"),
        (dt.time, dt.time(9, tzinfo=ZoneInfo("Europe/Berlin")), "timezone"),
        (dt.timedelta, 5, "not a timedelta"),
        (uuid.UUID, str(UUID), "not a UUID"),
        (Decimal, Decimal("NaN"), "finite"),
        (Decimal, Decimal("-Infinity"), "finite"),
        (Decimal, 1.5, "not a Decimal"),
        (pathlib.Path, "a", "not a Path"),
        (pathlib.Path, pathlib.Path("\udcff"), "surrogate"),
        (bytes, "a", "not bytes"),
        (bytes, bytearray(b"a"), "not bytes"),
    ],
)
def test_results_that_no_text_holds_are_refused_and_say_why(
    kind: Any, value: Any, reason: str
) -> None:
    with pytest.raises(InvalidOutputError, match=reason):
        giving(kind, value).invoke({})


@pytest.mark.parametrize(
    ("kind", "keyword", "words"),
    [
        (dt.datetime, {"format": "date-time"}, "RFC 3339 date and time with offset"),
        (dt.date, {"format": "date"}, "RFC 3339 date"),
        (dt.time, {"format": "time"}, "RFC 3339 time with offset"),
        (uuid.UUID, {"format": "uuid"}, "UUID"),
        (bytes, {"contentEncoding": "base64"}, "Base64"),
        (dt.timedelta, {}, "ISO 8601 duration"),
        (Decimal, {}, "Decimal number as a text"),
        (pathlib.Path, {}, "Path"),
    ],
)
def test_the_format_is_in_the_schema_and_in_its_words(
    kind: Any, keyword: dict[str, str], words: str
) -> None:
    schema = schema_of(kind)
    assert schema.items() >= keyword.items()
    assert schema["description"].startswith(words)


def test_a_path_class_of_another_system_is_refused() -> None:
    with pytest.raises(DefinitionError, match="WindowsPath does not work on this system"):
        schema_of(pathlib.WindowsPath)


@pytest.mark.parametrize(
    ("kind", "words"),
    [
        (dt.datetime, "RFC 3339 date and time with offset, such as 2026-01-31T09:30:00Z."),
        (dt.date, "RFC 3339 date, such as 2026-01-31."),
    ],
)
def test_times_are_described_by_an_example(kind: Any, words: str) -> None:
    assert schema_of(kind)["description"] == words


@pytest.mark.parametrize(
    ("kind", "words"),
    [
        (dt.datetime, "a datetime"),
        (dt.date, "a date"),
        (dt.time, "a time"),
        (dt.timedelta, "a timedelta"),
        (uuid.UUID, "a UUID"),
        (Decimal, "a Decimal"),
        (bytes, "bytes"),
        (float, "a float"),
        (int, "an int"),
        (str, "a str"),
        (bool, "a bool"),
    ],
)
def test_a_result_of_another_type_is_told_apart(kind: Any, words: str) -> None:
    with pytest.raises(InvalidOutputError, match=f"is not {words} but of type list"):
        giving(kind, []).invoke({})
