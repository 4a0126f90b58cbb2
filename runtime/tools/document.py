"""A JSON document that a host gives: copied at once, and exactly as it is."""

from __future__ import annotations

import decimal
import json
import math
from collections.abc import Mapping
from typing import Any

from ...errors import DefinitionError
from .extent import DEPTH_LIMIT

__all__ = ["read_document"]

_SIZE_LIMIT = 256 * 1024


def read_document(given: object, tool: str | None, option: str) -> Any:
    """Return a JSON document as plain values that nobody else holds.

    Args:
        given: JSON text, or a mapping of JSON values.
        tool: The tool's name, for messages.
        option: Which option it was given as, for messages.

    Raises:
        DefinitionError: It is not JSON, is larger than 256 KiB, or holds a
            number that would not stay exact.
    """
    try:
        return _Copier().copy(_parsed(given) if isinstance(given, str) else given)
    except _UnfitError as unfit:
        raise DefinitionError(str(unfit), tool=tool, parameter=option) from unfit


class _UnfitError(Exception):
    """What is given is no document that could be kept as it is."""


def _parsed(text: str) -> Any:
    if len(text) > _SIZE_LIMIT:
        raise _too_large()
    try:
        document = json.loads(
            text,
            object_pairs_hook=_unique,
            parse_constant=_refuse_constant,
            parse_float=_exact_float,
        )
    except (ValueError, ArithmeticError, RecursionError) as error:
        msg = f"is not JSON ({error}); give one JSON object"
        raise _UnfitError(msg) from error
    return document


def _unique(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found = dict(pairs)
    if len(found) < len(pairs):
        names = [name for name, _ in pairs]
        twice = next(name for name in names if names.count(name) > 1)
        msg = f"has the key {twice!r:.80} twice in one object; keep one"
        raise _UnfitError(msg)
    return found


def _refuse_constant(name: str) -> Any:
    msg = f"holds {name}, which is not JSON; use a finite number"
    raise _UnfitError(msg)


def _exact_float(literal: str) -> float:
    number = float(literal)
    # What the text says is what the host meant, and what goes out is the float.
    if not math.isfinite(number) or decimal.Decimal(literal) != decimal.Decimal(repr(number)):
        msg = f"holds the number {literal:.40}, which a float can't hold; use fewer digits"
        raise _UnfitError(msg)
    return number


class _Copier:
    """Copies values, within limits: what contains itself or shares much ends soon."""

    def __init__(self) -> None:
        self._left = _SIZE_LIMIT

    def copy(self, value: Any, depth: int = 0) -> Any:
        self._count(1)
        if depth > DEPTH_LIMIT:
            msg = f"nests deeper than {DEPTH_LIMIT} levels; make it flatter"
            raise _UnfitError(msg)
        if isinstance(value, Mapping):
            return {self._text(key): self.copy(part, depth + 1) for key, part in value.items()}
        if isinstance(value, list | tuple):
            return [self.copy(part, depth + 1) for part in value]
        return self._text(value) if isinstance(value, str) else _scalar(value)

    def _text(self, value: object) -> str:
        text = _text(value)
        self._count(len(text))
        return text

    def _count(self, size: int) -> None:
        self._left -= size
        if self._left < 0:
            raise _too_large()


def _scalar(value: Any) -> Any:
    if value is None or isinstance(value, bool):
        return value
    if isinstance(value, int):
        return int(value)
    if isinstance(value, float) and math.isfinite(value):
        return float(value)
    msg = f"holds {value!r:.40} of type {type(value).__name__}, which is not JSON"
    raise _UnfitError(msg)


def _text(value: object) -> str:
    if not isinstance(value, str):
        msg = f"has a key of type {type(value).__name__}; JSON has keys of text only"
        raise _UnfitError(msg)
    try:
        value.encode()
    except UnicodeEncodeError as error:
        msg = "holds half of a surrogate pair, which is no text"
        raise _UnfitError(msg) from error
    return str.__str__(value)


def _too_large() -> _UnfitError:
    return _UnfitError(f"is larger than {_SIZE_LIMIT} bytes; say less")
