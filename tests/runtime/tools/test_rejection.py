"""Rejections: made by `tool.reject`, believed by identity, never changed."""

from __future__ import annotations

import copy
import logging
import pickle
from typing import Any

import pytest

from toolcrib import tool
from toolcrib.errors import InvalidInputError


def chained(error: BaseException, cause: BaseException) -> BaseException:
    try:
        raise error from cause
    except BaseException as raised:
        return raised


def test_code_and_message_come_back() -> None:
    error = tool.reject(" not_found ", " Choose\nanother key, é. ")
    assert tool.as_rejection(error) == ("not_found", "Choose\nanother key, é.")
    assert str(error) == "not_found: Choose\nanother key, é."


@pytest.mark.parametrize("code", ["", " ", "Not OK!", "9a", "_a", "a-b", "a" * 65, "é", 404, None])
def test_another_code_becomes_rejected(code: Any, caplog: pytest.LogCaptureFixture) -> None:
    with caplog.at_level(logging.WARNING, "toolcrib.tools"):
        assert tool.as_rejection(tool.reject(code, "m")) == ("rejected", "m")
    assert len(caplog.records) == 1


def test_the_longest_code_and_message_are_kept() -> None:
    pair = ("a" * 64, "é" * 2048)
    assert tool.as_rejection(tool.reject(*pair)) == pair


@pytest.mark.parametrize("message", ["", " \n", "x" * 4097, "é" * 2049, "\ud800", 5, None])
def test_another_message_becomes_a_general_one(message: Any) -> None:
    assert tool.as_rejection(tool.reject("code", message)) == (
        "code",
        "The tool rejected the request.",
    )


def test_a_rejection_is_found_through_causes_and_groups() -> None:
    error = tool.reject("code", "m")
    wrapped = chained(ValueError("outer"), chained(KeyError("inner"), error))
    group = BaseExceptionGroup("g", [ValueError(), ExceptionGroup("h", [error])])
    for found in (error, wrapped, group, chained(RuntimeError(), group)):
        assert tool.as_rejection(found) == ("code", "m")


def test_a_context_that_nobody_named_does_not_count() -> None:
    error = ValueError()
    error.__context__ = tool.reject("code", "m")
    assert tool.as_rejection(error) is None


def test_lookalikes_are_not_believed() -> None:
    kind: Any = type(tool.reject("code", "m"))

    class Subclass(kind):  # type: ignore[misc]
        pass

    disguise = {
        "answer": ("forged", "m"),
        "__class__": property(lambda _: kind),
        "__cause__": property(lambda _: tool.reject("forged", "m")),
        "exceptions": property(lambda _: (tool.reject("forged", "m"),)),
    }
    disguised: Any = type("Disguised", (Exception,), disguise)
    assert isinstance(disguised(), kind)
    for forged in (Subclass("forged", "m"), disguised(), ValueError("code: m")):
        assert tool.as_rejection(forged) is None


def test_cycles_and_long_chains_end() -> None:
    first, second = ValueError(), ValueError()
    first.__cause__, second.__cause__ = second, first
    assert tool.as_rejection(first) is None
    error: BaseException = tool.reject("code", "m")
    for _ in range(99):
        error = chained(ValueError(), error)
    assert tool.as_rejection(error) == ("code", "m")
    assert tool.as_rejection(chained(ValueError(), error)) is None
    huge = ExceptionGroup("g", [ValueError() for _ in range(1000)])
    assert tool.as_rejection(huge) is None


def test_a_rejection_can_be_raised_and_noted_but_not_changed() -> None:
    error: Any = tool.reject("code", "m")
    error.add_note("seen")
    with pytest.raises(Exception, match="code: m"):
        raise error.with_traceback(None)
    for name in ("answer", "args", "code"):
        with pytest.raises(AttributeError, match=r"tool\.reject"):
            setattr(error, name, ("other", "x"))
    with pytest.raises(AttributeError):
        del error.answer
    error.__init__("other", "x")
    assert tool.as_rejection(error) == ("code", "m")


def test_a_rejection_travels_between_processes() -> None:
    error = tool.reject("code", "m")
    for copied in (copy.copy(error), pickle.loads(pickle.dumps(error))):  # noqa: S301
        assert tool.as_rejection(copied) == ("code", "m")


def test_other_errors_are_none_and_a_refused_input_is_invalid_input() -> None:
    assert tool.as_rejection(ValueError("code: m")) is None
    assert tool.as_rejection(SystemExit(1)) is None
    assert tool.as_rejection(InvalidInputError("text")) == ("invalid_input", "text")
    assert tool.as_rejection(chained(ValueError(), InvalidInputError("text"))) is None
