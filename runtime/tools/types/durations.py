"""Durations as ISO 8601 texts, exact to the microsecond."""

from __future__ import annotations

import datetime as dt
import re
from typing import Any

from ..shape import Misfit, wrong_type
from .scalars import load_text

__all__ = ["DURATION", "dump_duration", "load_duration"]

DURATION = "^-?P([0-9]+W)?([0-9]+D)?(T([0-9]+H)?([0-9]+M)?([0-9]+([.][0-9]{1,6})?S)?)?$"
"""What durations look like. It lets pass a few that mean nothing, such as PT."""

_PARTS = re.compile(DURATION.strip("^$"))
_SECOND = 1_000_000
_UNITS = {1: 604_800 * _SECOND, 2: 86_400 * _SECOND, 4: 3_600 * _SECOND, 5: 60 * _SECOND}


def load_duration(value: Any) -> dt.timedelta:
    """Make a `timedelta` of a text; raise `Misfit` for what is no duration."""
    text = load_text(value)
    found = _PARTS.fullmatch(text)
    if not found or text[-1] in "PT":
        msg = "is not an ISO 8601 duration in days or less"
        raise Misfit(msg)
    try:
        total = sum(int((found[group] or "0")[:-1] or 0) * unit for group, unit in _UNITS.items())
        whole, _, fraction = (found[6] or "0S")[:-1].partition(".")
        total += int(whole) * _SECOND + int(fraction.ljust(6, "0"))
        return dt.timedelta(microseconds=-total if text[0] == "-" else total)
    except (OverflowError, ValueError):  # int() takes no more than some thousand digits
        msg = "is too long for a duration"
        raise Misfit(msg) from None


def dump_duration(value: Any) -> str:
    """Make a text of a `timedelta`; raise `Misfit` for all else."""
    if not isinstance(value, dt.timedelta):
        wrong_type("a timedelta", value)
    sign, value = ("-", -value) if value < dt.timedelta() else ("", value)
    hours, seconds = divmod(value.seconds, 3_600)
    minutes, seconds = divmod(seconds, 60)
    fraction = f".{value.microseconds:06}".rstrip("0") if value.microseconds else ""
    days = f"{value.days}D" if value.days else ""
    clock = f"{hours}H" * bool(hours) + f"{minutes}M" * bool(minutes)
    clock += f"{seconds}{fraction}S" * bool(seconds or fraction)
    return f"{sign}P{days}{'T' + clock if clock else ''}" if days or clock else "PT0S"
