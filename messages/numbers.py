"""Numbers that an application passes: checked alike wherever it passes them."""

from __future__ import annotations

import sys
from typing import NoReturn

__all__ = ["checked_count", "checked_seconds", "checked_timeout", "checked_wait"]

_LARGEST = sys.float_info.max


def checked_wait(name: str, given: object) -> float:
    """Return how long to wait: 0 or more seconds, infinity for as long as it takes.

    Raises:
        TypeError: It is no number; a bool is none.
        ValueError: It is negative, or not a number (NaN).
    """
    number = _number(name, given, "a number of seconds")
    if not number >= 0:
        msg = f"{name} is {_shown(number)}; pass 0 seconds or more."
        raise ValueError(msg)
    return float("inf") if number > _LARGEST else float(number)


def checked_seconds(name: str, given: object, *, zero: bool = True) -> float:
    """Return a finite number of seconds.

    Args:
        name: The argument's name.
        given: What was passed.
        zero: Whether it may be 0.

    Raises:
        TypeError: It is no number; a bool is none.
        ValueError: It is negative, infinite, or not a number (NaN).
    """
    number = _number(name, given, "a number of seconds")
    if not 0 <= number <= _LARGEST or not (number or zero):
        wanted = "0 or more" if zero else "above 0"
        msg = f"{name} is {_shown(number)}; pass a finite number of seconds, {wanted}."
        raise ValueError(msg)
    return float(number)


def checked_timeout(name: str, given: object, *, most: float = _LARGEST) -> float:
    """Return a limit in seconds, above 0 and finite.

    Args:
        name: The argument's name.
        given: What was passed, not ``None``.
        most: The most that goes.

    Raises:
        TypeError: It is no number; a bool is none.
        ValueError: It is not above 0, too large, or not a number (NaN).
    """
    number = _number(name, given, "a number of seconds")
    if not 0 < number <= most:
        bound = "" if most == _LARGEST else f" and at most {most:g}"
        msg = f"{name} is {_shown(number)}; pass more than 0{bound} seconds, or None for no limit."
        raise ValueError(msg)
    return float(number)


def checked_count(
    name: str, given: object, of: str = "", *, least: int = 1, most: int | None = None
) -> int:
    """Return a whole number.

    Args:
        name: The argument's name.
        given: What was passed.
        of: What it counts, in the plural; may be empty.
        least: The smallest that goes.
        most: The largest that goes; ``None`` for no limit.

    Raises:
        TypeError: It is no whole number; a bool is none.
        ValueError: It is too small or too large.
    """
    if not isinstance(given, int) or isinstance(given, bool):
        _refuse(name, given, f"a whole number of {of}" if of else "a whole number")
    if given < least or (most is not None and given > most):
        wanted = f"at least {least}" if most is None else f"{least} to {most}"
        msg = f"{name} is {_shown(given)}; pass {wanted}."
        raise ValueError(msg)
    return int(given)


def _number(name: str, given: object, wanted: str) -> int | float:
    # A bool is an int, but none that anybody means.
    if not isinstance(given, int | float) or isinstance(given, bool):
        _refuse(name, given, wanted)
    return given


def _refuse(name: str, given: object, wanted: str) -> NoReturn:
    msg = f"{name} is a {type(given).__name__}; pass {wanted}."
    raise TypeError(msg)


def _shown(number: float) -> str:
    # Python refuses to write an int of many hundred digits, where so configured.
    large = isinstance(number, int) and number.bit_length() > 2048
    return "a number of many digits" if large else f"{number!s:.80}"
