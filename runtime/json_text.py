"""JSON between bytes and values, strictly, and so that other threads get their turn.

A function of the standard library that works on megabytes keeps the interpreter
lock until it is done. So large texts go in pieces, and what reads large bodies
calls a function of ours for most values, where the lock can change hands.
"""

from __future__ import annotations

import json
import math
from collections.abc import Iterator
from typing import Any, Final

__all__ = ["encoded", "quoted", "read", "write"]

write: Final = json.JSONEncoder(ensure_ascii=False, allow_nan=False, separators=(",", ":")).encode
"""Return a value's JSON, in one piece."""

_PIECE: Final = 64 * 1024
_DEPTH: Final = 200
_BLANKS: Final = " \t\r\n"
_CONTAINERS: Final = frozenset({dict, list})


def read(body: bytes) -> Any:
    """Return the value of a JSON text.

    Args:
        body: UTF-8 without a byte order mark.

    Raises:
        ValueError: It is no JSON, has a key twice in one object, a number that
            no float holds, half of a surrogate pair, or more than 200 levels that are
            not empty.
    """
    text = body.decode()
    try:
        value = _value(text)
    except RecursionError:
        raise _too_deep() from None
    if text.count("[") + text.count("{") > _DEPTH:
        _check_depth(value)
    if "\\ud" in text or "\\uD" in text:
        _check_surrogates(value)
    return value


def _value(text: str) -> Any:
    if len(text) > _PIECE:
        return _PATIENT_DECODER.decode(text)
    if text[:1] in _BLANKS:
        return _DECODER.decode(text)
    # The same, but for the search for blanks, which takes as long as a small text.
    value, end = _DECODER.raw_decode(text)
    return value if end == len(text) else _DECODER.decode(text)


def quoted(text: str) -> str:
    """Return a text as a JSON string."""
    if len(text) <= _PIECE:
        return write(text)
    return f'"{"".join(write(piece)[1:-1] for piece in _pieces(text))}"'


def encoded(text: str) -> bytes:
    """Return a text in UTF-8."""
    if len(text) <= _PIECE:
        return text.encode()
    return b"".join(piece.encode() for piece in _pieces(text))


def _pieces(text: str) -> Iterator[str]:
    return (text[start : start + _PIECE] for start in range(0, len(text), _PIECE))


def _check_depth(value: Any) -> None:
    level = [value]
    for _ in range(_DEPTH):
        level = [
            child
            for each in level
            for child in (each.values() if type(each) is dict else each)
            if child and type(child) in _CONTAINERS
        ]
        if not level:
            return
    raise _too_deep()


def _check_surrogates(value: Any) -> None:
    pending = [value]
    while pending:
        each = pending.pop()
        if isinstance(each, str):
            each.encode()
        elif isinstance(each, dict):
            pending += each
            pending += each.values()
        elif isinstance(each, list):
            pending += each


def _unique(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    value = dict(pairs)
    if len(value) != len(pairs):
        msg = "a key is there twice"
        raise ValueError(msg)
    return value


def _finite(text: str) -> float:
    number = float(text)
    if not math.isfinite(number):
        msg = "a number is out of range"
        raise ValueError(msg)
    return number


def _no_json(name: str) -> Any:
    msg = f"{name} is not JSON"
    raise ValueError(msg)


def _whole(text: str) -> int:
    return int(text)


def _too_deep() -> ValueError:
    return ValueError("it has too many levels")


_DECODER: Final = json.JSONDecoder(
    object_pairs_hook=_unique, parse_float=_finite, parse_constant=_no_json
)
_PATIENT_DECODER: Final = json.JSONDecoder(
    object_pairs_hook=_unique, parse_float=_finite, parse_constant=_no_json, parse_int=_whole
)
