"""From bytes of a pipe to masked lines of text."""

from __future__ import annotations

import json
from collections import deque
from collections.abc import Iterable

from ...messages.secret import Secret
from ..drivers.interface import MaskedLine

__all__ = ["LastLines", "LineBuffer", "LineTooLongError", "Masks", "Tail"]

_MASK = "***"
# A line of a private key is worth hiding, its closing brace is not.
_SHORTEST_PART = 8


class LineTooLongError(Exception):
    """Raised when a line is longer than its buffer allows."""


class Masks:
    """Replaces secrets by ``***``, as they are and as JSON would escape them.

    Args:
        secrets: What to hide; empty ones are ignored.
    """

    def __init__(self, secrets: Iterable[Secret]) -> None:
        forms = {form for secret in secrets for form in _forms(secret.reveal())}
        # The longest first, else a secret that begins with another one would
        # keep its end.
        self._forms = sorted(forms, key=len, reverse=True)
        self._in_lines = [form for form in self._forms if "\n" not in form]
        self.longest = max(map(len, forms), default=0)

    def apply(self, text: str) -> str:
        """Return the text without the secrets."""
        for form in self._forms:
            text = text.replace(form, _MASK)
        return text

    def apply_to_lines(self, lines: list[str], whole: str) -> list[str]:
        """Return lines without the secrets, as a `MaskedLine` where there was one.

        Args:
            lines: The lines.
            whole: The text that they were cut from.
        """
        # Nearly always nothing is to be hidden, which one look at all tells.
        if not any(form in whole for form in self._in_lines):
            return lines
        masked = map(self.apply, lines)
        return [o if o == m else MaskedLine(m) for o, m in zip(lines, masked, strict=True)]

    def begun(self, text: str) -> int:
        """Return how many characters at the text's end may begin a secret."""
        most = 0
        for form in self._forms:
            begun = _begun(text, form)
            if begun > most:  # noqa: PLR1730 - a call of max takes longer than all else
                most = begun
        return most


def _begun(text: str, form: str) -> int:
    if len(form) == 1:
        return 0
    at = text.find(form[0], 1 - len(form))
    while at >= 0 and not form.startswith(text[at:]):
        at = text.find(form[0], at + 1)
    return len(text) - at if at >= 0 else 0


def _forms(value: str) -> set[str]:
    forms = {value, json.dumps(value)[1:-1], json.dumps(value, ensure_ascii=False)[1:-1]}
    forms |= {form.replace("/", "\\/") for form in forms}
    parts = value.splitlines()
    if len(parts) > 1:
        forms.update(part for part in parts if len(part) >= _SHORTEST_PART)
    forms.discard("")
    return forms


class LineBuffer:
    """Cuts a stream of bytes into lines, whatever its chunks.

    Args:
        limit: The longest line, in bytes.
        masks: What to hide in every line.
        cut: Whether a longer line is cut, rather than refused.
    """

    def __init__(self, limit: int, masks: Masks, *, cut: bool = False) -> None:
        self._limit = limit
        self._masks = masks
        self._cut = cut
        self._data = bytearray()
        self._lines: deque[str] = deque()
        self._searched = 0
        self._skipping = False

    def feed(self, chunk: bytes) -> None:
        """Add what was read."""
        self._data += chunk

    def next(self) -> str | None:
        """Return the next whole line without its end, ``None`` where there is none.

        Raises:
            LineTooLongError: The line is over the limit, and is not to be cut.
        """
        if not self._lines:
            self._split()
        return self._lines.popleft() if self._lines else None

    def rest(self) -> str | None:
        """Return the last line, where the stream ended without a line end.

        Raises:
            LineTooLongError: The line is over the limit, and is not to be cut.
        """
        if self._skipping or not self._data:
            return None
        self._take(len(self._data), len(self._data))
        return self._lines.popleft()

    def clear(self) -> None:
        """Forget what was fed."""
        self._lines.clear()
        self._drop(len(self._data))

    def _split(self) -> None:
        """Take whole lines: all at once, where none can be too long, or else the next."""
        if self._skipping:
            end = self._data.find(b"\n")
            self._skipping = end < 0
            self._drop(len(self._data) if self._skipping else end + 1)
        end = self._data.rfind(b"\n", self._searched)
        if end > self._limit:
            end = self._data.find(b"\n", self._searched)
        if end >= 0:
            self._take(end, end + 1)
            return
        self._searched = len(self._data)
        if len(self._data) > self._limit:
            self._skipping = True
            self._take(len(self._data), len(self._data))

    def _take(self, end: int, after: int) -> None:
        if end > self._limit:
            self._lines.append(self._shorten(after))
            return
        text = self._data[:end].decode("utf-8", "replace")
        self._drop(after)
        lines = text.split("\n")
        if "\r" in text:
            lines = [line.removesuffix("\r") for line in lines]
        self._lines.extend(self._masks.apply_to_lines(lines, text))

    def _shorten(self, after: int) -> str:
        if not self._cut:
            self.clear()
            msg = f"a line is longer than {self._limit} bytes"
            raise LineTooLongError(msg)
        text = self._masks.apply(self._data[: self._limit].decode("utf-8", "replace"))
        self._drop(after)
        # The cut may run through a secret, which no mask would find then.
        return text[: len(text) - self._masks.longest] + "…"

    def _drop(self, count: int) -> None:
        del self._data[:count]
        self._searched = 0


class LastLines:
    """Keeps the last whole lines of a text.

    Args:
        limit: The characters to keep at most, line ends included.
    """

    def __init__(self, limit: int) -> None:
        self._limit = limit
        self._lines: deque[str] = deque()
        self._size = 0

    def add(self, line: str) -> None:
        """Add a line; one that is longer than the limit leaves nothing."""
        self._lines.append(line)
        self._size += len(line) + 1
        while self._size > self._limit:
            self._size -= len(self._lines.popleft()) + 1

    def text(self) -> str:
        """Return them, each with its end."""
        return "".join(f"{line}\n" for line in self._lines)


class Tail:
    """Keeps the end of a text that comes in lines.

    Args:
        limit: The characters to keep.
    """

    def __init__(self, limit: int) -> None:
        self._limit = limit
        self._lines: deque[str] = deque()
        self._size = 0

    def add(self, line: str) -> None:
        """Add a line."""
        self._lines.append(f"{line}\n"[-self._limit :])
        self._size += len(self._lines[-1])
        while self._size - len(self._lines[0]) >= self._limit:
            self._size -= len(self._lines.popleft())

    def text(self) -> str:
        """Return the end."""
        return "".join(self._lines)[-self._limit :]
