"""From a head's bytes to a verdict."""

from __future__ import annotations

import re
from typing import Final

from . import http
from .checks import Admitted, Table, check, check_again
from .limits import Limits

__all__ = ["Heads"]

_LENGTH: Final = re.compile(rb"\r\ncontent-length: ?([0-9]{1,9})\r\n", re.IGNORECASE)
_MOST_DIGITS: Final = 9


class Heads:
    """Judges the heads of one connection, one after the other.

    A client repeats its head, byte by byte, but for the length of the body. Then it is
    as well formed as the last one was, and says the same: what is left to check is that
    length, and what its token opens by now.
    """

    __slots__ = ("_admitted", "_after", "_before")

    def __init__(self) -> None:
        self._admitted: Admitted | None = None
        self._before = b""
        self._after = b""

    def judge(
        self, data: bytes, authority: str, table: Table, limits: Limits
    ) -> Admitted | http.Answer:
        """Return what a head is admitted as, or the answer that refuses it.

        Args:
            data: The head, which ends with an empty line.
            authority: The one Host that is right, such as ``127.0.0.1:40123``.
            table: The registrations by the digests of their tokens.
            limits: What to accept.
        """
        admitted, length = self._admitted, self._repeated(data)
        if admitted is not None and length is not None:
            return check_again(admitted, length, table, limits)
        verdict = _judge(data, authority, table, limits)
        if isinstance(verdict, Admitted):
            self._remember(data, verdict)
        return verdict

    def _repeated(self, data: bytes) -> int | None:
        """Return the length of a head that repeats the last one."""
        before, after = self._before, self._after
        digits = data[len(before) : len(data) - len(after)]
        same = data.startswith(before) and data.endswith(after)
        return int(digits) if same and digits.isdigit() and len(digits) <= _MOST_DIGITS else None

    def _remember(self, data: bytes, admitted: Admitted) -> None:
        # There is only one: a second length is refused.
        found = _LENGTH.search(data)
        self._admitted = admitted if found else None
        if found:
            self._before, self._after = data[: found.start(1)], data[found.end(1) :]


def _judge(data: bytes, authority: str, table: Table, limits: Limits) -> Admitted | http.Answer:
    try:
        head = http.parse_head(data, limits.header_fields)
    except http.BadRequest as error:
        return http.refusal(error.status)
    verdict = check(head, authority, table, limits)
    if isinstance(verdict, http.Answer) and head.method == "HEAD":
        # Nobody reads the body of an answer to it.
        return http.Answer(verdict.status, fields=verdict.fields)
    return verdict
