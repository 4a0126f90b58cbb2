"""An error for each who is told it, since raising one changes it."""

from __future__ import annotations

from contextlib import suppress
from typing import Any, TypeVar

__all__ = ["twin"]

E = TypeVar("E", bound=BaseException)


def twin(error: E) -> E:
    """Return a second error that says the same: type, message, attributes, cause, traceback.

    Where one error is raised in several threads, each adds its frames, context
    and notes to those of the others. Nothing that makes such errors runs, as
    it may want other arguments than the error has. What is built in and none of
    ours, such as a `UnicodeError`, is returned itself.
    """
    second = _bare(error)
    second.args = error.args
    for name, value in _attributes(error).items():
        setattr(second, name, list(value) if name == "__notes__" else value)
    # In this order: setting a cause suppresses the context.
    second.__cause__, second.__context__ = error.__cause__, error.__context__
    second.__suppress_context__ = error.__suppress_context__
    return second.with_traceback(error.__traceback__)


def _bare(error: E) -> E:
    for builtin in (BaseException, OSError):  # those that ours are made of
        with suppress(TypeError):
            return builtin.__new__(type(error), *error.args)
    return error


def _attributes(error: BaseException) -> dict[str, Any]:
    slots = [name for kind in type(error).__mro__ for name in kind.__dict__.get("__slots__", ())]
    return {name: getattr(error, name) for name in slots if hasattr(error, name)} | vars(error)
