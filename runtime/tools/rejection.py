"""What a handler raises to tell the model that it won't do what was asked."""

from __future__ import annotations

import logging
import re
from collections import deque
from typing import Any, NoReturn, Self

from ...errors import InvalidInputError

__all__ = ["as_rejection", "find_rejection", "reject"]

_log = logging.getLogger("toolcrib.tools")
_CODE = re.compile(r"[a-z][a-z0-9_]{0,63}")
_MESSAGE_LIMIT = 4096
_NODE_LIMIT = 100
_FALLBACK_CODE = "rejected"
_FALLBACK_MESSAGE = "The tool rejected the request."
# What raising, chaining and re-raising write to an exception.
_WRITABLE = frozenset(
    {"__cause__", "__context__", "__notes__", "__suppress_context__", "__traceback__"}
)


class _Rejection(Exception):
    """Trusted by its exact type; code and message stay as they were made."""

    __slots__ = ("answer",)
    answer: tuple[str, str]

    def __new__(cls, code: str, message: str) -> Self:
        self = super().__new__(cls, code, message)
        object.__setattr__(self, "answer", (code, message))
        return self

    def __setattr__(self, name: str, value: object) -> None:
        if name not in _WRITABLE:
            self._refuse(name)
        super().__setattr__(name, value)

    def __delattr__(self, name: str) -> None:
        if name not in _WRITABLE:
            self._refuse(name)
        super().__delattr__(name)

    def _refuse(self, name: str) -> NoReturn:
        msg = f"A rejection can't be changed ({name}); make another one with tool.reject."
        raise AttributeError(msg)

    def __str__(self) -> str:
        return ": ".join(self.answer)


def reject(code: str, message: str) -> Exception:
    """Make the exception that tells the model why a call is turned down.

    Raise it from a handler: ``raise tool.reject("not_found", "Choose ...")``.
    Code and message reach the model word for word, whatever wraps the
    exception by ``raise ... from`` or in an exception group.

    Args:
        code: A word to branch on, ``[a-z][a-z0-9_]{0,63}``; anything else
            becomes ``rejected``.
        message: What to do instead, at most 4,096 bytes of UTF-8; blank, longer
            or unencodable text becomes a general sentence.

    Returns:
        The exception; it can't be changed any more.
    """
    return _Rejection(_checked_code(code), _checked_message(message))


def as_rejection(error: BaseException) -> tuple[str, str] | None:
    """Return the code and message that the model would read for this error.

    Args:
        error: What `Tool.invoke` or a handler raised.

    Returns:
        Code and message of the rejection that this error is, explicitly comes
        from, or holds as an exception group; ``invalid_input`` and the text for
        an `InvalidInputError`; ``None`` for every other error.
    """
    if type(error) is InvalidInputError:
        return "invalid_input", str(error)
    return find_rejection(error)


def find_rejection(error: BaseException) -> tuple[str, str] | None:
    """Return code and message of a rejection made by `reject`, else ``None``.

    Looks at no more than 100 exceptions, so that cycles and huge groups end.
    """
    waiting: deque[BaseException] = deque([error])
    for _ in range(_NODE_LIMIT):
        if not waiting:
            return None
        node = waiting.popleft()
        if type(node) is _Rejection:
            return node.answer
        waiting.extend(_sources(node))
    return None


def _sources(error: BaseException) -> list[BaseException]:
    # The base classes' own descriptors: a subclass can't answer in their place.
    found: list[BaseException] = []
    cause: Any = BaseException.__dict__["__cause__"].__get__(error)
    if cause is not None:
        found.append(cause)
    if issubclass(type(error), BaseExceptionGroup):
        found += BaseExceptionGroup.__dict__["exceptions"].__get__(error)[:_NODE_LIMIT]
    return found


def _checked_code(code: object) -> str:
    if isinstance(code, str) and _CODE.fullmatch(code.strip()):
        return code.strip()
    _log.warning("tool.reject: the code does not match %s; it became rejected", _CODE.pattern)
    return _FALLBACK_CODE


def _checked_message(message: object) -> str:
    text = message.strip() if isinstance(message, str) else ""
    size = len(text.encode("utf-8", "replace"))
    encodable = size == len(text.encode("utf-8", "surrogatepass"))
    if 0 < size <= _MESSAGE_LIMIT and encodable:
        return text
    _log.warning("tool.reject: the message is blank, too long or no text; it was replaced")
    return _FALLBACK_MESSAGE
