"""Values that JSON writes as a text: times, identifiers, exact numbers, paths, bytes.

Every format is in the description too, since some providers drop the keyword.
"""

from __future__ import annotations

import base64
import binascii
import datetime as dt
import decimal
import pathlib
import re
import uuid
from collections.abc import Callable
from typing import Any

from ..shape import Builder, Misfit, Shape, noted, wrong_type
from .durations import DURATION, dump_duration, load_duration
from .scalars import SCALARS, load_text

__all__ = ["DECIMAL_PATTERN", "text_value"]

_CLOCK = r"(?:[01]\d|2[0-3]):\d\d:\d\d(\.\d+)?(?:[Zz]|[+-]\d\d:\d\d)"
_DATE = re.compile(r"\d{4}-\d\d-\d\d", re.ASCII)
_TIME = re.compile(_CLOCK, re.ASCII)
_DATE_TIME = re.compile(rf"\d{{4}}-\d\d-\d\d[Tt]{_CLOCK}", re.ASCII)
_CLOCKS = (_TIME, _DATE_TIME)
_UUID = re.compile(r"[0-9a-fA-F]{8}(-[0-9a-fA-F]{4}){3}-[0-9a-fA-F]{12}")
DECIMAL_PATTERN = r"^-?[0-9]+(\.[0-9]+)?([eE][+-]?[0-9]+)?$"
"""The JSON Schema pattern of a decimal's text."""


def _loader(
    pattern: re.Pattern[str], wanted: str, make: Callable[[str], Any]
) -> Callable[[Any], Any]:
    def load(value: Any) -> Any:
        text = load_text(value)
        found = pattern.fullmatch(text)
        if not found:
            msg = f"is not {wanted}"
            raise Misfit(msg)
        if pattern in _CLOCKS and len(found[1] or "") > len(".123456"):
            msg = "is finer than a microsecond; use at most 6 digits of a second"
            raise Misfit(msg)
        try:
            return make(text.upper() if pattern in _CLOCKS else text)
        except (ValueError, OverflowError):
            msg = f"is not {wanted} that exists"
            raise Misfit(msg) from None

    return load


def _dump_datetime(value: Any) -> str:
    if not isinstance(value, dt.datetime):
        wrong_type("a datetime", value)
    return _with_offset(value)


def _dump_time(value: Any) -> str:
    if not isinstance(value, dt.time):
        wrong_type("a time", value)
    return _with_offset(value)


def _with_offset(value: dt.datetime | dt.time) -> str:
    offset = value.utcoffset()
    if offset is None:
        msg = "has no offset from UTC; give it a timezone"
        raise Misfit(msg)
    if offset % dt.timedelta(minutes=1):
        msg = "has an offset from UTC that is no whole number of minutes"
        raise Misfit(msg)
    return value.isoformat()


def _dump_date(value: Any) -> str:
    if not isinstance(value, dt.date) or isinstance(value, dt.datetime):
        wrong_type("a date", value)
    return value.isoformat()


def _dump_uuid(value: Any) -> str:
    if not isinstance(value, uuid.UUID):
        wrong_type("a UUID", value)
    return str(value)


def _dump_decimal(value: Any) -> str:
    if not isinstance(value, decimal.Decimal):
        wrong_type("a Decimal", value)
    if not value.is_finite():
        msg = "is not a finite number, which JSON can't hold"
        raise Misfit(msg)
    return str(value)


_load_decimal_text = _loader(
    re.compile(DECIMAL_PATTERN.strip("^$")), "a decimal number", decimal.Decimal
)


def _load_decimal(value: Any) -> decimal.Decimal:
    # Whole numbers are exact in JSON; of 0.1 nobody knows what was written.
    if isinstance(value, int | float) and not isinstance(value, bool):
        return decimal.Decimal(SCALARS[int].load(value))
    number: decimal.Decimal = _load_decimal_text(value)
    return number


def _load_bytes(value: Any) -> bytes:
    text = load_text(value)
    try:
        data = base64.b64decode(text, validate=True)
    except (binascii.Error, ValueError):
        data = None
    if data is None or base64.b64encode(data).decode() != text:
        msg = "is not base64 (RFC 4648, with padding)"
        raise Misfit(msg)
    return data


def _dump_bytes(value: Any) -> str:
    if not isinstance(value, bytes):
        wrong_type("bytes", value)
    return base64.b64encode(value).decode()


def _text(
    kind: type, note: str, load: Callable[[Any], Any], dump: Callable[[Any], Any], **keywords: Any
) -> Shape:
    return noted(Shape({"type": "string", **keywords}, load, dump, kinds=(kind,)), note)


_TEXTS: dict[Any, Shape] = {
    dt.datetime: _text(
        dt.datetime,
        "RFC 3339 date and time with offset, such as 2026-01-31T09:30:00Z.",
        _loader(_DATE_TIME, "an RFC 3339 date and time with offset", dt.datetime.fromisoformat),
        _dump_datetime,
        format="date-time",
    ),
    dt.date: _text(
        dt.date,
        "RFC 3339 date, such as 2026-01-31.",
        _loader(_DATE, "an RFC 3339 date", dt.date.fromisoformat),
        _dump_date,
        format="date",
    ),
    dt.time: _text(
        dt.time,
        "RFC 3339 time with offset, such as 09:30:00Z.",
        _loader(_TIME, "an RFC 3339 time with offset", dt.time.fromisoformat),
        _dump_time,
        format="time",
    ),
    # No `format`: that of JSON Schema knows neither fractions nor negative durations.
    dt.timedelta: _text(
        dt.timedelta,
        "ISO 8601 duration in days or less, such as P1DT2H30M or PT0.5S.",
        load_duration,
        dump_duration,
        pattern=DURATION,
    ),
    uuid.UUID: _text(
        uuid.UUID, "UUID.", _loader(_UUID, "a UUID", uuid.UUID), _dump_uuid, format="uuid"
    ),
    bytes: _text(bytes, "Base64.", _load_bytes, _dump_bytes, contentEncoding="base64"),
}


def text_value(annotation: Any, builder: Builder, where: str) -> Shape | None:
    """Convert what JSON writes as a text; see `shape.Converter`."""
    if not isinstance(annotation, type):
        return None
    if annotation is decimal.Decimal:
        return _decimal(builder)
    if issubclass(annotation, pathlib.PurePath):
        return _path(annotation, builder, where)
    return _TEXTS.get(annotation)


def _decimal(builder: Builder) -> Shape:
    text: dict[str, Any] = {"type": "string", "pattern": DECIMAL_PATTERN}
    schema = text if builder.direction == "output" else {"anyOf": [text, {"type": "integer"}]}
    shape = Shape(schema, _load_decimal, _dump_decimal, kinds=(decimal.Decimal,))
    return noted(shape, 'Decimal number as a text, such as "12.50".')


def _path(kind: type[pathlib.PurePath], builder: Builder, where: str) -> Shape:
    try:
        concrete = type(kind())  # `Path` makes objects of a subclass
    except NotImplementedError:
        msg = f"{kind.__name__} does not work on this system; write Path or the pure class"
        raise builder.refused(where, msg) from None

    def load(value: Any) -> pathlib.PurePath:
        return kind(load_text(value))

    def dump(value: Any) -> str:
        if not isinstance(value, kind):
            wrong_type(f"a {kind.__name__}", value)
        return load_text(str(value))

    return _text(concrete, "Path of a file or directory.", load, dump)
